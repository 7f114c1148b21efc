/** A run drawn from a seed: cluster, workloads, policy, what happens to a machine, and what goes wrong meanwhile. */
import { LIFECYCLE_HOOK } from "../drain/names.ts";
import { DEFAULT_POLICY, type Policy } from "../drain/policy.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { GroupSpec } from "./auto-scaling-members.ts";
import { addBarePod } from "./cluster-scene-oddities.ts";
import { addDaemonSet, addDeployment, addStatefulSet } from "./cluster-scene.ts";
import { DISTURBANCES, type Disturbance } from "./disturbances.ts";
import { ENDINGS, type Ending } from "./endings.ts";
import type { EventDelivery } from "./event-bridge.ts";
import type { FaultRates } from "./faults.ts";
import { Random } from "./random.ts";
import { World } from "./world.ts";

export const OURS = "workers-a";
export const FOREIGN = "other-team";

export interface DrawnRun {
  readonly seed: number;
  readonly world: World;
  readonly policy: Policy;
  /** Instances that something happens to. */
  readonly victims: readonly string[];
  readonly endings: readonly Ending["name"][];
  readonly disturbances: readonly string[];
  /** Shares of turns that crash or run twice. */
  readonly crashes: number;
  readonly doubles: number;
  /** No fault, no disturbance: the request bounds hold to the letter (I12). */
  readonly undisturbed: boolean;
  /** Sets everything off. */
  readonly begin: () => void;
}

/** Builds the world and lets it settle. */
export async function drawRun(seed: number): Promise<DrawnRun> {
  const random = new Random(seed);
  const undisturbed = random.chance(0.15);
  const policy = drawPolicy(random);
  const world = new World({
    seed,
    groups: drawGroups(random, policy),
    hook: random.chance(0.5),
    csiGraceSeconds: random.pick([30, 60, 120]),
    delivery: undisturbed ? {} : drawDelivery(random),
    faults: undisturbed ? [] : drawFaults(random),
    latency: random.pick([
      [5, 40],
      [5, 40],
      [20, 400],
    ] as const),
    describeLag: undisturbed || random.chance(0.7) ? [0, 0] : [0, random.between(200, 1_500)],
  });
  const nodes = random.between(3, 4);
  for (let index = 0; index < nodes; index++) {
    world.launchNode(OURS, { zone: random.pick(["eu-west-1a", "eu-west-1a", "eu-west-1b"]) });
  }
  if (random.chance(0.3)) world.launchNode(FOREIGN, { zone: "eu-west-1a" });
  await world.settle();
  drawWorkloads(world, random);
  await world.settle();
  return { seed, world, policy, undisturbed, ...drawEvents(world, policy, random, undisturbed) };
}

function drawPolicy(random: Random): Policy {
  const heartbeatTimeout = random.pick([120, 120, 300, 600]);
  return {
    ...DEFAULT_POLICY,
    heartbeatTimeout,
    maxDuration: random.pick([600, 900, 1_800]),
    margin: random.pick([10, 60]),
    onDeadline: random.pick(["CONTINUE", "ABANDON"] as const),
    force: random.chance(0.2),
    forceAfter: random.pick([60, 240]),
    outOfService: random.chance(0.9),
    kubeletGrace: random.pick([120, 180]),
  };
}

function drawGroups(random: Random, policy: Policy): readonly GroupSpec[] {
  const ours = {
    name: LIFECYCLE_HOOK,
    heartbeatTimeout: policy.heartbeatTimeout,
    defaultResult: random.pick(["CONTINUE", "ABANDON"] as const),
  };
  const managed = { name: "Terminate-LC-Hook", heartbeatTimeout: 1_800, defaultResult: "CONTINUE" as const };
  return [
    {
      name: OURS,
      hooks: random.chance(0.3) ? [ours, managed] : [ours],
      retainOnAbandon: random.chance(0.2),
      poolState: random.pick(["Stopped", "Hibernated"] as const),
    },
    // Another deployment's group, with the same hook's name.
    { name: FOREIGN, hooks: [{ ...managed, name: LIFECYCLE_HOOK }] },
  ];
}

function drawDelivery(random: Random): Partial<EventDelivery> {
  return {
    loss: random.pick([0, 0, 0.1, 0.5]),
    duplication: random.pick([0, 0.2, 0.6]),
    lateness: random.pick([0, 0.2]),
  };
}

function drawFaults(random: Random): readonly FaultRates[] {
  const share = random.pick([0, 0, 0.02, 0.1]);
  return share === 0
    ? []
    : [
        { operations: "kubernetes.", fail: share, lostAnswer: share / 2 },
        { operations: "ec2.", fail: share, failures: ["throttled", "network", "server"] },
        { operations: "autoScaling.", fail: share, lostAnswer: share / 2 },
      ];
}

