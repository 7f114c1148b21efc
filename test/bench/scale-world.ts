/** Large clusters in the embedded world, and every request that the deployed handlers' code makes in them. */
import { embed } from "../../lib/cli/embedded.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import type { Kubelet } from "../../lib/sim/kubelet.ts";
import { WORKERS, World } from "../../lib/sim/world.ts";
import type { Request } from "./scale-figures.ts";

export interface ScaleRun {
  /** Until the last action was completed. */
  readonly requests: readonly Request[];
  /** In the minute after that: Events, and the looks at what became of the machines. */
  readonly afterwards: readonly Request[];
  /** Seconds from the first scale-in to the last completed action. */
  readonly seconds: number;
  /** When it begins. */
  readonly nodes: number;
  readonly attachments: number;
}

export interface ScaleSize {
  /** Nodes besides those that are drained. */
  readonly nodes: number;
  /** VolumeAttachments in all; what the pods have not made is added, spread over the other nodes. */
  readonly attachments: number;
  /** Instances that go in one moment, each with `podsEach` pods that have a volume. */
  readonly drained: number;
  readonly podsEach: number;
}

const SEED = 1;
/** After this much time every one of them is completed, or the bench says so. */
const MOST = 30 * MINUTE;
/** Virtual time in which instances have booted and registered; they take half a minute. */
const JOINED_WITHIN = 5 * MINUTE;
const ZONE = "eu-west-1a";

export async function runAtScale(size: ScaleSize): Promise<ScaleRun> {
  const world = new World({ seed: SEED });
  const going = await launch(world, size.drained);
  await addPods(world, size, going);
  const others = await launch(world, size.nodes);
  addAttachments(world, size.attachments, others);
  const requests: Request[] = [];
  embed(world, { group: WORKERS.name });
  world.faults.onCall = (operation) => void requests.push({ at: world.clock.now(), operation });
  const begunAt = world.clock.now();
  const nodes = world.cluster.nodes().length;
  const attachments = world.cluster.api.attachments.list().length;
  for (const { options } of going) world.autoScaling.scaleIn(options.instance);
  const isDone = (): boolean => completionsOf(world).length === size.drained;
  for (let at = begunAt; at < begunAt + MOST && !isDone(); at += SECOND)
    await world.clock.advance(at + SECOND);
  if (!isDone())
    throw new Error(
      `${completionsOf(world).length} of ${size.drained} actions are completed after ${MOST / MINUTE} minutes`,
    );
  await world.clock.advance(world.clock.now() + MINUTE);
  const completedAt = Math.max(...completionsOf(world));
  return {
    requests: requests.filter(({ at }) => at <= completedAt),
    afterwards: requests.filter(({ at }) => at > completedAt),
    seconds: (completedAt - begunAt) / SECOND,
    nodes,
    attachments,
  };
}

/** Times at which the drain's CONTINUE was accepted. */
function completionsOf({ autoScaling }: World): readonly number[] {
  return autoScaling
    .getHistory()
    .flatMap((record) =>
      record.kind === "complete" && record.outcome === "accepted" && record.result === "CONTINUE"
        ? [record.at]
        : [],
    );
}

async function launch(world: World, count: number): Promise<readonly Kubelet[]> {
  const kubelets = Array.from({ length: count }, () => world.launchNode(WORKERS.name, { zone: ZONE }));
  const names = new Set(kubelets.map(({ options }) => options.name));
  const areReady = (): boolean =>
    world.cluster.nodes().filter(({ name, ready }) => names.has(name) && ready.status === "True").length ===
    count;
  for (let wait = 0; wait < JOINED_WITHIN && !areReady(); wait += SECOND) {
    await world.clock.advance(world.clock.now() + SECOND);
  }
  if (!areReady()) throw new Error(`not all of ${count} nodes are ready`);
  await world.settle();
  return kubelets;
}

/** While only the machines that will go are there, so that the pods run on them. */
async function addPods(
  world: World,
  { drained, podsEach }: ScaleSize,
  going: readonly Kubelet[],
): Promise<void> {
  if (going.length !== drained) throw new Error(`${going.length} machines of ${drained}`);
  addStatefulSet(world.cluster, {
    name: "db",
    replicas: drained * podsEach,
    podManagementPolicy: "Parallel",
    zones: [ZONE],
  });
  await world.settle();
}

/** Other pods' volumes, at rest: objects that lists bring, and that nobody has to look at. */
function addAttachments(world: World, most: number, others: readonly Kubelet[]): void {
  const { api } = world.cluster;
  const missing = Math.max(0, most - api.attachments.list().length);
  for (let index = 0; index < missing; index++) {
    const nodeName = others[index % others.length]?.options.name;
    if (nodeName === undefined) throw new Error("attachments need other nodes");
    api.attachments.create(
      { name: `csi-other-${index}` },
      {
        spec: { attacher: EBS_DRIVER, nodeName, source: { volumeName: `pv-other-${index}` } },
        status: { attached: true },
      },
    );
  }
}
