import { describe, expect, it } from "vitest";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { addClaim, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import {
  addBarePod,
  addForeignAttachment,
  addNamedAttachment,
  deleteAttachment,
  leakAttachment,
  losePersistentVolume,
} from "../../lib/sim/cluster-scene-oddities.ts";
import { attachmentNameOf } from "../../lib/sim/cluster-volumes.ts";
import {
  attachmentOf,
  cordon,
  evictPod,
  forceDelete,
  makeDatabase,
  makeWorld,
  momentsOf,
  nodeOf,
  podOf,
  whenRunning,
} from "./cluster-world.ts";

const SEEDS = [1, 2, 3, 4, 5];

describe("the name of a VolumeAttachment", () => {
  it.each([
    [
      "vol-0a500e7456c1b7b6a",
      "ip-10-1-3-134.us-west-2.compute.internal",
      "5ca3c6bf5a8925b2895507cbf7ffd7b4607324e09ef8a8ae2baf300a6eab3511",
    ],
    [
      "vol-0123456789abcdef0",
      "ip-10-0-0-1.ec2.internal",
      "fe06e9b7f0788d36d037dc072e698d0df29ffac77397761bb77014101d61709d",
    ],
  ])("is the hash of handle, driver and node: %s on %s", (handle, node, hash) => {
    expect(attachmentNameOf({ handle, driver: EBS_DRIVER }, node)).toBe(`csi-${hash}`);
  });
});

describe("a volume that is wanted", () => {
  it("is attached 45 to 140 ms after the pod is bound, and the attachment carries finalizer and instance", async () => {
    const { cluster, clock, addNode, until } = makeWorld();
    const instance = await addNode("a");
    addStatefulSet(cluster, { name: "db", handles: [["vol-1"]] });
    await until("bound", () => cluster.pods()[0]?.nodeName === "node-a");
    const bound = clock.now();
    await until("created", () => cluster.attachments().length > 0);
    expect(clock.now() - bound).toBeGreaterThanOrEqual(35);
    expect(clock.now() - bound).toBeLessThanOrEqual(140);
    await until("marked", () => cluster.api.attachments.list()[0]?.metadata.annotations !== undefined);
    const [{ metadata } = expect.fail("no attachment")] = cluster.api.attachments.list();
    expect(metadata.finalizers).toEqual(["external-attacher/ebs-csi-aws-com"]);
    expect(metadata.annotations).toEqual({ "csi.alpha.kubernetes.io/node-id": instance });
  });

  it("is mounted only once the kubelet has reported it as in use, with its status sync", async () => {
    const world = await makeDatabase();
    const [reported = 0, mounted = 0] = momentsOf(world, 0, ["volumesInUse: 1", `${world.handle} mounted`]);
    expect(mounted).toBeGreaterThan(reported);
  });

  it("is told by its bare handle where the PersistentVolume is in-tree", async () => {
    const world = makeWorld();
    await world.addNode("a");
    const [[handle = ""] = []] = addStatefulSet(world.cluster, { name: "old", source: "in-tree" });
    await whenRunning(world, "old-0");
    expect(attachmentOf(world, attachmentNameOf({ handle, driver: EBS_DRIVER }, "node-a"))).toMatchObject({
      attacher: EBS_DRIVER,
      volumeName: "pv-data-old-0",
    });
    expect(nodeOf(world, "node-a").volumesInUse).toEqual([`kubernetes.io/csi/ebs.csi.aws.com^${handle}`]);
  });

  it("is attached as an inline volume where the pod itself names it", async () => {
    const world = makeWorld();
    await world.addNode("a");
    const handle = world.ec2.createVolume();
    addBarePod(world.cluster, { name: "inline", volumes: [{ kind: "inline", volumeId: handle }] });
    await whenRunning(world, "inline");
    expect(world.cluster.attachments()).toMatchObject([{ inlineHandle: handle, nodeName: "node-a" }]);
    expect(podOf(world, "inline")?.inlineHandles).toEqual([handle]);
  });

  it("is attached without EC2 where it is local to the node", async () => {
    const world = makeWorld();
    await world.addNode("a");
    addClaim(world.cluster, { name: "scratch", handle: "local-ebs://nvme1" });
    addBarePod(world.cluster, { name: "cache", volumes: [{ kind: "claim", claimName: "scratch" }] });
    await whenRunning(world, "cache");
    expect(world.cluster.attachments()).toHaveLength(1);
    forceDelete(world, "cache");
    await world.until("gone", () => world.cluster.attachments().length === 0);
  });

  it("comes and goes with the pod where it is ephemeral", async () => {
    const world = makeWorld();
    await world.addNode("a");
    addBarePod(world.cluster, { name: "job", volumes: [{ kind: "ephemeral", volume: "scratch" }] });
    await whenRunning(world, "job");
    expect(podOf(world, "job")?.claims).toEqual(["job-scratch"]);
    evictPod(world, "job");
    await world.until(
      "claim gone",
      () => world.cluster.api.claims.get("job-scratch", "default") === undefined,
    );
    expect(world.cluster.attachments()).toHaveLength(1);
    await world.until("volume gone", () => world.cluster.api.volumes.size === 0);
    expect(world.cluster.attachments()).toHaveLength(0);
  });
});

describe("a clean detach", () => {
  it.each(SEEDS)("keeps its order, whatever the delays (seed %i)", async (seed) => {
    const world = await makeDatabase({ seed });
    const { clock, handle, node, other, instance } = world;
    const from = clock.now();
    cordon(world, node);
    evictPod(world, "db-0");
    await world.until(
      "moved",
      () => podOf(world, "db-0")?.nodeName === other && podOf(world, "db-0")?.phase === "Running",
    );
    const moments = momentsOf(world, from, [
      `db-0 stops on ${node}`,
      `db-0 stopped on ${node}`,
      `${handle} unmounted`,
      `${node} volumesInUse: 0`,
      `${handle} detach from ${node} asked for`,
      `EC2: detaching ${instance}`,
      `EC2: detached ${instance}`,
      `${handle} detached from ${node}`,
      `${handle} attachment to ${other} created`,
      `${handle} attached to ${other}`,
      `db-0 running on ${other}`,
    ]);
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
  });

  it("asks for the detach 40 to 140 ms after volumesInUse is empty, which comes up to 10 s after the unmount", async () => {
    const world = await makeDatabase();
    cordon(world, world.node);
    evictPod(world, "db-0");
    const from = world.clock.now();
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
    const [unmounted = 0, empty = 0, asked = 0] = momentsOf(world, from, [
      `${world.handle} unmounted`,
      `${world.node} volumesInUse: 0`,
      "asked for",
    ]);
    expect(empty - unmounted).toBeLessThanOrEqual(10_000);
    expect(asked - empty).toBeGreaterThanOrEqual(40);
    expect(asked - empty).toBeLessThanOrEqual(140);
  });

  it("changes volumesAttached before EC2 has detached: no signal of completion (C27)", async () => {
    const world = await makeDatabase();
    const attachedTo = () => world.cluster.api.nodes.require(world.node).status.volumesAttached?.length;
    expect(attachedTo()).toBe(1);
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.until("reported", () => attachedTo() === 0);
    expect(world.ec2.volumeState(world.handle, world.instance)).toBe("attached");
    expect(attachmentOf(world, world.attachment)).toBeDefined();
  });

  it("does not begin while the kubelet does not unmount, however long the node is Ready (no force)", async () => {
    const world = await makeDatabase();
    world.cluster.kubeletOf(world.node)?.volumes.stick(world.handle, "unstage");
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.run(1_800_000);
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: false });
    world.cluster.kubeletOf(world.node)?.volumes.unstick(world.handle);
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
  });

  it("keeps the pod terminating while its volume cannot be unpublished", async () => {
    const world = await makeDatabase();
    world.cluster.kubeletOf(world.node)?.volumes.stick(world.handle, "unpublish");
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.run(300_000);
    expect(podOf(world, "db-0")).toMatchObject({ nodeName: world.node, deleting: true, phase: "Succeeded" });
  });

  it("leaves an attachment behind for ever where kube-controller-manager ends between its last two writes", async () => {
    const world = await makeDatabase();
    world.cluster.attachDetach.leakNextDetach(world.handle);
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.run(60_000);
    world.cluster.restartControllerManager(5_000);
    await world.run(3_600_000);
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: false });
  });

  it("goes on after a restart of kube-controller-manager with what the API says", async () => {
    const world = await makeDatabase();
    cordon(world, world.node);
    evictPod(world, "db-0");
    world.cluster.restartControllerManager(30_000);
    await world.run(29_000);
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: false });
    await world.until("moved", () => podOf(world, "db-0")?.nodeName === world.other);
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
  });
});

