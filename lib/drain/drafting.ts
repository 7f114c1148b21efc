/** How the steps of the decision write down what they decide. */
import type { Action, Decision, Next, Outcome, Phase } from "./decision.ts";
import { hasReported } from "./memory.ts";
import type { EventReason } from "./names.ts";
import { pace } from "./pace.ts";
import { type Situation, blockersOf } from "./situation.ts";
import { MINUTE } from "./time.ts";

interface Draft {
  readonly phase: Phase;
  readonly rules: readonly string[];
  readonly reason: string;
  readonly actions?: readonly Action[];
  /** Names the rule whose condition one more look must find true. */
  readonly agrees?: string;
}

/** Look again, at the phase's pace. Work in which nothing has moved for long says so in each look (C37). */
export function lookAgain(situation: Situation, draft: Draft): Decision {
  const { now, memory } = situation;
  const actions: readonly Action[] =
    now - memory.progress.at < STANDSTILL
      ? (draft.actions ?? [])
      : [...(draft.actions ?? []), { kind: "metric", name: "NoProgress", value: 1 }];
  return decide(situation, { ...draft, actions }, { kind: "again", inSeconds: pace(situation, draft.phase) });
}

/** Longer than most pods' grace and any detach: what stands still for this long needs somebody to look. */
const STANDSTILL = 10 * MINUTE;

/** The work ends, provided that every action of this decision that it depends on succeeds. */
export function end(situation: Situation, draft: Omit<Draft, "phase">, outcome: Outcome): Decision {
  return decide(situation, { ...draft, phase: "ending" }, { kind: "done", outcome, reason: draft.reason });
}

function decide(situation: Situation, draft: Draft, next: Next): Decision {
  return {
    phase: draft.phase,
    rules: draft.rules,
    reason: draft.reason,
    actions: draft.actions ?? [],
    next,
    verdicts: situation.verdicts,
    waitingFor: blockersOf(situation),
    deadline: situation.deadline,
    ...(draft.agrees === undefined ? {} : { agrees: draft.agrees }),
  };
}

/** Puts actions before those of the decision. */
export function preceded(actions: readonly Action[], decision: Decision): Decision {
  return actions.length === 0 ? decision : { ...decision, actions: [...actions, ...decision.actions] };
}

/** An Event on the Node, once per reason and detail; nothing where it was written already or there is no Node to write it on. */
export function eventOnce(
  situation: Situation,
  reason: EventReason,
  message: string,
  options: { readonly detail?: string; readonly type?: "Normal" | "Warning" } = {},
): readonly Action[] {
  const detail = options.detail ?? "";
  if (hasReported(situation.memory, reason, detail)) return [];
  return [{ kind: "event", reason, detail, type: options.type ?? "Normal", message }];
}

/** At most a few names, so that a message stays readable. */
export function listed(names: readonly string[], most = 5): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown || "nothing";
}
