/** One scenario, run once: with ebs-drain, or with a drainer that knows only pods. */
import type { Here } from "../drain/signal.ts";
import type { Instant } from "../drain/time.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { BusEvent } from "../sim/event-bridge.ts";
import type { Violation } from "../sim/invariants.ts";
import { Invariants } from "../sim/invariants.ts";
import { PodDrainer } from "../sim/pod-drainer.ts";
import type { Scenario, Scene, Subject } from "../sim/scenario.ts";
import { worldOf } from "../sim/scenario.ts";
import type { World } from "../sim/world.ts";
import type { Embedded } from "./embedded.ts";
import { embed } from "./embedded.ts";
import { Witness } from "./witness.ts";

/** A recorded event in the place of the one that the world's own EventBridge makes. */
export interface Recorded {
  readonly at: Instant;
  readonly here: Here;
  /** The recorded event, where this is its counterpart. */
  readonly inPlaceOf: (event: BusEvent) => unknown;
}

export interface RunOptions {
  readonly seed: number;
  readonly subject: Subject;
  readonly recorded?: Recorded;
}

export interface Run {
  readonly world: World;
  readonly scene: Scene;
  readonly witness: Witness;
  /** Times are told from here: the lifecycle action's opening, else the moment in which it all began. */
  readonly zero: Instant;
  /** Everything had come to rest, or the scenario's time was over. */
  readonly endedAt: Instant;
  /** Absent where only pods are drained. */
  readonly embedded?: Embedded;
  /** Promises of ebs-drain that this run broke. */
  readonly violations: readonly Violation[];
}

/** Built long before a recorded event's time, so that the scene stands by then. */
const LEAD = 20 * MINUTE;
/** After the end, so that two sweeps can undo what is left. */
const AFTERMATH = 150 * SECOND;

export async function runWithDrain(scenario: Scenario, options: RunOptions): Promise<Run> {
  const { world, scene } = await build(scenario, options);
  const { recorded, subject } = options;
  const embedded = embed(world, { group: subject.group, policy: scenario.policy, here: recorded?.here });
  if (recorded !== undefined) replaceEvents(world, recorded);
  const { policy } = embedded.settings;
  const { executions } = embedded;
  const invariants = new Invariants({
    world,
    policy,
    executions,
    groups: [subject.group],
    undisturbed: false,
  });
  const isBusy = (): boolean => executions().some(({ endedAt }) => endedAt === undefined);
  const run = await play(scenario, world, scene, options, isBusy);
  await world.clock.advance(world.clock.now() + AFTERMATH);
  return { ...run, embedded, violations: invariants.check() };
}

export async function runWithPodDrainer(scenario: Scenario, options: RunOptions): Promise<Run> {
  const { world, scene } = await build(scenario, options);
  world.deliver = new PodDrainer(world).deliver;
  return play(scenario, world, scene, options, () => false);
}

async function build(
  scenario: Scenario,
  { seed, subject, recorded }: RunOptions,
): Promise<{ readonly world: World; readonly scene: Scene }> {
  const start = recorded === undefined ? {} : { start: recorded.at - LEAD };
  const world = worldOf(scenario, subject, { seed, ...start });
  const scene = await scenario.build(world, subject);
  if (recorded !== undefined) await world.clock.advance(recorded.at);
  return { world, scene };
}

function replaceEvents(world: World, { inPlaceOf }: Recorded): void {
  const deliver = world.deliver;
  world.deliver = (event) => deliver((inPlaceOf(event) ?? event) as BusEvent);
}

async function play(
  scenario: Scenario,
  world: World,
  scene: Scene,
  { subject }: RunOptions,
  isBusy: () => boolean,
): Promise<Omit<Run, "embedded">> {
  const { clock } = world;
  const begunAt = clock.now();
  const witness = new Witness(world, scene);
  scenario.begin(world, scene, subject);
  await clock.advance(begunAt + scenario.most, () => {
    witness.look();
    return (
      clock.now() >= begunAt + (scenario.least ?? 0) &&
      isMachineAtRest(world, scene) &&
      witness.isAllUp() &&
      !isBusy()
    );
  });
  const zero = (scenario.held ? witness.openedAt : undefined) ?? begunAt;
  return { world, scene, witness, zero, endedAt: clock.now(), violations: [] };
}

/** Gone, stopped, or in service again, with no lifecycle action open. */
function isMachineAtRest({ autoScaling, ec2 }: World, { instance }: Scene): boolean {
  if (autoScaling.activeActions(instance).length > 0) return false;
  const state = ec2.instance(instance)?.state ?? "terminated";
  const lifecycle = autoScaling.member(instance)?.lifecycleState;
  return state === "terminated" || state === "stopped" || (state === "running" && lifecycle === "InService");
}
