/** ebs-drain at work: a lane for each kind of work, a bar for each phase of its decisions, a mark for each change. */
import type { Phase } from "../../drain/decision.ts";
import type { LookRecord } from "../../engine/ports.ts";
import type { RunExecution } from "../../sim/invariants.ts";
import type { Embedded } from "../embedded.ts";
import { linesOfActs } from "../timeline-of-drain.ts";
import { compacted } from "../timeline.ts";
import type { Lane, Mark, Tone } from "./chart.ts";
import { barsOf, markOf, marksOf } from "./recorded.ts";
import type { Recorded, Turn } from "./recorded.ts";

const GROUP = "ebs-drain";

const NAMES: Readonly<Partial<Record<string, string>>> = {
  lifecycle: "Drain",
  spot: "Drain (spot)",
  gone: "Gone machine",
};

export function lanesOfDrain(embedded: Embedded, recorded: Recorded): readonly Lane[] {
  const executions = embedded.executions();
  const kinds = [...new Set(executions.map(({ task }) => task.kind))];
  const phases = kinds.map((kind) => ({
    group: GROUP,
    name: NAMES[kind] ?? kind,
    bars: executions
      .filter(({ task }) => task.kind === kind)
      .flatMap((execution) => barsOf(turnsOf(execution, embedded, recorded), recorded)),
    marks: [],
  }));
  return [...phases, { group: GROUP, name: "What it does", bars: [], marks: changesOf(embedded, recorded) }];
}

/** Looks of one phase in a row are one bar, which tells the last one's reason. */
function turnsOf(execution: RunExecution, { looks }: Embedded, recorded: Recorded): readonly Turn[] {
  const { task, startedAt, endedAt } = execution;
  const own = looks.filter(({ observation: { task: of, at } }) => {
    return of.id === task.id && at >= startedAt && (endedAt === undefined || at <= endedAt);
  });
  const turns = own.flatMap((look, index): readonly Turn[] => {
    if (look.decision.phase === own[index - 1]?.decision.phase) return [];
    const rest = own.slice(index);
    const next = rest.findIndex(({ decision }) => decision.phase !== look.decision.phase);
    const same = next === -1 ? rest : rest.slice(0, next);
    return [{ at: look.observation.at, state: stateOf(same, recorded) }];
  });
  return endedAt === undefined ? turns : [...turns, { at: endedAt }];
}

const WORDS: Readonly<Record<Phase, readonly [label: string, tone: Tone]>> = {
  locating: ["looks for the Node", "work"],
  cordoning: ["cordons", "work"],
  evicting: ["evicts", "work"],
  detaching: ["waits for volumes", "held"],
  confirming: ["looks once more", "work"],
  "proving-death": ["proves its death", "work"],
  "awaiting-ec2": ["waits for EC2", "held"],
  "forcing-off": ["forces off", "work"],
  blind: ["cannot see", "bad"],
  ending: ["ends", "work"],
};

function stateOf(looks: readonly LookRecord[], { names }: Recorded): NonNullable<Turn["state"]> {
  const last = looks.at(-1)?.decision;
  const [label, tone] = WORDS[last?.phase ?? "ending"];
  const rules = last === undefined ? "" : ` (${last.rules.join(", ")})`;
  const count = looks.length === 1 ? "One look" : `${looks.length} looks`;
  return { label, tone, explanation: `${count}; by the last: ${names.inWords(last?.reason ?? "")}${rules}.` };
}

/** As the timeline tells it. */
function changesOf(embedded: Embedded, recorded: Recorded): readonly Mark[] {
  const { run, names } = recorded;
  return marksOf(compacted(linesOfActs(embedded, run, names)).map(markOf), recorded);
}
