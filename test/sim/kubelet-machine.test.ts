import { describe, expect, it } from "vitest";
import { WORK_POINTER } from "../../lib/drain/names.ts";
import { patchNode } from "../../lib/sim/cluster-node-patch.ts";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import {
  attachmentOf,
  cordon,
  evictPod,
  makeDatabase,
  makeWorld,
  nodeOf,
  podOf,
  takeOutOfService,
  whenRunning,
} from "./cluster-world.ts";

const MINUTE = 60_000;

function renewals(world: Awaited<ReturnType<typeof makeDatabase>>, node: string): string {
  return world.cluster.api.leases.require(node, "kube-node-lease").spec.renewTime;
}

describe("a kubelet", () => {
  it("registers its Node with the instance's provider id, a CSINode and a Lease that it renews every 10 s", async () => {
    const world = await makeDatabase();
    expect(nodeOf(world, world.node)).toMatchObject({ providerId: `aws:///eu-west-1a/${world.instance}` });
    expect(world.cluster.api.csiNodes.require(world.node).spec.drivers).toEqual({
      "ebs.csi.aws.com": world.instance,
    });
    const seen = new Set<string>();
    for (let look = 0; look < 60; look++) {
      seen.add(renewals(world, world.node));
      await world.run(1_000);
    }
    expect(seen.size).toBeGreaterThanOrEqual(6);
    expect(seen.size).toBeLessThanOrEqual(7);
    expect([...seen][0]).toMatch(/^2026-10-01T12:\d\d:\d\d\.\d{6}Z$/u);
  });

  it("that is frozen stops renewing while its containers go on, and catches up when it runs again", async () => {
    const world = await makeDatabase();
    const kubelet = world.cluster.kubeletOf(world.node);
    kubelet?.freeze();
    const before = renewals(world, world.node);
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.run(2 * MINUTE);
    expect(renewals(world, world.node)).toBe(before);
    expect(world.cluster.mounted()).toMatchObject([{ node: world.node }]);
    expect(nodeOf(world, world.node).ready.status).toBe("Unknown");
    kubelet?.thaw();
    await world.until("moved", () => podOf(world, "db-0")?.nodeName === world.other);
    expect(nodeOf(world, world.node).ready.status).toBe("True");
  });

  it("that is cut off unmounts what it knew to be ending, and tells when it is connected again", async () => {
    const world = await makeDatabase();
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.run(100);
    world.cluster.kubeletOf(world.node)?.disconnect();
    await world.run(MINUTE);
    expect(world.cluster.mounted()).toEqual([]);
    expect(nodeOf(world, world.node).volumesInUse).toHaveLength(1);
    world.cluster.kubeletOf(world.node)?.connect();
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
  });
});

describe("a machine that is stopped and started", () => {
  it("comes back under its Node with another boot id, and its pods run again", async () => {
    const world = await makeDatabase();
    const before = nodeOf(world, world.node);
    world.ec2.stopInstance(world.instance);
    await world.until("stopped", () => world.ec2.instance(world.instance)?.state === "stopped");
    expect(world.cluster.mounted()).toEqual([]);
    world.ec2.startInstance(world.instance);
    await world.until("mounted", () => world.cluster.mounted().length === 1);
    expect(nodeOf(world, world.node)).toMatchObject({ uid: before.uid, providerId: before.providerId });
    expect(nodeOf(world, world.node).bootId).not.toBe(before.bootId);
    await world.run(30_000);
    expect(podOf(world, "db-0")).toMatchObject({ phase: "Running", nodeName: world.node });
  });

  it("resumes with its volumes mounted where it was hibernated", async () => {
    const world = await makeDatabase();
    const before = nodeOf(world, world.node);
    world.cluster.kubeletOf(world.node)?.hibernateNext();
    world.ec2.stopInstance(world.instance, { hibernate: true });
    await world.run(2 * MINUTE);
    expect(world.cluster.mounted()).toMatchObject([{ instance: world.instance }]);
    world.ec2.startInstance(world.instance);
    await world.until("ready", () => nodeOf(world, world.node).ready.status === "True");
    expect(nodeOf(world, world.node).bootId).toBe(before.bootId);
  });

  it("starts anew with another boot id where only its root volume is replaced", async () => {
    const world = await makeDatabase();
    const before = nodeOf(world, world.node);
    world.ec2.replaceRootVolume(world.instance);
    world.cluster.kubeletOf(world.node)?.reboot();
    await world.until("again", () => nodeOf(world, world.node).bootId !== before.bootId);
    await world.until("mounted", () => world.cluster.mounted().length === 1);
    expect(nodeOf(world, world.node)).toMatchObject({ uid: before.uid, providerId: before.providerId });
  });
});

describe("a kubelet that finds a Node of its name", () => {
  it("adopts it: provider id, taints, cordon and annotations stay, boot id, CSINode and Lease are new", async () => {
    const world = await makeDatabase({ cluster: { timing: { cloudController: undefined } } });
    world.ec2.terminateInstance(world.instance);
    await world.until("terminated", () => world.ec2.instance(world.instance)?.state === "terminated");
    takeOutOfService(world, world.node);
    patchNode(world.cluster.api, world.node, [{ op: "add", path: WORK_POINTER, value: "w" }]);
    const before = nodeOf(world, world.node);
    const lease = renewals(world, world.node);
    const heir = world.ec2.runInstance({});
    world.cluster.addNode({ name: world.node, instance: heir, firstBoot: 0 });
    await world.until("adopted", () => nodeOf(world, world.node).bootId !== before.bootId);
    await world.run(2 * MINUTE);
    expect(nodeOf(world, world.node)).toMatchObject({
      uid: before.uid,
      providerId: before.providerId,
      unschedulable: true,
      work: "w",
      ready: { status: "True" },
      volumesInUse: [],
    });
    expect(nodeOf(world, world.node).taints.map(({ key }) => key)).toContain(
      "node.kubernetes.io/out-of-service",
    );
    expect(world.cluster.api.csiNodes.require(world.node).spec.drivers).toEqual({ "ebs.csi.aws.com": heir });
    expect(renewals(world, world.node)).not.toBe(lease);
    expect(world.cluster.hasLivingKubelet(world.node)).toBe(true);
  });

  it("is refused by the scene while the first one's machine lives", async () => {
    const world = await makeDatabase();
    expect(() => world.cluster.addNode({ name: world.node, instance: world.otherInstance })).toThrow(
      "living kubelet",
    );
  });
});

describe("a machine that joins late", () => {
  it("has no Node until its kubelet is up, and is not ready at once", async () => {
    const world = makeWorld();
    const instance = world.ec2.runInstance();
    world.cluster.addNode({ name: "node-late", instance, firstBoot: 80_000 });
    await world.run(80_000);
    expect(world.cluster.nodes()).toEqual([]);
    await world.until("registered", () => world.cluster.nodes().length === 1);
    expect(nodeOf(world, "node-late").ready.status).toBe("False");
    await world.until("ready", () => nodeOf(world, "node-late").ready.status === "True");
    addStatefulSet(world.cluster, { name: "db" });
    await whenRunning(world, "db-0");
  });
});
