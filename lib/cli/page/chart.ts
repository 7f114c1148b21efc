/** What the page shows: the same machine's end twice, as lanes of bars over one time. All times are seconds from the run's zero. */
import type { Told } from "../report.ts";
import type { Run } from "../run.ts";
import { storyEnd } from "../timeline.ts";
import { namesOf } from "../timeline-names.ts";
import { lanesOfDrain } from "./lanes-of-drain.ts";
import { lanesOfMachine } from "./lanes-of-machine.ts";
import { lanesOfPods } from "./lanes-of-pods.ts";
import { lanesOfVolumes } from "./lanes-of-volumes.ts";
import { drainerLanes } from "./lanes-of-drainer.ts";
import type { Recorded } from "./recorded.ts";

/** How a bar looks: what it means to whoever waits for a pod. */
export type Tone =
  /** Serves, or is as it should be on the node that goes. */
  | "old"
  /** The same on another node. */
  | "new"
  /** On its way from one to the other. */
  | "moving"
  /** Out of service, or in the way. */
  | "bad"
  /** Held by Auto Scaling, or by the hook. */
  | "held"
  /** ebs-drain, or the drainer, at work. */
  | "work"
  /** A machine that is going or gone. */
  | "off";

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly tone: Tone;
  /** A word or two, drawn in the bar where there is room. */
  readonly label: string;
  /** What it is, and why it lasts. */
  readonly explanation: string;
}

/** A moment. `sign` is drawn; a `routine` one is no reason to draw its time in full. */
export interface Mark {
  readonly at: number;
  readonly sign: "dot" | "good" | "bad";
  readonly label: string;
  readonly explanation: string;
  readonly routine?: boolean;
}

export interface Lane {
  readonly group: string;
  readonly name: string;
  readonly bars: readonly Bar[];
  readonly marks: readonly Mark[];
}

export interface Side {
  readonly title: string;
  readonly lanes: readonly Lane[];
}

export interface Chart {
  /** Seconds; the first is before zero, so that one sees how it was. */
  readonly from: number;
  readonly to: number;
  readonly sides: readonly Side[];
}

/** Seconds before zero, and after the last that happens. */
const BEFORE = 2;
const AFTER = 3;

export function chartOf({ drained, unaided }: Told): Chart {
  const from = -BEFORE;
  const to = Math.ceil(Math.max(endOf(drained), endOf(unaided)) + AFTER);
  const side = (title: string, run: Run): Side => ({
    title,
    lanes: lanesOf({ run, names: namesOf(run), from, to }),
  });
  return {
    from,
    to,
    sides: [side("with ebs-drain", drained), side("with a drainer that looks at pods only", unaided)],
  };
}

/** The machine's end belongs to it, the clearing up after that does not. */
function endOf(run: Run): number {
  const { zero, witness } = run;
  return (Math.max(storyEnd(run), witness.machineEnd?.at ?? zero) - zero) / 1_000;
}

function lanesOf(recorded: Recorded): readonly Lane[] {
  const lanes = [
    ...lanesOfPods(recorded),
    ...lanesOfVolumes(recorded),
    ...lanesOfMachine(recorded),
    ...(recorded.run.embedded === undefined
      ? drainerLanes(recorded)
      : lanesOfDrain(recorded.run.embedded, recorded)),
  ];
  return lanes.filter(({ bars, marks }) => bars.length > 0 || marks.length > 0);
}
