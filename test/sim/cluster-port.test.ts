import { describe, expect, it } from "vitest";
import type { NodeEvent, PodRef } from "../../lib/engine/ports.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type { SimulatedClusterPort } from "../../lib/sim/cluster-port.ts";
import { simulatedClusterPort } from "../../lib/sim/cluster-port.ts";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import { SeededFaults } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";
import type { ClusterWorld, Database } from "./cluster-world.ts";
import { attachmentOf, makeDatabase, makeWorld, nodeOf, podOf, whenRunning } from "./cluster-world.ts";

interface Scene extends Database {
  readonly port: SimulatedClusterPort;
  readonly faults: SeededFaults;
  readonly pod: PodRef;
  /** Runs the caller's code in the world until it ends; its outcome. */
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>;
}

async function makeScene(): Promise<Scene> {
  const world = await makeDatabase();
  const faults = new SeededFaults(world.clock, new Random(7));
  const port = simulatedClusterPort(world.cluster, world.clock, faults);
  const pod = { namespace: "default", name: "db-0", uid: podOf(world, "db-0")?.uid ?? "" };
  return { ...world, port, faults, pod, ask: (work) => ask(world, work) };
}

async function ask<T>({ clock }: ClusterWorld, work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const answer = clock.actor("caller", work);
  const settled = answer.then(
    () => (isDone = true),
    () => (isDone = true),
  );
  await clock.advance(clock.now() + 60_000, () => isDone);
  await settled;
  return answer;
}

function kindOf(reason: unknown): string {
  if (reason instanceof PortError) return reason.kind;
  throw reason;
}

