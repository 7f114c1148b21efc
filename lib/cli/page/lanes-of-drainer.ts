/** The drainer that looks at pods only. */
import { linesOfWorld } from "../timeline-of-world.ts";
import { compacted } from "../timeline.ts";
import type { Lane } from "./chart.ts";
import { barsOf, markOf, marksOf, notesOf } from "./recorded.ts";
import type { Recorded } from "./recorded.ts";

const GROUP = "Drainer";

export function drainerLanes(recorded: Recorded): readonly Lane[] {
  const { run, names } = recorded;
  const notes = notesOf(recorded, "drain");
  const first = notes[0]?.at;
  const last = run.witness.actionEnds.find(({ by }) => by === "pod drainer")?.at ?? notes.at(-1)?.at;
  if (first === undefined || last === undefined) return [];
  const entries = compacted(linesOfWorld(run, names, notes));
  return [
    {
      group: GROUP,
      name: "Drain",
      bars: barsOf([{ at: first, state: AT_WORK }, { at: last }], recorded),
      marks: [],
    },
    { group: GROUP, name: "What it does", bars: [], marks: marksOf(entries.map(markOf), recorded) },
  ];
}

const AT_WORK = {
  tone: "work",
  label: "evicts",
  explanation:
    "The drainer cordons the node, evicts its pods, and is done when they are gone. It does not look at volumes.",
} as const;
