import { describe, expect, it } from "vitest";
import { deleteAttachment } from "../../lib/sim/cluster-scene-oddities.ts";
import type { Database } from "./cluster-world.ts";
import {
  attachmentOf,
  cordon,
  forceDelete,
  makeDatabase,
  nodeOf,
  podOf,
  takeOutOfService,
} from "./cluster-world.ts";

const MINUTE = 60_000;
/** The controllers' own part of a detach, EC2's few seconds apart. */
const AT_ONCE = 300;
/** EC2 acts at once, and does not release a terminated instance's volumes by itself. */
const QUICK_EC2 = {
  delays: { shuttingDown: [0, 0], detach: [0, 0], release: [hours(1), hours(1)] },
} as const;

function hours(count: number): number {
  return count * 60 * MINUTE;
}

/** The instance is terminated; EC2 leaves its volumes attached, so that only Kubernetes' own doing shows. */
async function makeDead(): Promise<Database> {
  const world = await makeDatabase({
    ec2: QUICK_EC2,
    cluster: { timing: { cloudController: undefined, attacherPoll: 50 } },
  });
  world.ec2.terminateInstance(world.instance);
  await world.until("terminated", () => world.ec2.instance(world.instance)?.state === "terminated");
  return world;
}

async function untilGone(world: Database, limit?: number): Promise<number> {
  return world.until("attachment gone", () => attachmentOf(world, world.attachment) === undefined, limit);
}

describe("a dead machine", () => {
  it("is Ready until its Lease has been silent for 40 to 50 s, then Unknown with both taints", async () => {
    const world = await makeDead();
    const silent = await world.until("Unknown", () => nodeOf(world, world.node).ready.status === "Unknown");
    // Up to 10 s since the last renewal, up to 5 s until the next look.
    expect(silent).toBeGreaterThan(30_000);
    expect(silent).toBeLessThanOrEqual(55_000);
    await world.run(6_000);
    expect(nodeOf(world, world.node).taints.filter(({ key }) => key.endsWith("unreachable"))).toMatchObject([
      { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" },
      { key: "node.kubernetes.io/unreachable", effect: "NoExecute" },
    ]);
    expect(world.cluster.api.pods.require("db-0", "default").status.ready).toBe(false);
  });

  it("frees its volume at once with the out-of-service taint and its pods force-deleted, Ready still True (D14)", async () => {
    const world = await makeDead();
    await world.run(1_000);
    takeOutOfService(world, world.node);
    forceDelete(world, "db-0");
    expect(await untilGone(world)).toBeLessThanOrEqual(AT_ONCE);
    expect(nodeOf(world, world.node)).toMatchObject({
      ready: { status: "True" },
      volumesInUse: [`kubernetes.io/csi/ebs.csi.aws.com^${world.handle}`],
    });
  });

  it("keeps its volume for about a minute with the taint alone: pod GC waits until it is not ready", async () => {
    const world = await makeDead();
    takeOutOfService(world, world.node);
    const gone = await untilGone(world);
    expect(gone).toBeGreaterThan(30_000);
    expect(gone).toBeLessThanOrEqual(76_000);
  });

  it("keeps its volume for 6 minutes after its pods are force-deleted and nothing else is done (C1)", async () => {
    const world = await makeDead();
    cordon(world, world.node);
    forceDelete(world, "db-0");
    const gone = await untilGone(world);
    expect(gone).toBeGreaterThanOrEqual(6 * MINUTE);
    expect(gone).toBeLessThanOrEqual(6 * MINUTE + AT_ONCE);
  });

  it("keeps its volume while its pod is merely terminating, and the 6 minutes begin when that is gone", async () => {
    const world = await makeDead();
    world.cluster.api.deletePod("default", "db-0");
    await world.run(20 * MINUTE);
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: false });
    cordon(world, world.node);
    forceDelete(world, "db-0");
    expect(await untilGone(world)).toBeGreaterThanOrEqual(6 * MINUTE);
  });

  it("is given up by default tolerations only after 5 more minutes", async () => {
    const world = await makeDead();
    await world.until("Unknown", () => nodeOf(world, world.node).ready.status === "Unknown");
    const waited = await world.until("evicted", () => podOf(world, "db-0")?.deleting === true);
    expect(waited).toBeGreaterThanOrEqual(5 * MINUTE);
    expect(waited).toBeLessThanOrEqual(5 * MINUTE + 6_000);
    expect(podOf(world, "db-0")?.disruptionTarget).toBe("DeletionByTaintManager");
  });

  it("takes 7 to 9 minutes and more where the Node is deleted and nobody helps", async () => {
    const world = await makeDatabase({ ec2: QUICK_EC2 });
    world.ec2.terminateInstance(world.instance);
    const from = world.clock.now();
    await world.until("Node gone", () => !world.cluster.nodes().some(({ name }) => name === world.node));
    const collected = await world.until("collected", () => podOf(world, "db-0")?.nodeName !== world.node);
    // 40 s of quarantine once a round has noticed, and up to 20 s until a round.
    expect(collected).toBeGreaterThanOrEqual(40_000);
    expect(collected).toBeLessThanOrEqual(81_000);
    await untilGone(world);
    expect(world.clock.now() - from).toBeGreaterThanOrEqual(7 * MINUTE);
    expect(world.clock.now() - from).toBeLessThanOrEqual(9.5 * MINUTE);
    await world.until("moved", () => podOf(world, "db-0")?.phase === "Running");
  });
});