describe("the simulated cluster's port", () => {
  it("counts its requests by method", async () => {
    const { port, ask, node } = await makeScene();
    await ask(() => port.getNode(node));
    await ask(() => port.getNode("absent"));
    await ask(() => port.listPodsOnNode(node));
    expect(port.calls()).toEqual({ getNode: 2, listPodsOnNode: 1 });
  });

  it("takes half of a call's time to the server and half back", async () => {
    const { port, ask, clock, pod } = await makeScene();
    const from = clock.now();
    await ask(() => port.evictPod(pod));
    expect(clock.now() - from).toBe(20);
    expect(port.changes).toMatchObject([{ method: "evictPod", askedAt: from, at: from + 10 }]);
  });

  it("keeps a record of every change: whose pod it was, where, and whether a budget was violated (I4, I5)", async () => {
    const world = makeWorld();
    await world.addNode("a");
    addStatefulSet(world.cluster, { name: "db", budget: { maxUnavailable: 0 } });
    await whenRunning(world, "db-0");
    const port = simulatedClusterPort(
      world.cluster,
      world.clock,
      new SeededFaults(world.clock, new Random(1)),
    );
    const pod = { namespace: "default", name: "db-0", uid: podOf(world, "db-0")?.uid ?? "" };
    expect(await ask(world, () => port.evictPod(pod).catch(kindOf))).toBe("disruption-budget");
    await ask(world, () => port.deletePod(pod));
    expect(await ask(world, () => port.deletePod({ ...pod, uid: "another" }).catch(kindOf))).toBe("conflict");
    const known = { node: "node-a", kubeletLives: true };
    expect(port.changes).toMatchObject([
      {
        ...known,
        method: "evictPod",
        pod,
        outcome: "disruption-budget",
        violates: ["db"],
        wasDeleting: false,
      },
      { ...known, method: "deletePod", pod, outcome: "done", violates: ["db"] },
      { method: "deletePod", outcome: "conflict" },
    ]);
    expect(port.changes[2]).not.toHaveProperty("node");
  });

  it("records patches with what they were, and whether a kubelet lives there (I9)", async () => {
    const { port, ask, node } = await makeScene();
    const patch = [{ op: "add" as const, path: "/spec/unschedulable", value: true }];
    const view = await ask(() => port.patchNode(node, patch));
    expect(view.unschedulable).toBe(true);
    expect(port.changes).toMatchObject([
      { method: "patchNode", node, patch, kubeletLives: true, outcome: "done" },
    ]);
  });

  it("keeps an Event once, however often it is recorded", async () => {
    const { port, ask, node, clock, cluster } = await makeScene();
    const event: NodeEvent = {
      node,
      nodeUid: "u",
      type: "Normal",
      reason: "DrainStarted",
      message: "m",
      at: clock.now(),
    };
    await ask(() => port.recordEvent(event));
    await ask(() => port.recordEvent(event));
    expect(cluster.api.events).toMatchObject([{ node, reason: "DrainStarted", component: "ebs-drain" }]);
    expect(port.changes).toHaveLength(2);
  });

  it("does nothing where a fault keeps the request from the server, and does it where only the answer is lost", async () => {
    const scene = await makeScene();
    const { port, faults, pod } = scene;
    faults.plan("kubernetes.evictPod", { kind: "fail", failure: "throttled" });
    expect(await scene.ask(() => port.evictPod(pod).catch(kindOf))).toBe("throttled");
    expect(podOf(scene, "db-0")?.deleting).toBe(false);
    expect(port.changes).toEqual([]);
    faults.plan("kubernetes.evictPod", { kind: "lost-answer" });
    expect(await scene.ask(() => port.evictPod(pod).catch(kindOf))).toBe("network");
    expect(port.changes).toMatchObject([{ method: "evictPod", outcome: "done" }]);
  });

  it("fails a pod of a dead machine so that the volume is let go although a finalizer keeps the object (D14)", async () => {
    const scene = await makeScene();
    const { port, pod } = scene;
    scene.cluster.api.pods.require("db-0", "default").metadata.finalizers = ["example.com/keep"];
    scene.ec2.terminateInstance(scene.instance);
    await scene.until("terminated", () => scene.ec2.instance(scene.instance)?.state === "terminated");
    const taint = { key: "node.kubernetes.io/out-of-service", value: "w", effect: "NoExecute" };
    await scene.ask(() => port.patchNode(scene.node, [{ op: "add", path: "/spec/taints", value: [taint] }]));
    await scene.ask(() => port.failPod(pod, "instance is terminated", scene.clock.now()));
    await scene.ask(() => port.deletePod(pod, 0));
    await scene.until("gone", () => attachmentOf(scene, scene.attachment) === undefined, 10_000);
    expect(podOf(scene, "db-0")).toMatchObject({ phase: "Failed", deleting: true });
    expect(port.changes.at(-1)).toMatchObject({ kubeletLives: false });
  });
});

describe("an API server that is away", () => {
  it("answers nobody and changes nothing, and every controller goes on when it is back (C17)", async () => {
    const scene = await makeScene();
    const { port, ask, cluster, pod } = scene;
    await ask(() => port.evictPod(pod));
    cluster.killApiServer(300_000);
    expect(await ask(() => port.getNode(scene.node).catch(kindOf))).toBe("network");
    const { resourceVersion } = nodeOf(scene, scene.node);
    await scene.run(290_000 - 60_000);
    expect(nodeOf(scene, scene.node).resourceVersion).toBe(resourceVersion);
    expect(podOf(scene, "db-0")).toMatchObject({ uid: pod.uid });
    await scene.run(90_000);
    expect(podOf(scene, "db-0")?.uid).not.toBe(pod.uid);
    expect(scene.cluster.nodes().map(({ ready }) => ready.status)).toEqual(["True", "True"]);
  });

  it("only for its clients leaves the cluster at work", async () => {
    const scene = await makeScene();
    await scene.ask(() => scene.port.evictPod(scene.pod));
    scene.cluster.killApiServer(120_000, { clientsOnly: true });
    await scene.run(60_000);
    expect(podOf(scene, "db-0")?.uid).not.toBe(scene.pod.uid);
    expect(await scene.ask(() => scene.port.listNodes().catch(kindOf))).toBe("network");
    await scene.run(60_000);
    expect(await scene.ask(() => scene.port.listNodes())).toHaveLength(2);
  });
});
