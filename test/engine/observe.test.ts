import { describe, expect, it } from "vitest";
import { type Memory, initialMemory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import type { Task } from "../../lib/drain/task.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import { observe } from "../../lib/engine/observe.ts";
import {
  INSTANCE,
  LAUNCHED,
  NODE,
  NOW,
  OTHER_INSTANCE,
  attachment,
  ec2Attachment,
  goneTask,
  instance,
  lifecycleTask,
  memory,
  node,
  pod,
  policy,
  untouchedNode,
} from "../drain/observation-builder.ts";
import { SmallWorld } from "./small-world.ts";

const NAME = attachmentName("vol-1", EBS_DRIVER, NODE);

/** A first look's observation unless `remembered` says more. */
function see(world: SmallWorld, task: Task = lifecycleTask(), remembered?: Memory): Promise<Observation> {
  return observe(task, remembered ?? initialMemory(NOW), policy(), world.ports);
}

/** A world in which three looks have been made: the Node is known and cordoned. */
function known(differs: Partial<Memory> = {}): { readonly world: SmallWorld; readonly remembered: Memory } {
  const world = new SmallWorld();
  world.nodes.set(NODE, node());
  return { world, remembered: memory(differs) };
}

describe("finding the Node (C10)", () => {
  it("asks for EC2's private DNS name first, and lists nothing", async () => {
    const world = new SmallWorld();
    const seen = await see(world);
    expect(seen.node).toMatchObject({ kind: "read", value: { name: NODE } });
    expect(world.counts()).toMatchObject({ "kubernetes.getNode": 1 });
    expect(world.counts()).not.toHaveProperty("kubernetes.listNodes");
  });

  it("never takes a Node for the machine's because of its name", async () => {
    const world = new SmallWorld();
    world.changeNode(() => ({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` }));
    expect((await see(world)).node).toEqual({ kind: "read", value: null });
  });

  it("lists the Nodes where EC2 has no name, and finds one of any name by its provider id", async () => {
    const world = new SmallWorld();
    world.machine = instance({ privateDnsName: "" });
    world.nodes.set(NODE, untouchedNode({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` }));
    world.nodes.set("custom-7", untouchedNode({ name: "custom-7" }));
    const seen = await see(world);
    expect(seen.node).toMatchObject({ value: { name: "custom-7" } });
    expect(world.counts()).not.toHaveProperty("kubernetes.getNode");
  });

  it("lists them too where the name leads nowhere, at the second look of a machine that had time to join", async () => {
    const world = new SmallWorld();
    world.nodes.clear();
    world.nodes.set("custom-7", untouchedNode({ name: "custom-7" }));
    const first = { ...initialMemory(NOW), dnsName: NODE, machineSeen: true };
    expect((await see(world, lifecycleTask(), first)).node).toEqual({ kind: "read", value: null });
    expect((await see(world, lifecycleTask(), { ...first, lookups: 1 })).node).toMatchObject({
      value: { name: "custom-7" },
    });
    const spent = await see(world, lifecycleTask(), { ...first, lookups: 2, nodesListed: true });
    expect(spent.node).toEqual({ kind: "read", value: null });
    expect(world.counts()["kubernetes.listNodes"]).toBe(1);
  });

  it("lists no Nodes for a Node that it knows and that has vanished (C8)", async () => {
    const { world, remembered } = known();
    world.nodes.clear();
    await see(world, lifecycleTask(), remembered);
    expect(world.counts()).not.toHaveProperty("kubernetes.listNodes");
  });

  it("does not spend the list on a machine that may still be booting", async () => {
    const world = new SmallWorld();
    world.nodes.clear();
    const launchTime = NOW - 30 * SECOND;
    const early = { ...initialMemory(NOW), dnsName: NODE, machineSeen: true, lookups: 4 };
    await see(world, lifecycleTask({ launchTime }), early);
    expect(world.counts()).not.toHaveProperty("kubernetes.listNodes");
  });

  it("asks under EC2's name again and again, although EC2 is asked once: a late Node is found (D4)", async () => {
    const world = new SmallWorld();
    const waiting = {
      ...initialMemory(NOW),
      dnsName: NODE,
      machineSeen: true,
      lookups: 3,
      nodesListed: true,
    };
    expect((await see(world, lifecycleTask(), waiting)).node).toMatchObject({ value: { name: NODE } });
  });

  it("is not 'not found' where EC2 or Kubernetes did not answer", async () => {
    const world = new SmallWorld();
    world.failing.set("ec2.describeInstance", "throttled");
    expect((await see(world)).node).toMatchObject({ kind: "failed", failure: { cause: "throttled" } });
    const other = new SmallWorld();
    other.failing.set("kubernetes.getNode", "forbidden");
    expect((await see(other)).node).toMatchObject({ kind: "failed", failure: { cause: "forbidden" } });
  });
});

describe("what a look reads", () => {
  it("is everything at the start: machine, Node, CSINode, pods, their volumes, EC2's side", async () => {
    const world = new SmallWorld();
    world.pods = [pod("database", { claims: ["data"] })];
    world.attach("vol-1", "data");
    const seen = await see(world);
    expect(seen).toMatchObject({
      instance: { kind: "read", value: { id: INSTANCE } },
      csiNode: { kind: "read" },
      pods: { value: [{ name: "database" }] },
      attachments: { value: [{ name: NAME, volumeName: "pv-of-vol-1" }] },
      claims: { "shop/data": { volumeName: "pv-of-vol-1", handle: "vol-1", driver: EBS_DRIVER } },
      volumes: { "pv-of-vol-1": { handle: "vol-1" } },
      ec2Volumes: { kind: "read" },
      rows: UNREAD,
      lease: UNREAD,
      others: UNREAD,
    });
  });

  it("is one Node, its pods and attachments by name later on (I11)", async () => {
    const { world, remembered } = known({ attachments: [NAME] });
    world.pods = [pod("web")];
    const seen = await see(world, lifecycleTask(), remembered);
    expect(seen.calls).toEqual({
      "kubernetes.getNode": 1,
      "kubernetes.listPodsOnNode": 1,
      "kubernetes.getAttachment": 1,
    });
    expect(world.counts()).toEqual(seen.calls);
  });

  it("finds an attachment of what only the kubelet lists any more", async () => {
    const { world, remembered } = known();
    world.attach("vol-1", "data");
    expect((await see(world, lifecycleTask(), remembered)).attachments).toMatchObject({
      value: [{ name: NAME }],
    });
  });

  it("resolves a claim and its PersistentVolume once per work", async () => {
    const { world, remembered } = known();
    world.pods = [pod("database", { claims: ["data"] })];
    world.attach("vol-1", "data");
    const first = await see(world, lifecycleTask(), remembered);
    expect(world.counts()).toMatchObject({ "kubernetes.getClaim": 1, "kubernetes.getVolume": 1 });
    const since = world.calls.length;
    await see(world, lifecycleTask(), { ...remembered, claims: first.claims, volumes: first.volumes });
    expect(world.counts(since)).not.toHaveProperty("kubernetes.getClaim");
    expect(world.counts(since)).not.toHaveProperty("kubernetes.getVolume");
  });

  it.each(["kubernetes.getClaim", "kubernetes.getVolume", "kubernetes.getAttachment"])(
    "has no attachments where %s fails: what is not known is not absent",
    async (method) => {
      const { world, remembered } = known();
      world.pods = [pod("database", { claims: ["data"] })];
      world.attach("vol-1", "data");
      world.failing.set(method, "server");
      expect((await see(world, lifecycleTask(), remembered)).attachments).toMatchObject({ kind: "failed" });
    },
  );

  it("looks for the attachment of every volume ever attached here while two looks agree", async () => {
    const { world, remembered } = known({ handles: ["vol-1"] });
    world.attach("vol-1", "data");
    world.changeNode(() => ({ volumesInUse: [] }));
    expect((await see(world, lifecycleTask(), remembered)).attachments).toEqual({ kind: "read", value: [] });
    const agreeing = await see(world, lifecycleTask(), { ...remembered, agreed: "D12" });
    expect(agreeing.attachments).toMatchObject({ value: [{ name: NAME }] });
  });

  it("asks EC2 for no volumes once the action is over (I12)", async () => {
    const { world, remembered } = known({ action: "over", agreed: "D12" });
    const seen = await see(world, lifecycleTask(), remembered);
    expect(seen.ec2Volumes).toEqual(UNREAD);
    expect(seen.member).toMatchObject({ kind: "read" });
  });

  it("asks where a volume is that Kubernetes has attached here and EC2 has not: moved or leaked (D11)", async () => {
    const { world, remembered } = known({ agreed: "D12", handles: ["vol-1"], attachments: [NAME] });
    world.attach("vol-1", "data");
    world.disks = [];
    world.changeNode(() => ({ volumesInUse: [] }));
    world.elsewhere = [{ volumeId: "vol-1", instances: [OTHER_INSTANCE] }];
    const seen = await see(world, lifecycleTask(), remembered);
    expect(seen.elsewhere).toMatchObject({ value: [{ instances: [OTHER_INSTANCE] }] });
  });

  it("looks at the other Nodes when this kubelet has been silent for too long, at most once a minute (D13)", async () => {
    const since = NOW - 181 * SECOND;
    const { world, remembered } = known();
    world.changeNode(() => ({ ready: { status: "Unknown", reason: "", message: "", since } }));
    world.nodes.set("healthy", untouchedNode({ name: "healthy", providerId: "aws:///z/i-0" }));
    expect((await see(world, lifecycleTask(), remembered)).others).toEqual({
      kind: "read",
      value: { total: 1, unknown: 0 },
    });
    const others = { total: 1, unknown: 0, at: NOW - 59 * SECOND };
    expect((await see(world, lifecycleTask(), { ...remembered, others })).others).toEqual(UNREAD);
  });

  it("verifies a new boot of the Node, and no boot of another machine's (D5)", async () => {
    const { world, remembered } = known();
    world.changeNode(() => ({ bootId: "boot-2" }));
    expect((await see(world, lifecycleTask(), remembered)).calls).toMatchObject({
      "kubernetes.getCsiNode": 1,
      "ec2.describeInstance": 1,
    });
    world.changeNode(() => ({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` }));
    expect((await see(world, lifecycleTask(), remembered)).calls).not.toHaveProperty("kubernetes.getCsiNode");
  });

  it("throws what is no port's failure", async () => {
    const world = new SmallWorld();
    const broken = { ...world.ports.cluster, getNode: () => Promise.reject(new RangeError("a bug")) };
    const ports = { ...world.ports, cluster: broken };
    await expect(observe(lifecycleTask(), initialMemory(NOW), policy(), ports)).rejects.toThrow("a bug");
  });
});

describe("the cluster's list of attachments (I11)", () => {
  const free = { count: 0, at: 0, foundNew: false };
  const lists = async (differs: Partial<Memory>): Promise<boolean> => {
    const { world, remembered } = known(differs);
    return (await see(world, lifecycleTask(), remembered)).rows.kind === "read";
  };

  it.each<[string, Partial<Memory>, boolean]>([
    ["once the cordon stands", { lists: free }, true],
    ["not a second time by itself", { lists: { ...free, count: 1, at: NOW } }, false],
    ["once more to confirm", { lists: { ...free, count: 1, at: NOW }, agreed: "D12" }, true],
    [
      "not again where that found nothing new",
      { lists: { ...free, count: 2, at: NOW - MINUTE }, agreed: "D12" },
      false,
    ],
    [
      "again where it did, after a minute",
      { lists: { count: 2, at: NOW - MINUTE, foundNew: true }, agreed: "D12" },
      true,
    ],
    ["and not earlier", { lists: { count: 2, at: NOW - 59 * SECOND, foundNew: true }, agreed: "D12" }, false],
    [
      "not at once where it failed",
      { lists: { ...free, count: 1, at: 0, failedAt: NOW - 9 * SECOND }, agreed: "D12" },
      false,
    ],
  ])("%s", async (_what, differs, expected) => {
    expect(await lists(differs)).toBe(expected);
  });

  it("not before the cordon: the Node's own volumes lead to the names", async () => {
    expect((await see(new SmallWorld())).rows).toEqual(UNREAD);
  });

  it("shows attachments of this node that no name led to, and reads each of them", async () => {
    const { world, remembered } = known({ lists: free });
    world.attachments.push(
      { ...attachment("vol-7", { name: "free-name" }), nodeId: INSTANCE },
      { ...attachment("vol-8", { name: "elsewhere", nodeName: "other-node" }), nodeId: OTHER_INSTANCE },
    );
    world.volumes.set("pv-of-vol-7", { name: "pv-of-vol-7", driver: EBS_DRIVER, handle: "vol-7" });
    const seen = await see(world, lifecycleTask(), remembered);
    expect(seen.rows).toMatchObject({ value: [{ name: "free-name" }] });
    expect(seen.attachments).toMatchObject({ value: [{ name: "free-name" }] });
    expect(seen.volumes).toMatchObject({ "pv-of-vol-7": { handle: "vol-7" } });
    expect(world.calls.filter(({ about }) => about === "elsewhere")).toEqual([]);
  });
});

describe("a machine that may be dead (D14)", () => {
  function dead(): SmallWorld {
    const world = new SmallWorld();
    world.machine = instance({ state: "terminated", privateDnsName: "" });
    world.pods = [pod("database", { claims: ["data"] })];
    world.attach("vol-1", "data");
    return world;
  }

  it("is read in the order of the proof: pods, then EC2, then Node, CSINode and Lease", async () => {
    const world = dead();
    await see(world, goneTask());
    const order = world.calls.map(({ method }) => method);
    const at = (method: string): number => order.indexOf(method);
    expect(order[0]).toBe("kubernetes.listAttachmentRows");
    expect(at("kubernetes.listPodsOnNode")).toBeLessThan(at("ec2.describeInstance"));
    for (const later of ["kubernetes.getNode", "kubernetes.getCsiNode", "kubernetes.getLease"]) {
      expect(at("ec2.describeInstance")).toBeLessThan(at(later));
    }
  });

  it("is found by the node id that its attachments carry", async () => {
    const seen = await see(dead(), goneTask());
    expect(seen.rows).toMatchObject({ value: [{ name: NAME, nodeId: INSTANCE }] });
    expect(seen.node).toMatchObject({ value: { name: NODE } });
  });

  it("has no Node and nothing left where no attachment carries its id", async () => {
    const world = dead();
    world.attachments = [];
    const seen = await see(world, goneTask());
    expect(seen).toMatchObject({ node: { value: null }, attachments: { value: [] }, pods: { value: [] } });
  });

  it("is not 'nothing left' while the first list has not been answered, however often it was asked", async () => {
    const world = dead();
    world.failing.set("kubernetes.listAttachmentRows", "throttled");
    expect((await see(world, goneTask())).attachments).toMatchObject({ kind: "failed" });
    const again = { ...initialMemory(NOW), lists: { count: 0, at: 0, foundNew: false, failedAt: NOW } };
    expect((await see(world, goneTask(), again)).attachments).toMatchObject({ kind: "failed" });
  });

  it("notes when EC2 was asked and when the Lease was there, not when the look began", async () => {
    const world = dead();
    const { describeInstance } = world.ports.ec2;
    const { getLease } = world.ports.cluster;
    const slow = <T>(seconds: number, answer: Promise<T>): Promise<T> => {
      world.pass(seconds);
      return answer;
    };
    const ports = {
      ...world.ports,
      ec2: { ...world.ports.ec2, describeInstance: (id: string) => slow(2, describeInstance(id)) },
      cluster: { ...world.ports.cluster, getLease: (name: string) => slow(4, getLease(name)) },
    };
    const seen = await observe(goneTask(), initialMemory(NOW), policy(), ports);
    expect(seen).toMatchObject({ at: NOW, ec2At: NOW, leaseAt: NOW + 6 * SECOND });
  });

  it("is asked for hibernation where it is stopped, and EC2 for volumes only after the taint had its minute", async () => {
    const world = dead();
    world.machine = instance({ state: "stopped", launchTime: LAUNCHED });
    const seen = await see(world, goneTask());
    expect(seen.member).toMatchObject({ kind: "read" });
    expect(seen.ec2Volumes).toEqual(UNREAD);
    world.disks = [ec2Attachment("vol-1")];
    const later = await see(world, goneTask(), { ...initialMemory(NOW), taintedAt: NOW - MINUTE });
    expect(later.ec2Volumes).toMatchObject({ kind: "read" });
  });
});
