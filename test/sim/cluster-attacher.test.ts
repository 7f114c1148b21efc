import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { CSI_CONTROLLER, addCsiController, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import { SeededFaults } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import {
  attachmentOf,
  cordon,
  evictPod,
  forceDelete,
  makeDatabase,
  makeWorld,
  podOf,
  uncordon,
  whenRunning,
  START,
} from "./cluster-world.ts";

interface Scene extends ClusterWorld {
  readonly node: string;
  /** The leader's pod, on the same node. */
  readonly leader: string;
}

/** The CSI controller's two pods on two nodes, and a database beside the leader. */
async function makeScene(): Promise<Scene> {
  const world = makeWorld();
  await world.addNode("a");
  await world.addNode("b");
  addCsiController(world.cluster);
  const controllers = () => world.cluster.pods().filter((pod) => pod.controller?.name === CSI_CONTROLLER);
  await world.until("both run", () => controllers().filter(({ phase }) => phase === "Running").length === 2);
  const leader =
    world.happenings.findLast(({ text }) => text.endsWith(" leads"))?.text.replace(" leads", "") ?? "";
  const leads = podOf(world, leader)?.nodeName;
  const other = leads === "node-a" ? "node-b" : "node-a";
  cordon(world, other);
  addStatefulSet(world.cluster, { name: "db" });
  const node = await whenRunning(world, "db-0");
  expect(node).toBe(leads);
  uncordon(world, other);
  return { ...world, node, leader };
}

async function timeDetach(scene: Scene): Promise<number> {
  const asked = await scene.until("asked for", () =>
    scene.cluster.attachments().some(({ deleting }) => deleting),
  );
  expect(asked).toBeGreaterThan(0);
  return scene.until("gone", () =>
    scene.cluster.attachments().every(({ nodeName }) => nodeName !== scene.node),
  );
}

describe("the CSI controller's leader", () => {
  it("delays every detach by its lease where it ends after the workloads (C33)", async () => {
    const scene = await makeScene();
    cordon(scene, scene.node);
    evictPod(scene, "db-0");
    await scene.until("asked for", () => scene.cluster.attachments().some(({ deleting }) => deleting));
    forceDelete(scene, scene.leader, "kube-system");
    const uidGone = await scene.until("leader gone", () =>
      scene.happenings.some(({ text }) => text === "leader gone"),
    );
    expect(uidGone).toBeLessThanOrEqual(2_000);
    const took = await scene.until("gone", () =>
      scene.cluster.attachments().every(({ nodeName }) => nodeName !== scene.node),
    );
    expect(took).toBeGreaterThanOrEqual(8_000);
    expect(took).toBeLessThanOrEqual(25_000);
  });

  it("delays nothing where it is evicted first and the lease has moved by then", async () => {
    const scene = await makeScene();
    cordon(scene, scene.node);
    evictPod(scene, scene.leader, "kube-system");
    await scene.run(25_000);
    evictPod(scene, "db-0");
    expect(await timeDetach(scene)).toBeLessThanOrEqual(6_000);
  });

  it("is succeeded by a pod of another node when its machine dies", async () => {
    const scene = await makeScene();
    const leaders = () => scene.happenings.filter(({ text }) => text.endsWith(" leads")).length;
    const before = leaders();
    scene.ec2.terminateInstance(scene.cluster.kubeletOf(scene.node)?.options.instance ?? "");
    const took = await scene.until("another leads", () => leaders() > before);
    expect(took).toBeGreaterThanOrEqual(10_000);
    expect(took).toBeLessThanOrEqual(25_000);
  });
});

describe("the attacher", () => {
  it("tries again with back-off what EC2 refuses, and says so in the attachment", async () => {
    const faults = new SeededFaults(new VirtualClock(START), new Random(1));
    faults.plan("csi.attachVolume", { kind: "fail", failure: "throttled" }, 3);
    const world = makeWorld({ cluster: { faults } });
    await world.addNode("a");
    const errors: string[] = [];
    world.cluster.api.attachments.watch(({ status }) => {
      if (status.attachError !== undefined && !status.attached) errors.push(status.attachError);
    });
    addStatefulSet(world.cluster, { name: "db" });
    await whenRunning(world, "db-0");
    expect(errors).toEqual(Array.from({ length: 3 }, () => "csi.attachVolume: throttled"));
    expect(world.cluster.api.attachments.list()[0]?.status).toEqual({ attached: true });
  });

  it("does what it was asked even where the answer was lost", async () => {
    const faults = new SeededFaults(new VirtualClock(START), new Random(1), {
      rates: [{ operations: "csi.", lostAnswer: 1 }],
    });
    const world = await makeDatabase({ cluster: { faults } });
    cordon(world, world.node);
    evictPod(world, "db-0");
    await world.until("gone", () => attachmentOf(world, world.attachment) === undefined);
    expect(await whenRunning(world, "db-0")).toBe(world.other);
  });
});