function drawWorkloads({ cluster }: World, random: Random): void {
  const stops = (): number => random.pick([1, 1, 3, 10, 25]) * SECOND;
  for (let index = 0; index < random.between(1, 3); index++) {
    addStatefulSet(cluster, {
      name: `db${index}`,
      replicas: random.between(1, 3),
      stopsAfter: stops(),
      zones: random.pick([["eu-west-1a"], ["eu-west-1a", "eu-west-1b"]]),
      source: random.chance(0.15) ? "in-tree" : "csi",
      ...(random.chance(0.5) ? { budget: { maxUnavailable: random.pick([0, 1, 1]) } } : {}),
    });
  }
  addDeployment(cluster, { name: "web", replicas: random.between(2, 4), stopsAfter: stops() });
  addDaemonSet(cluster, { name: "logs", tolerations: [{ operator: "Exists" }] });
  if (random.chance(0.3)) {
    addDaemonSet(cluster, {
      name: "cache",
      tolerations: [{ operator: "Exists" }],
      volumes: [{ kind: "ephemeral", volume: "cache" }],
    });
  }
  if (random.chance(0.3)) {
    addDeployment(cluster, {
      name: "stubborn",
      replicas: 2,
      tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
      volumes: random.chance(0.5) ? [{ kind: "ephemeral", volume: "scratch" }] : [],
    });
  }
  if (random.chance(0.2)) addBarePod(cluster, { name: "debug", finalizers: ["example.com/hold"] });
}

function drawEvents(
  world: World,
  policy: Policy,
  random: Random,
  undisturbed: boolean,
): Pick<DrawnRun, "victims" | "endings" | "disturbances" | "crashes" | "doubles" | "begin"> {
  const everyone = world.autoScaling.describeMembers();
  const members = everyone.filter((member) => member.group === OURS);
  const foreign = everyone.find((member) => member.group === FOREIGN)?.instance;
  const count = random.chance(0.2) && members.length > 2 ? 2 : 1;
  const victims = pickSome(members, count, random).map((member) => member.instance);
  const planned = victims.map((instance) => ({
    instance,
    ending: random.pick(undisturbed ? ENDINGS.filter(({ name }) => name === "scale-in") : ENDINGS),
    after: random.between(0, 20) * SECOND,
  }));
  const sleeps = planned.some(
    ({ ending }) => ending.name === "hibernate" || ending.name.startsWith("warm-pool"),
  );
  const possible = sleeps ? DISTURBANCES.filter(({ name }) => name !== "Node deleted") : DISTURBANCES;
  const disturbances = undisturbed ? [] : drawDisturbances(victims, possible, random);
  return {
    victims,
    endings: planned.map(({ ending }) => ending.name),
    disturbances: disturbances.map(
      ({ disturbance, after }) => `${disturbance.name} after ${after / SECOND} s`,
    ),
    crashes: undisturbed ? 0 : random.pick([0, 0, 0.05, 0.3]),
    doubles: undisturbed ? 0 : random.pick([0, 0, 0.1]),
    begin: () => {
      world.bridge.startSweep(MINUTE);
      // Somebody else's machine ends by somebody else's hook, and is none of our business.
      if (foreign !== undefined) world.autoScaling.scaleIn(foreign);
      for (const { instance, ending, after } of planned) {
        world.clock.after(after, () => ending.begin(world, instance, random));
      }
      for (const { disturbance, instance, after } of disturbances) {
        world.clock.after(after, () => {
          world.note("event", instance, `disturbance: ${disturbance.name}`);
          disturbance.strike({ world, instance, random, policy });
        });
      }
    },
  };
}

/**
 * A Node deleted while its machine hibernates is Kubernetes' own undoing: after six minutes it attaches elsewhere what the sleeping
 * guest still has mounted. Nobody's drain can help that, so it is not among the `possible` ones there.
 */
function drawDisturbances(
  victims: readonly string[],
  possible: readonly Disturbance[],
  random: Random,
): readonly { readonly disturbance: Disturbance; readonly instance: string; readonly after: number }[] {
  const count = random.pick([0, 1, 1, 2, 3]);
  return Array.from({ length: count }, () => ({
    disturbance: random.pick(possible),
    instance: random.pick(victims),
    after: random.between(0, 120) * SECOND,
  }));
}

function pickSome<T>(from: readonly T[], count: number, random: Random): readonly T[] {
  const left = [...from];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const picked = random.pick(left);
    left.splice(left.indexOf(picked), 1);
    return picked;
  });
}