describe("an attachment that no controller takes away", () => {
  it("stays where its PersistentVolume is missing, though its detach is asked for", async () => {
    const world = await makeDatabase();
    losePersistentVolume(world.cluster, "pv-data-db-0");
    deleteAttachment(world.cluster, world.attachment);
    await world.run(3_600_000);
    expect(attachmentOf(world, world.attachment)).toMatchObject({
      deleting: true,
      detachError: "persistentvolume not found",
    });
  });

  it("of another driver stays and never reaches EC2 (C25)", async () => {
    const world = makeWorld();
    await world.addNode("a");
    const name = addForeignAttachment(world.cluster, { node: "node-a" });
    await world.run(600_000);
    expect(attachmentOf(world, name)).toMatchObject({ attacher: "efs.csi.aws.com", deleting: false });
  });

  it("that leaked stays, and EC2 has no part in it", async () => {
    const world = makeWorld();
    const instance = await world.addNode("a");
    addClaim(world.cluster, { name: "old", handle: "vol-0leaked", zone: "eu-west-1a" });
    const name = leakAttachment(world.cluster, {
      node: "node-a",
      handle: "vol-0leaked",
      volumeName: "pv-old",
    });
    await world.run(600_000);
    expect(attachmentOf(world, name)).toMatchObject({ deleting: false, nodeName: "node-a" });
    expect(world.ec2.volumeState("vol-0leaked", instance)).toBe("none");
  });

  it("made by another tool under a name of its own is served like any", async () => {
    const world = makeWorld();
    const instance = await world.addNode("a");
    const handle = world.ec2.createVolume();
    addClaim(world.cluster, { name: "backup", handle });
    addNamedAttachment(world.cluster, {
      name: "backup-tool-1",
      node: "node-a",
      source: { volumeName: "pv-backup" },
    });
    await world.until("attached", () => world.ec2.volumeState(handle, instance) === "attached");
    deleteAttachment(world.cluster, "backup-tool-1");
    await world.until("gone", () => attachmentOf(world, "backup-tool-1") === undefined);
    expect(world.ec2.volumeState(handle, instance)).toBe("none");
  });
});

describe("a detach that EC2 does not finish", () => {
  it("turns busy on a live mount, fails, and is done once the guest has unmounted", async () => {
    const world = await makeDatabase();
    deleteAttachment(world.cluster, world.attachment);
    await world.until("error", () => attachmentOf(world, world.attachment)?.detachError !== undefined);
    expect(world.ec2.volumeState(world.handle, world.instance)).toBe("busy");
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
  });

  it("lets kube-controller-manager try elsewhere at once, and EC2 refuses that (I3)", async () => {
    const world = await makeDatabase();
    world.ec2.volumes.stickDetach(world.handle);
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.until("tried", () => attachmentOf(world, world.attachmentElsewhere) !== undefined);
    expect(attachmentOf(world, world.attachment)).toMatchObject({ deleting: true });
    await world.run(60_000);
    expect(world.cluster.api.attachments.require(world.attachmentElsewhere).status).toMatchObject({
      attached: false,
      attachError: expect.stringContaining("already attached"),
    });
    world.ec2.volumes.freeDetach(world.handle);
    await world.until("moved", () => podOf(world, "db-0")?.phase === "Running");
    expect(podOf(world, "db-0")?.nodeName).toBe(world.other);
  });
});
