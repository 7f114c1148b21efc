/** What stands in the worlds of the scenarios: a node with pods, volumes, a budget and DaemonSets, and where its pods can go. */
import { MINUTE, SECOND } from "../drain/time.ts";
import type { PodsSpec } from "./cluster-scene.ts";
import { addDaemonSet, addStatefulSet } from "./cluster-scene.ts";
import type { Kubelet } from "./kubelet.ts";
import type { Scene, Subject } from "./scenario.ts";
import type { World } from "./world.ts";

/** The volumes' zone, and another one, where the CSI controller runs. */
export const ZONE = "eu-west-1a";
const OTHER_ZONE = "eu-west-1b";
/** How long everything has stood when it begins: nobody waits any more for a machine to join. */
const AGE = 5 * MINUTE;

export interface ThreePods {
  readonly db?: Partial<PodsSpec>;
  readonly queue?: Partial<PodsSpec>;
  /** The Node's name; default: the instance's private DNS name. */
  readonly nodeName?: string;
  /** Default: in the other zone, so that it goes on working while the node is drained. */
  readonly csiController?: "on the node";
}

/**
 * `db-0` and `db-1`, one of which may be away at a time, and `queue-0` on one node, each with an EBS volume. The node's successor is
 * up already, as in an instance refresh or a rebalance of zones.
 */
export async function threePods(world: World, subject: Subject, spec: ThreePods = {}): Promise<Scene> {
  const other = spec.csiController === undefined ? await launch(world, subject.group, OTHER_ZONE) : undefined;
  const kubelet = await launchSubject(world, subject, spec);
  await world.settle();
  addDaemonSet(world.cluster, { name: "node-exporter", tolerations: [{ operator: "Exists" }] });
  addStatefulSet(world.cluster, { budget: { maxUnavailable: 1 }, ...spec.db, name: "db", replicas: 2 });
  addStatefulSet(world.cluster, { ...spec.queue, name: "queue" });
  await world.settle();
  const successor = await launch(world, subject.group, ZONE);
  await world.clock.advance(world.clock.now() + AGE);
  const { instance, name: node } = kubelet.options;
  return {
    instance,
    node,
    nodes: {
      [node]: "the old node",
      [successor]: "the new node",
      ...(other === undefined ? {} : { [other]: "another node" }),
    },
  };
}

/** A cluster of two nodes, one of each zone, before anything happens to a third machine. */
export async function twoNodes(world: World, subject: Subject): Promise<Scene["nodes"]> {
  const other = await launch(world, subject.group, OTHER_ZONE);
  const near = await launch(world, subject.group, ZONE);
  await world.settle();
  return { [other]: "another node", [near]: "the other node" };
}

/** The machine that it will be about, in the volumes' zone. */
export function launchInstance(world: World, { group, instance }: Subject): string {
  return world.autoScaling.launch(group, {
    zone: ZONE,
    ...(instance === undefined ? {} : { id: instance }),
  });
}

async function launchSubject(world: World, subject: Subject, spec: ThreePods): Promise<Kubelet> {
  const kubelet = world.joinNode(launchInstance(world, subject), spec.nodeName);
  await untilReady(world, kubelet);
  return kubelet;
}

async function launch(world: World, group: string, zone: string): Promise<string> {
  const kubelet = world.launchNode(group, { zone });
  await untilReady(world, kubelet);
  return kubelet.options.name;
}

async function untilReady(world: World, { options: { name } }: Kubelet): Promise<void> {
  const { clock, cluster } = world;
  const isReady = (): boolean =>
    cluster.nodes().some((node) => node.name === name && node.ready.status === "True");
  await clock.advance(clock.now() + 60 * SECOND, isReady);
}
