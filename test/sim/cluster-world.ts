/** A simulated cluster with the simulated EC2, alone in virtual time. */
import type { AttachmentView, NodeView, PodView } from "../../lib/drain/cluster.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { evict } from "../../lib/sim/cluster-eviction.ts";
import { patchNode } from "../../lib/sim/cluster-node-patch.ts";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import { attachmentNameOf } from "../../lib/sim/cluster-volumes.ts";
import type { SimulatedClusterOptions } from "../../lib/sim/cluster.ts";
import { SimulatedCluster } from "../../lib/sim/cluster.ts";
import type { Ec2Options } from "../../lib/sim/ec2.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import type { Happening } from "../../lib/sim/seams.ts";

export const START = Date.UTC(2026, 9, 1, 12);

export interface ClusterWorld {
  readonly clock: VirtualClock;
  readonly ec2: SimulatedEc2;
  readonly cluster: SimulatedCluster;
  readonly happenings: readonly Happening[];
  /** A running machine with a ready node `node-<letter>`; its instance id. */
  readonly addNode: (
    letter: string,
    spec?: Partial<Parameters<SimulatedCluster["addNode"]>[0]>,
  ) => Promise<string>;
  readonly run: (milliseconds: number) => Promise<void>;
  /** Runs until it is so; the milliseconds that took. Throws after `limit`. */
  readonly until: (what: string, isSo: () => boolean, limit?: number) => Promise<number>;
}

export function makeWorld(
  options: {
    readonly seed?: number;
    readonly cluster?: Partial<SimulatedClusterOptions>;
    readonly ec2?: Partial<Ec2Options>;
  } = {},
): ClusterWorld {
  const clock = new VirtualClock(START);
  const random = new Random(options.seed ?? 1);
  const happenings: Happening[] = [];
  const note = (lane: string, subject: string, text: string): void =>
    void happenings.push({ at: clock.now(), lane, subject, text });
  const ec2 = new SimulatedEc2({ clock, random: random.fork(), note, ...options.ec2 });
  const cluster = new SimulatedCluster({
    clock,
    random: random.fork(),
    host: ec2,
    note,
    createVolume: (zone, name) => ec2.createVolume({ zone, name }),
    ...options.cluster,
  });
  const until: ClusterWorld["until"] = async (what, isSo, limit = 600_000) => {
    const from = clock.now();
    await clock.advance(from + limit, isSo);
    if (!isSo()) throw new Error(`never: ${what}`);
    return clock.now() - from;
  };
  return {
    clock,
    ec2,
    cluster,
    happenings,
    until,
    run: (milliseconds) => clock.advance(clock.now() + milliseconds),
    addNode: async (letter, spec = {}) => {
      const instance = ec2.runInstance({ zone: spec.zone ?? "eu-west-1a" });
      cluster.addNode({ name: `node-${letter}`, instance, firstBoot: 0, ...spec });
      await until("node ready", () => {
        const node = cluster.nodes().find(({ name }) => name === `node-${letter}`);
        return node?.ready.status === "True" && node.taints.length === 0;
      });
      return instance;
    },
  };
}

export function cordon({ cluster }: ClusterWorld, node: string): void {
  patchNode(cluster.api, node, [{ op: "add", path: "/spec/unschedulable", value: true }]);
}

export function uncordon({ cluster }: ClusterWorld, node: string): void {
  patchNode(cluster.api, node, [{ op: "add", path: "/spec/unschedulable", value: false }]);
}

/** Cordon and out-of-service taint in one patch, as D14 writes them. */
export function takeOutOfService({ cluster }: ClusterWorld, node: string): void {
  const taint = { key: "node.kubernetes.io/out-of-service", value: "test", effect: "NoExecute" };
  const taints = cluster.api.nodes.require(node).spec.taints ?? [];
  patchNode(cluster.api, node, [
    { op: "add", path: "/spec/unschedulable", value: true },
    { op: "add", path: "/spec/taints", value: [...taints, taint] },
  ]);
}

export function podOf({ cluster }: ClusterWorld, name: string): PodView | undefined {
  return cluster.pods().find((pod) => pod.name === name);
}

/** Waits until the pod runs; the node it is on. */
export async function whenRunning(world: ClusterWorld, name: string): Promise<string> {
  await world.until(`${name} running`, () => podOf(world, name)?.phase === "Running");
  return podOf(world, name)?.nodeName ?? "";
}

export function evictPod({ cluster }: ClusterWorld, name: string, namespace = "default"): void {
  const { uid } = cluster.api.pods.require(name, namespace).metadata;
  evict(cluster.api, { namespace, name }, { uid });
}

export function forceDelete({ cluster }: ClusterWorld, name: string, namespace = "default"): void {
  const { uid } = cluster.api.pods.require(name, namespace).metadata;
  cluster.api.deletePod(namespace, name, { uid, graceSeconds: 0 });
}

/** Two nodes in one zone, and a StatefulSet of one pod that runs on one of them. */
export async function makeDatabase(options: Parameters<typeof makeWorld>[0] = {}): Promise<Database> {
  const world = makeWorld(options);
  const [a, b] = [await world.addNode("a"), await world.addNode("b")];
  const [[handle = ""] = []] = addStatefulSet(world.cluster, { name: "db" });
  const node = await whenRunning(world, "db-0");
  const other = node === "node-a" ? "node-b" : "node-a";
  const [instance, otherInstance] = node === "node-a" ? [a, b] : [b, a];
  const attachment = attachmentNameOf({ driver: EBS_DRIVER, handle }, node);
  const attachmentElsewhere = attachmentNameOf({ driver: EBS_DRIVER, handle }, other);
  return { ...world, handle, node, other, instance, otherInstance, attachment, attachmentElsewhere };
}

export interface Database extends ClusterWorld {
  readonly handle: string;
  readonly node: string;
  readonly other: string;
  readonly instance: string;
  readonly otherInstance: string;
  /** Names of the VolumeAttachments to the pod's node and to the other one. */
  readonly attachment: string;
  readonly attachmentElsewhere: string;
}

export function attachmentOf({ cluster }: ClusterWorld, name: string): AttachmentView | undefined {
  return cluster.attachments().find((attachment) => attachment.name === name);
}

export function nodeOf({ cluster }: ClusterWorld, name: string): NodeView {
  const node = cluster.nodes().find((each) => each.name === name);
  if (node === undefined) throw new Error(`no Node ${name}`);
  return node;
}

/** When each of these was first noted after `from`; fails for one that never was. */
export function momentsOf(world: ClusterWorld, from: number, texts: readonly string[]): number[] {
  return texts.map((text) => {
    const found = world.happenings.find(
      (each) => each.at >= from && `${each.subject} ${each.text}`.includes(text),
    );
    if (found === undefined) throw new Error(`never noted: ${text}`);
    return found.at;
  });
}
