/** Named situations that a node's end brings about, each with its scene and what happens in it. */
import { SECOND } from "../drain/time.ts";
import { addDaemonSet, addStatefulSet } from "./cluster-scene.ts";
import type { World } from "./world.ts";

/** The machine that goes, and the Node that it is. */
export interface Scene {
  readonly instance: string;
  readonly node: string;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly build: (world: World) => Promise<Scene>;
  readonly begin: (world: World, scene: Scene) => void;
}

const GROUP = "workers-a";

/** Three pods with volumes on one node; its successor is up already, as in an instance refresh or a zone rebalance. */
async function threePods(world: World): Promise<Scene> {
  world.launchNode(GROUP, { zone: "eu-west-1b" });
  await world.settle();
  const old = world.launchNode(GROUP, { zone: "eu-west-1a" });
  await world.clock.advance(world.clock.now() + 30 * SECOND);
  addDaemonSet(world.cluster, { name: "node-exporter", tolerations: [{ operator: "Exists" }] });
  addStatefulSet(world.cluster, { name: "db", replicas: 2, budget: { maxUnavailable: 1 } });
  addStatefulSet(world.cluster, { name: "queue" });
  await world.settle();
  world.launchNode(GROUP, { zone: "eu-west-1a" });
  await world.clock.advance(world.clock.now() + 30 * SECOND);
  return { instance: old.options.instance, node: old.options.name };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "scale-in",
    title: "Auto Scaling takes a node out of its group",
    build: threePods,
    begin: (world, { instance }) => world.autoScaling.scaleIn(instance),
  },
];
