/** D2, D3, D15: our lifecycle action is over, by whom, and what is undone when the machine goes on. */
import type { Decision } from "./decision.ts";
import { end, eventOnce, lookAgain } from "./drafting.ts";
import { valueOf } from "./observation.ts";
import { type Situation, isUp } from "./situation.ts";
import { MINUTE, SECOND } from "./time.ts";
import { hasLeftovers, isCordonOurs, withdraw } from "./withdrawing.ts";

/** Auto Scaling's states of an instance that goes on working. */
const IN_SERVICE = ["InService", "Standby"];

export function overOrCalledOff(situation: Situation): Decision | undefined {
  const { memory, observation } = situation;
  switch (memory.action) {
    case "open":
      return undefined;
    case "completed":
      return end(situation, { rules: ["D3"], reason: "the lifecycle action was completed" }, "completed");
    case "over":
      break;
    default:
      return memory.action satisfies never;
  }
  if (observation.member.kind !== "read" || observation.instance.kind !== "read") {
    return lookAgain(situation, {
      phase: "ending",
      rules: ["D2"],
      reason: "the lifecycle action is over: asking Auto Scaling where the instance stands",
    });
  }
  const state = observation.member.value?.lifecycleState ?? "in no group";
  return IN_SERVICE.includes(state) ? calledOff(situation, state) : finished(situation, state);
}

/** An event this young cannot have waited in a queue while the sweep did its work. */
const FRESH_EVENT = MINUTE;

/**
 * D3: over. By the hook after a hand-over; by ourselves, where the answer was lost or a second run of the same look was quicker (the
 * machine still runs then: a result takes seconds to end it); else by somebody else (D2).
 */
function finished(situation: Situation, state: string): Decision {
  const { memory, observation } = situation;
  if (memory.handedOver !== undefined) return byHook(situation, state);
  const stillUp = isUp(valueOf(observation.instance));
  if (memory.completion === "lost" || (memory.completion === "refused" && stillUp)) {
    return end(
      situation,
      { rules: ["D3"], reason: `the action is over (${state}): our completion had arrived` },
      "completed",
    );
  }
  return wasOpen(situation) ? byOther(situation, state) : alreadyOver(situation, state);
}

/** This work found the action open, or came right after the event that opened it. */
function wasOpen({ memory, task, now }: Situation): boolean {
  return memory.beat?.ok === true || (task.by === "event" && now - task.at < FRESH_EVENT);
}

/** The sweep sees an instance wait, but not in whose hook; a late event may come after the sweep's work. */
function alreadyOver(situation: Situation, state: string): Decision {
  return end(
    situation,
    {
      rules: ["D2", "D3"],
      reason: `no action of our hook is open (${state}): another hook holds the instance, or ours ended before`,
    },
    "already-over",
  );
}

function byOther(situation: Situation, state: string): Decision {
  const reason = `the action ended without our completion or hand-over (${state})`;
  return end(
    situation,
    {
      rules: ["D2", "D3"],
      reason,
      actions: [
        ...eventOnce(situation, "CompletedByOther", reason, { type: "Warning" }),
        { kind: "metric", name: "CompletedByOther", value: 1 },
      ],
    },
    "completed-by-other",
  );
}

function byHook(situation: Situation, state: string): Decision {
  return end(
    situation,
    {
      rules: ["D3", "D10"],
      reason: `the hook completed the action after the hand-over (${state})`,
      actions: [
        ...eventOnce(situation, "DrainCompleted", "the hook completed the lifecycle action with CONTINUE"),
        { kind: "metric", name: "DrainsCompleted", value: 1 },
        { kind: "metric", name: "DrainSeconds", value: (situation.now - situation.task.at) / SECOND },
      ],
    },
    "completed-by-hook",
  );
}

/** D15: `work` and, if ours, the cordon go in one patch; then the work ends. */
function calledOff(situation: Situation, state: string): Decision {
  const { memory } = situation;
  const outcome = memory.handedOver === undefined ? "called-off" : "completed-by-hook";
  const reason = `the instance is ${state} again and no action of ours is open`;
  if (situation.blindness !== undefined || situation.ownership === "unverified") {
    return lookAgain(situation, {
      phase: "ending",
      rules: ["D15"],
      reason: `${reason}; the Node could not be read`,
    });
  }
  if (!hasLeftovers(situation)) {
    return end(
      situation,
      { rules: ["D15"], reason, actions: [{ kind: "metric", name: "DrainsCalledOff", value: 1 }] },
      outcome,
    );
  }
  const cordon = isCordonOurs(situation) ? "uncordoned" : "the cordon is not ours";
  return end(
    situation,
    {
      rules: ["D15"],
      reason,
      actions: [
        withdraw(situation),
        ...eventOnce(situation, "DrainCalledOff", `${reason}: ${cordon}`),
        { kind: "metric", name: "DrainsCalledOff", value: 1 },
      ],
    },
    outcome,
  );
}
