/** Scenarios played once per test file, with ebs-drain and with a drainer that looks at pods only. */
import type { Facts, WorkFacts } from "../../lib/cli/facts.ts";
import { factsOf } from "../../lib/cli/facts.ts";
import type { Run } from "../../lib/cli/run.ts";
import { runWithDrain, runWithPodDrainer } from "../../lib/cli/run.ts";
import type { Line } from "../../lib/cli/timeline.ts";
import { timelineOf } from "../../lib/cli/timeline.ts";
import type { ActionEnd } from "../../lib/cli/witness.ts";
import type { NodeView } from "../../lib/drain/cluster.ts";
import { SECOND } from "../../lib/drain/time.ts";
import type { ChangeRecord } from "../../lib/sim/cluster-port.ts";
import { scenarioOf } from "../../lib/sim/scenarios.ts";

/** The command's default. */
export const SEED = 12;
export const GROUP = "workers-a";

const played = new Map<string, Promise<Run>>();

export function withDrain(name: string): Promise<Run> {
  return play(name, "with ebs-drain", runWithDrain);
}

export function podsOnly(name: string): Promise<Run> {
  return play(name, "pods only", runWithPodDrainer);
}

function play(name: string, side: string, run: typeof runWithDrain): Promise<Run> {
  const key = `${name} ${side}`;
  const scenario = scenarioOf(name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const promise = played.get(key) ?? run(scenario, { seed: SEED, subject: { group: GROUP } });
  played.set(key, promise);
  return promise;
}

/** Seconds from the run's zero. */
export function secondsOf({ zero }: Run, at: number | undefined): number {
  return at === undefined ? Number.POSITIVE_INFINITY : (at - zero) / SECOND;
}

/** The end of the machine's one lifecycle action. */
export function endOf({ witness }: Run): ActionEnd {
  const [end, another] = witness.actionEnds;
  if (end === undefined || another !== undefined)
    throw new Error(`${witness.actionEnds.length} actions ended`);
  return end;
}

/** Seconds of the longest time that one pod was away. */
export function longestOutage(run: Run): number {
  return Math.max(
    0,
    ...run.witness.outages.map(({ from, until }) => secondsOf(run, until) - secondsOf(run, from)),
  );
}

export function doneChanges({ world, scene }: Run): readonly ChangeRecord[] {
  return world.clusterPort.changes.filter(
    (change) => change.outcome === "done" && change.node === scene.node,
  );
}

export function taints(change: ChangeRecord): boolean {
  return (change.patch ?? []).some(
    (step) => step.op === "add" && JSON.stringify(step.value).includes("out-of-service"),
  );
}

export function eventReasons(run: Run): readonly (string | undefined)[] {
  return doneChanges(run).flatMap(({ event }) => (event === undefined ? [] : [event.reason]));
}

export function nodeOf({ world, scene }: Run): NodeView | undefined {
  return world.cluster.nodes().find(({ name }) => name === scene.node);
}

/** Figures of the one piece of work of this kind. */
export function workOf(run: Run, kind: string): WorkFacts {
  const work = drainFactsOf(run).works.find((each) => each.kind === kind);
  if (work === undefined) throw new Error(`no ${kind} work`);
  return work;
}

export function drainFactsOf(run: Run): NonNullable<Facts["drain"]> {
  const { drain } = factsOf(run);
  if (drain === undefined) throw new Error("ebs-drain was not there");
  return drain;
}

/** Times of our own beats, in seconds. */
export function beatsOf(run: Run): readonly number[] {
  return run.world.autoScaling
    .getHistory()
    .flatMap((record) =>
      record.kind === "heartbeat" && record.instance === run.scene.instance
        ? [secondsOf(run, record.at)]
        : [],
    );
}

/** The first line of the timeline with these words. */
export function lineWith(run: Run, words: string): Line {
  const line = timelineOf(run).find(({ text }) => text.includes(words));
  if (line === undefined) throw new Error(`no line says "${words}"`);
  return line;
}