describe("a Node that is gone while volumesInUse lists a volume", () => {
  async function makeGone(): Promise<Database> {
    const world = await makeDead();
    cordon(world, world.node);
    forceDelete(world, "db-0");
    world.cluster.api.nodes.delete(world.cluster.api.nodes.require(world.node));
    await world.until("replaced", () => podOf(world, "db-0")?.nodeName === world.other);
    return world;
  }

  it("keeps the volume for the full 6 minutes, and its CSINode and Lease go with it", async () => {
    const world = await makeGone();
    expect(world.cluster.api.csiNodes.get(world.node)).toBeUndefined();
    expect(world.cluster.api.leases.get(world.node, "kube-node-lease")).toBeUndefined();
    expect(await untilGone(world)).toBeGreaterThan(5.9 * MINUTE);
  });

  it("lets it go elsewhere within a minute after its attachment was deleted by hand, not at once", async () => {
    const world = await makeGone();
    await world.run(1_500);
    deleteAttachment(world.cluster, world.attachment);
    expect(await untilGone(world)).toBeLessThanOrEqual(AT_ONCE);
    expect(attachmentOf(world, world.attachmentElsewhere)).toBeUndefined();
    const waited = await world.until(
      "elsewhere",
      () => attachmentOf(world, world.attachmentElsewhere) !== undefined,
    );
    expect(waited).toBeLessThanOrEqual(MINUTE);
  });

  it("lets it go at once where a Node of the name is created again, out of service", async () => {
    const world = await makeGone();
    await world.run(5_000);
    world.cluster.api.nodes.create(
      { name: world.node },
      {
        spec: {
          unschedulable: true,
          taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }],
        },
        status: { nodeInfo: { bootID: "" }, conditions: [] },
      },
    );
    expect(await untilGone(world)).toBeLessThanOrEqual(AT_ONCE);
  });
});

describe("a pod of a dead machine", () => {
  it("with a finalizer keeps its volume when it is force-deleted, unless its status said Failed first", async () => {
    const world = await makeDead();
    const pod = world.cluster.api.pods.require("db-0", "default");
    pod.metadata.finalizers = ["example.com/keep"];
    takeOutOfService(world, world.node);
    forceDelete(world, "db-0");
    await world.run(5_000);
    expect(podOf(world, "db-0")).toMatchObject({ deleting: true, nodeName: world.node });
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: false });
    world.cluster.api.pods.update(pod, ({ status }) => {
      status.phase = "Failed";
    });
    expect(await untilGone(world)).toBeLessThanOrEqual(AT_ONCE);
  });

  it("is no orphan while a Node of the name exists", async () => {
    const world = await makeDead();
    const node = world.cluster.api.nodes.require(world.node);
    world.cluster.api.nodes.delete(node);
    world.cluster.api.nodes.create({ name: world.node }, { spec: {}, status: node.status });
    await world.run(4 * MINUTE);
    expect(podOf(world, "db-0")).toMatchObject({ nodeName: world.node, deleting: false });
  });
});

describe("the cloud controller", () => {
  it("deletes a Node whose instance is terminated once it is not ready, 40 to 60 s after the end", async () => {
    const world = await makeDatabase();
    world.ec2.terminateInstance(world.instance);
    const gone = await world.until(
      "Node gone",
      () => !world.cluster.nodes().some(({ name }) => name === world.node),
    );
    expect(gone).toBeGreaterThan(30_000);
    // EC2's shutting-down takes up to a minute and the Node may be not ready before.
    expect(gone).toBeLessThanOrEqual(70_000);
  });

  it("keeps the Node of a stopped instance, with a taint until it is back", async () => {
    const world = await makeDatabase();
    world.ec2.stopInstance(world.instance);
    await world.run(5 * MINUTE);
    expect(nodeOf(world, world.node).taints.map(({ key }) => key)).toContain(
      "node.cloudprovider.kubernetes.io/shutdown",
    );
    world.ec2.startInstance(world.instance);
    await world.until("ready", () => nodeOf(world, world.node).ready.status === "True");
    await world.run(10_000);
    expect(nodeOf(world, world.node).taints).toEqual([]);
  });

  it("deletes nothing where it is off", async () => {
    const world = await makeDatabase({ cluster: { timing: { cloudController: undefined } } });
    world.ec2.terminateInstance(world.instance);
    await world.run(20 * MINUTE);
    expect(nodeOf(world, world.node).ready.status).toBe("Unknown");
  });
});

describe("with no node ready at all", () => {
  it("the control plane evicts nobody: the fault is taken to be its own (D13, D17)", async () => {
    const world = await makeDatabase();
    for (const name of [world.node, world.other]) world.cluster.kubeletOf(name)?.disconnect();
    await world.run(15 * MINUTE);
    expect(nodeOf(world, world.node).taints.map(({ effect }) => effect)).toEqual(["NoSchedule"]);
    expect(podOf(world, "db-0")).toMatchObject({ deleting: false });
    for (const name of [world.node, world.other]) world.cluster.kubeletOf(name)?.connect();
    await world.run(15_000);
    expect(nodeOf(world, world.node)).toMatchObject({ ready: { status: "True" }, taints: [] });
    expect(world.cluster.api.pods.require("db-0", "default").status.ready).toBe(true);
  });
});
