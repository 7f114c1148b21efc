import { describe, expect, it } from "vitest";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import type { CsiPodStopping } from "../../lib/sim/cluster-csi-pod.ts";
import { CSI_NODE_SET, addCsiNodePods, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import { cordon, evictPod, makeWorld, momentsOf, nodeOf, whenRunning } from "./cluster-world.ts";

interface Scene extends ClusterWorld {
  readonly node: string;
  /** Name of the node's CSI node pod. */
  readonly csiPod: string;
  readonly stopping: CsiPodStopping[];
  readonly ended: string[];
}

/** A database that needs 15 s to stop, and the driver's node pods, with or without a hook that holds. */
async function makeScene(options: {
  readonly hook: boolean;
  readonly graceSeconds?: number;
}): Promise<Scene> {
  const stopping: CsiPodStopping[] = [];
  const ended: string[] = [];
  const onCsiPodStopping = (each: CsiPodStopping): void => {
    stopping.push(each);
    each.onEnded(() => ended.push(each.pod));
  };
  const world = makeWorld({ cluster: options.hook ? { onCsiPodStopping } : {} });
  addCsiNodePods(world.cluster, { hook: options.hook, graceSeconds: options.graceSeconds ?? 60 });
  await world.addNode("a");
  await world.addNode("b");
  addStatefulSet(world.cluster, { name: "db", stopsAfter: 15_000 });
  const node = await whenRunning(world, "db-0");
  const csi = world.cluster
    .pods()
    .find((pod) => pod.controller?.name === CSI_NODE_SET && pod.nodeName === node);
  return { ...world, node, csiPod: csi?.name ?? "", stopping, ended };
}

/** Both pods are asked to end in the same moment, as a drain that knows no order does. */
function deleteBoth(scene: Scene): void {
  cordon(scene, scene.node);
  evictPod(scene, "db-0");
  scene.cluster.api.deletePod("kube-system", scene.csiPod);
}

function drivers({ cluster }: ClusterWorld, node: string): readonly string[] {
  return Object.keys(cluster.api.csiNodes.require(node).spec.drivers);
}

describe("the registrar problem: a CSI node pod that stops without a hook", () => {
  it("takes the driver's registration away at once, and nothing is unmounted until its successor runs", async () => {
    const scene = await makeScene({ hook: false });
    const from = scene.clock.now();
    deleteBoth(scene);
    await scene.run(1_000);
    expect(drivers(scene, scene.node)).toEqual([]);
    await scene.until("registered", () => drivers(scene, scene.node).includes(EBS_DRIVER));
    expect(scene.clock.now() - from).toBeLessThanOrEqual(5_000);
    const [unmounted = 0] = await scene
      .until("unmounted", () => scene.cluster.mounted().length === 0)
      .then(() => momentsOf(scene, from, ["unmounted"]));
    expect(unmounted - from).toBeGreaterThan(15_000);
  });

  it("with a hook that holds the driver's container only is the worst of all: 80 s until the unmount", async () => {
    const scene = await makeScene({ hook: true });
    const from = scene.clock.now();
    deleteBoth(scene);
    await scene.until("held", () => scene.stopping.length > 0);
    scene.stopping[0]?.deregister();
    await scene.until("registered", () => drivers(scene, scene.node).includes(EBS_DRIVER));
    const registered = scene.clock.now() - from;
    expect(registered).toBeGreaterThan(60_000);
    expect(registered).toBeLessThan(65_000);
    // Only the kubelet's back-off, at 32 s by then, tries the unmount again.
    await scene.until("unmounted", () => scene.cluster.mounted().length === 0);
    expect(scene.clock.now() - from).toBeGreaterThan(77_000);
    expect(scene.clock.now() - from).toBeLessThan(83_000);
    await scene.until("gone", () =>
      scene.cluster.attachments().every(({ nodeName }) => nodeName !== scene.node),
    );
    expect(scene.clock.now() - from).toBeLessThan(100_000);
  });
});

describe("a CSI node pod with the hook", () => {
  it("stays with its driver until the hook lets go, so the volume is unmounted meanwhile", async () => {
    const scene = await makeScene({ hook: true });
    deleteBoth(scene);
    await scene.until("unmounted", () => !scene.cluster.mounted().some(({ node }) => node === scene.node));
    expect(drivers(scene, scene.node)).toEqual([EBS_DRIVER]);
    expect(scene.stopping).toMatchObject([
      { node: scene.node, pod: scene.csiPod, namespace: "kube-system", why: "deleted", graceSeconds: 60 },
    ]);
    expect(scene.ended).toEqual([]);
    scene.stopping[0]?.release();
    const ended = await scene.until("ended", () => scene.ended.length > 0);
    expect(ended).toBeLessThanOrEqual(60);
    expect(drivers(scene, scene.node)).toEqual([]);
    await scene.until("successor", () => drivers(scene, scene.node).length === 1, 5_000);
  });

  it("ends with its grace period, whatever the hook does", async () => {
    const scene = await makeScene({ hook: true, graceSeconds: 10 });
    const from = scene.clock.now();
    deleteBoth(scene);
    await scene.until("ended", () => scene.ended.length > 0);
    expect(scene.clock.now() - from).toBeLessThanOrEqual(10_100);
    expect(scene.cluster.mounted()).toHaveLength(1);
    scene.stopping[0]?.release();
    await scene.until(
      "unmounted",
      () => !scene.cluster.mounted().some(({ node }) => node === scene.node),
      120_000,
    );
  });

  it("ends at once with its machine, and the hook is told", async () => {
    const scene = await makeScene({ hook: true });
    deleteBoth(scene);
    await scene.run(2_000);
    const instance = scene.cluster.kubeletOf(scene.node)?.options.instance ?? "";
    scene.ec2.terminateInstance(instance);
    await scene.run(1_000);
    expect(scene.ended).toEqual([scene.csiPod]);
    expect(nodeOf(scene, scene.node).volumesInUse).toHaveLength(1);
  });

  it("is made again by its DaemonSet only once the old object is gone, cordoned or not", async () => {
    const scene = await makeScene({ hook: true });
    deleteBoth(scene);
    await scene.run(30_000);
    const own = () =>
      scene.cluster
        .pods()
        .filter((pod) => pod.controller?.name === CSI_NODE_SET && pod.nodeName === scene.node);
    expect(own()).toMatchObject([{ name: scene.csiPod, deleting: true }]);
    scene.stopping[0]?.release();
    await scene.until(
      "successor",
      () => own()[0]?.phase === "Running" && own()[0]?.deleting === false,
      5_000,
    );
  });
});
