import { describe, expect, it } from "vitest";
import type { CsiPodStopping } from "../../lib/sim/cluster-csi-pod.ts";
import { addCsiNodePods, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import { makeWorld, momentsOf, nodeOf, podOf, whenRunning } from "./cluster-world.ts";

const BUDGET = { total: 60_000, critical: 20_000 };

interface Scene extends ClusterWorld {
  readonly node: string;
  readonly from: number;
  readonly stopping: CsiPodStopping[];
  readonly poweredOff: string[];
}

/** A database that needs 8 s to stop, on a node whose kubelet has just been told to shut down. */
async function makeShutdown(options: {
  readonly hook?: (each: CsiPodStopping) => void;
  readonly stopsAfter?: number;
  readonly priorityClass?: string;
}): Promise<Scene> {
  const stopping: CsiPodStopping[] = [];
  const poweredOff: string[] = [];
  const hook = options.hook;
  const world = makeWorld({
    cluster: {
      onPoweredOff: (instance) => void poweredOff.push(instance),
      ...(hook === undefined
        ? {}
        : {
            onCsiPodStopping: (each) => {
              stopping.push(each);
              hook(each);
            },
          }),
    },
  });
  addCsiNodePods(world.cluster, { hook: true, graceSeconds: 120 });
  await world.addNode("a", { shutdown: BUDGET });
  await world.addNode("b", { shutdown: BUDGET });
  addStatefulSet(world.cluster, {
    name: "db",
    stopsAfter: options.stopsAfter ?? 8_000,
    graceSeconds: 120,
    ...(options.priorityClass === undefined ? {} : { priorityClass: options.priorityClass }),
  });
  const node = await whenRunning(world, "db-0");
  await world.run(20_000);
  const from = world.clock.now();
  world.cluster.kubeletOf(node)?.beginShutdown();
  return { ...world, node, from, stopping, poweredOff };
}

const HOLD = (): void => undefined;

describe("a kubelet's graceful node shutdown", () => {
  it("says Ready=False within 40 ms, does not cordon, and gives no pod a deletionTimestamp", async () => {
    const scene = await makeShutdown({ hook: HOLD });
    await scene.run(40);
    expect(nodeOf(scene, scene.node)).toMatchObject({
      ready: { status: "False", reason: "KubeletNotReady", message: "node is shutting down" },
      unschedulable: false,
    });
    await scene.run(7_000);
    expect(podOf(scene, "db-0")).toMatchObject({ deleting: false, phase: "Running", nodeName: scene.node });
    expect(nodeOf(scene, scene.node).taints.map(({ key }) => key)).toContain("node.kubernetes.io/not-ready");
  });

  it("leaves its pods finished and marked, and the StatefulSet replaces them at once elsewhere", async () => {
    const scene = await makeShutdown({ hook: HOLD });
    const uid = podOf(scene, "db-0")?.uid;
    let marked: string | undefined;
    scene.cluster.api.pods.watch((pod) => {
      if (pod.metadata.uid === uid) marked = pod.status.disruptionTarget?.reason;
    });
    await scene.until("replaced", () => podOf(scene, "db-0")?.uid !== uid);
    expect(marked).toBe("TerminationByKubelet");
    expect(scene.clock.now() - scene.from).toBeLessThanOrEqual(8_500);
    await scene.until("bound", () => podOf(scene, "db-0")?.nodeName !== "");
    expect(podOf(scene, "db-0")?.nodeName).not.toBe(scene.node);
  });

  it("without a hook is over before volumesInUse is empty, and the volume waits for the force timer", async () => {
    const scene = await makeShutdown({});
    const off = await scene.until("off", () => scene.poweredOff.length > 0);
    expect(off).toBeLessThanOrEqual(9_000);
    expect(nodeOf(scene, scene.node).volumesInUse).toHaveLength(1);
    const gone = await scene.until("gone", () =>
      scene.cluster.attachments().every(({ nodeName }) => nodeName !== scene.node),
    );
    expect(off + gone).toBeGreaterThan(360_000);
    expect(off + gone).toBeLessThan(375_000);
  });

  it("with a hook that holds sees volumesInUse emptied, after which the detach needs the node no more", async () => {
    const scene = await makeShutdown({ hook: HOLD });
    await scene.until("empty", () => nodeOf(scene, scene.node).volumesInUse.length === 0);
    expect(scene.clock.now() - scene.from).toBeLessThanOrEqual(18_500);
    for (const each of scene.stopping) each.release();
    await scene.until("off", () => scene.poweredOff.length > 0, 1_000);
    const gone = await scene.until("gone", () =>
      scene.cluster.attachments().every(({ nodeName }) => nodeName !== scene.node),
    );
    expect(gone).toBeLessThanOrEqual(10_000);
  });

  it("stops the CSI node pod last, with the critical budget at most", async () => {
    const scene = await makeShutdown({ hook: HOLD });
    await scene.until("held", () => scene.stopping.length > 0);
    const [stopped = 0] = momentsOf(scene, scene.from, [`db-0 stopped on ${scene.node}`]);
    expect(scene.clock.now()).toBeGreaterThanOrEqual(stopped);
    expect(scene.stopping).toMatchObject([{ why: "shutdown", graceSeconds: 20 }]);
    const held = await scene.until("off", () => scene.poweredOff.length > 0);
    expect(held).toBeGreaterThan(19_900);
    expect(held).toBeLessThanOrEqual(20_500);
  });

  it("kills a workload that overruns its budget, and goes on to the critical pods", async () => {
    const scene = await makeShutdown({ hook: HOLD, stopsAfter: 100_000 });
    await scene.until("held", () => scene.stopping.length > 0);
    expect(scene.clock.now() - scene.from).toBeGreaterThanOrEqual(40_000);
    expect(scene.clock.now() - scene.from).toBeLessThanOrEqual(40_500);
    await scene.until(
      "unmounted",
      () => scene.cluster.mounted().every(({ node }) => node !== scene.node),
      2_000,
    );
  });

  it("loses the driver before a critical workload's unmount where no hook holds it", async () => {
    const scene = await makeShutdown({ priorityClass: "system-cluster-critical" });
    await scene.until("off", () => scene.poweredOff.length > 0);
    expect(scene.happenings.some(({ at, text }) => at > scene.from && text.endsWith(" unmounted"))).toBe(
      false,
    );
  });

  it("that is called off is noticed only after all its pods are dead", async () => {
    const scene = await makeShutdown({ hook: (each) => each.release() });
    scene.cluster.kubeletOf(scene.node)?.callOffShutdown();
    await scene.run(7_000);
    expect(nodeOf(scene, scene.node).ready.status).toBe("False");
    await scene.until("ready", () => nodeOf(scene, scene.node).ready.status === "True");
    expect(scene.poweredOff).toEqual([]);
    await scene.until(
      "driver back",
      () => Object.keys(scene.cluster.api.csiNodes.require(scene.node).spec.drivers).length === 1,
    );
  });

  it("takes no new pods", async () => {
    const scene = await makeShutdown({ hook: HOLD });
    const { api } = scene.cluster;
    const source = api.pods.require("db-0", "default");
    const late = api.pods.create(
      { name: "late", namespace: "default" },
      {
        spec: { ...source.spec, volumes: [], nodeName: scene.node },
        status: { phase: "Pending", ready: false, containersRunning: false },
      },
    );
    await scene.run(500);
    expect(late.status).toMatchObject({ phase: "Failed", reason: "NodeShutdown" });
  });

  it("begins with EC2's shutting-down, and EC2's end cuts it short", async () => {
    const scene = await makeWorldWithShutdown();
    scene.ec2.terminateInstance(scene.instance);
    await scene.run(100);
    expect(nodeOf(scene, "node-a").ready.message).toBe("node is shutting down");
    await scene.until("terminated", () => scene.ec2.instance(scene.instance)?.state === "terminated");
    expect(scene.cluster.hasLivingKubelet("node-a")).toBe(false);
  });
});

async function makeWorldWithShutdown(): Promise<ClusterWorld & { readonly instance: string }> {
  const world = makeWorld();
  const instance = await world.addNode("a", { shutdown: BUDGET });
  addStatefulSet(world.cluster, { name: "db", stopsAfter: 600_000, graceSeconds: 600 });
  await whenRunning(world, "db-0");
  return { ...world, instance };
}
