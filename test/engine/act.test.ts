import { describe, expect, it } from "vitest";
import type { Action, Eviction } from "../../lib/drain/decision.ts";
import { cordonPatch, outOfServicePatch, workPatch } from "../../lib/drain/node-patch.ts";
import type { ActionResult } from "../../lib/drain/results.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { readWork } from "../../lib/drain/work-order.ts";
import { act } from "../../lib/engine/act.ts";
import type { FailureKind } from "../../lib/engine/errors.ts";
import {
  INSTANCE,
  NODE,
  NOW,
  deadMachine,
  goneTask,
  hookPod,
  lifecycleTask,
  node,
  observation,
  pod,
  read,
  tokenlessTask,
  untouchedNode,
  work,
} from "../drain/observation-builder.ts";
import { SmallWorld } from "./small-world.ts";

const CORDON: Action = {
  kind: "patch-node",
  purpose: "cordon",
  patch: cordonPatch(untouchedNode(), work(lifecycleTask())),
};
const BEAT: Action = { kind: "heartbeat" };
const COMPLETE: Action = { kind: "complete", result: "CONTINUE" };
const event = (reason: Extract<Action, { kind: "event" }>["reason"]): Action => ({
  kind: "event",
  reason,
  detail: "",
  type: "Normal",
  message: reason,
});
const metric = (name: Extract<Action, { kind: "metric" }>["name"]): Action => ({
  kind: "metric",
  name,
  value: 1,
});

function eviction(name: string): Eviction {
  return { namespace: "shop", name, uid: `uid-of-${name}` };
}

function evict(...groups: readonly (readonly string[])[]): Action {
  return { kind: "evict", groups: groups.map((group) => group.map(eviction)) };
}

function worldOf(...pods: readonly string[]): SmallWorld {
  const world = new SmallWorld();
  world.pods = pods.map((name) => pod(name));
  return world;
}

const outcome = (results: readonly ActionResult[]): readonly string[] =>
  results.map(({ action, failure, skipped }) =>
    skipped === true ? `${action.kind} skipped` : `${action.kind} ${failure?.cause ?? "done"}`,
  );

describe("the order of a decision's actions", () => {
  it("is kept: cordon, beat, evictions (C14)", async () => {
    const world = worldOf("web");
    await act(observation(), [CORDON, BEAT, evict(["web"])], world.ports);
    expect(world.changes()).toEqual([`patchNode ${NODE}`, "heartbeat token-1", "evictPod shop/web"]);
  });

  it("leaves out what needs the cordon where the cordon failed, and beats all the same (D5, D6)", async () => {
    const world = worldOf("web");
    world.failing.set("kubernetes.patchNode", "conflict");
    const actions = [
      CORDON,
      event("DrainStarted"),
      BEAT,
      evict(["web"]),
      { kind: "delete-pods", pods: [eviction("web")] } as const,
    ];
    expect(outcome(await act(observation(), actions, world.ports))).toEqual([
      "patch-node conflict",
      "event skipped",
      "heartbeat done",
      "evict skipped",
      "delete-pods skipped",
    ]);
    expect(world.changes()).toEqual([`patchNode ${NODE}`, "heartbeat token-1"]);
  });

  it("evicts although the list of what to ignore could not be written", async () => {
    const world = worldOf("web");
    world.failing.set("kubernetes.patchNode", "server");
    const ignore: Action = { kind: "patch-node", purpose: "ignore", patch: [] };
    expect(outcome(await act(observation(), [ignore, evict(["web"])], world.ports))).toEqual([
      "patch-node server",
      "evict done",
    ]);
  });

  it.each<FailureKind>(["throttled", "network", "no-active-action"])(
    "tells of no completion that was none: %s",
    async (kind) => {
      const world = new SmallWorld();
      world.failing.set("autoScaling.complete", kind);
      const actions = [COMPLETE, event("DrainCompleted"), metric("DrainsCompleted"), metric("DrainSeconds")];
      await act(observation(), actions, world.ports);
      expect(world.events).toEqual([]);
      expect(world.metrics).toEqual([]);
    },
  );

  it("tells of no hand-over and no taint that was none", async () => {
    const world = new SmallWorld();
    world.failing.set("kubernetes.patchNode", "forbidden");
    const handOver: Action = {
      kind: "hand-over",
      patch: workPatch(node(), work(lifecycleTask())),
      pod: hookPod(),
    };
    await act(observation(), [handOver, event("HandedOff")], world.ports);
    const force: Action = { kind: "force-off", pods: [], patch: [], notAfter: NOW };
    await act(deadMachine(), [force, event("OutOfService"), metric("OutOfService")], world.ports);
    expect(world.events).toEqual([]);
    expect(world.metrics).toEqual([]);
  });

  it("announces the deadline and what blocks whatever else fails (D13)", async () => {
    const world = new SmallWorld();
    world.failing.set("kubernetes.patchNode", "forbidden");
    await act(
      observation(),
      [CORDON, event("EvictionBlocked"), event("DrainDeadlineNear"), metric("DeadlinesNear")],
      world.ports,
    );
    expect(world.events.map(({ reason }) => reason)).toEqual(["EvictionBlocked", "DrainDeadlineNear"]);
    expect(world.metrics).toEqual(["DeadlinesNear"]);
  });

  it("throws what is no port's failure: a bug is not an observation", async () => {
    const world = new SmallWorld();
    const ports = {
      ...world.ports,
      autoScaling: { ...world.ports.autoScaling, heartbeat: () => Promise.reject(new RangeError("a bug")) },
    };
    await expect(act(observation(), [BEAT], ports)).rejects.toThrow("a bug");
    await expect(act(deadMachine(), [BEAT], world.ports)).rejects.toThrow(
      "gone work has no lifecycle action",
    );
  });
});

describe("D2: the lifecycle action", () => {
  it("is beaten and completed by its token", async () => {
    const world = new SmallWorld();
    await act(observation(), [BEAT, COMPLETE], world.ports);
    expect(world.changes()).toEqual(["heartbeat token-1", "complete CONTINUE token-1"]);
  });

  it("is named by the instance only in the sweep's own work", async () => {
    const world = new SmallWorld();
    await act(observation({ task: tokenlessTask() }), [COMPLETE], world.ports);
    expect(world.changes()).toEqual([`complete CONTINUE ${INSTANCE}`]);
  });
});

describe("D7: evictions", () => {
  it("go group by group", async () => {
    const world = worldOf("csi", "database", "web");
    await act(observation(), [evict(["csi"], ["database"], ["web"])], world.ports);
    expect(world.changes()).toEqual(["evictPod shop/csi", "evictPod shop/database", "evictPod shop/web"]);
  });

  it.each<[FailureKind, object]>([
    ["not-found", { outcome: "gone" }],
    ["conflict", { outcome: "gone" }],
    ["namespace-terminating", { outcome: "left" }],
    ["disruption-budget", { outcome: "budget", budget: "shop/web-pdb" }],
    ["throttled", { outcome: "failed" }],
    ["server", { outcome: "failed" }],
    ["network", { outcome: "failed" }],
    ["unauthenticated", { outcome: "failed" }],
    ["forbidden", { outcome: "failed" }],
  ])("answered with %s end as %o", async (kind, expected) => {
    const world = worldOf("web");
    world.refusing.set("uid-of-web", kind);
    const [result] = await act(observation(), [evict(["web"])], world.ports);
    expect(result?.evictions).toEqual({ "uid-of-web": expected });
  });

  it("never touch a successor of the same name (I4)", async () => {
    const world = worldOf();
    world.pods = [pod("web", { uid: "the successor" })];
    const [result] = await act(observation(), [evict(["web"])], world.ports);
    expect(result?.evictions).toEqual({ "uid-of-web": { outcome: "gone" } });
    expect(world.pods[0]?.deleting).toBe(false);
  });

  it.each<FailureKind>(["throttled", "network"])(
    "stop for this look when the API answers %s",
    async (kind) => {
      const names = Array.from({ length: 25 }, (_, index) => `web-${index}`);
      const world = worldOf(...names, "last");
      world.refusing.set("uid-of-web-3", kind);
      const [result] = await act(observation(), [evict(names, ["last"])], world.ports);
      expect(result?.failure?.cause).toBe(kind);
      expect(world.counts()["kubernetes.evictPod"]).toBe(10);
      expect(result?.evictions).not.toHaveProperty("uid-of-web-10");
      expect(result?.evictions).not.toHaveProperty("uid-of-last");
    },
  );

  it("go on past a budget: another pod may not be protected", async () => {
    const world = worldOf("web", "api");
    world.refusing.set("uid-of-web", "disruption-budget");
    const [result] = await act(observation(), [evict(["web"], ["api"])], world.ports);
    expect(result?.evictions).toMatchObject({ "uid-of-api": { outcome: "accepted" } });
    expect(result?.failure).toBeUndefined();
  });

  it("carry a shorter grace where the decision gives one (D16)", async () => {
    const world = worldOf("web");
    const cut: Action = { kind: "evict", groups: [[{ ...eviction("web"), graceSeconds: 20 }]] };
    await act(observation(), [cut], world.ports);
    expect(world.changes()).toEqual(["evictPod shop/web 20"]);
  });
});

describe("D10: the hand-over", () => {
  const order = { ...work(lifecycleTask()), handedOver: hookPod().uid, token: "token-1" };
  const handOver: Action = { kind: "hand-over", patch: workPatch(node(), order), pod: hookPod() };

  function cordoned(): SmallWorld {
    const world = new SmallWorld();
    world.nodes.set(NODE, node());
    world.pods = [hookPod()];
    return world;
  }

  it("writes the order first and deletes the pod then, with its own grace", async () => {
    const world = cordoned();
    await act(observation(), [handOver], world.ports);
    expect(world.changes()).toEqual([`patchNode ${NODE}`, "deletePod kube-system/ebs-csi-node"]);
    expect(readWork(world.nodes.get(NODE)!)).toMatchObject({ work: { handedOver: hookPod().uid } });
  });

  it("deletes nothing where the order could not be written", async () => {
    const world = cordoned();
    world.changeNode(() => ({ uid: "another" }));
    expect(outcome(await act(observation(), [handOver], world.ports))).toEqual(["hand-over conflict"]);
    expect(world.changes()).toEqual([`patchNode ${NODE}`]);
  });

  it("is done where the pod is gone or its successor is there, which is left alone (C8)", async () => {
    const world = cordoned();
    world.pods = [hookPod({ uid: "the successor" })];
    expect(outcome(await act(observation(), [handOver], world.ports))).toEqual(["hand-over done"]);
    expect(world.pods[0]?.deleting).toBe(false);
  });
});

describe("D14: forcing a dead machine off", () => {
  const patch = outOfServicePatch(untouchedNode(), work(goneTask()), goneTask().id);
  const target = { namespace: "shop", name: "database", uid: "uid-of-database", finished: false };
  const force = (differs: object = {}): Action => ({
    kind: "force-off",
    pods: [target],
    patch,
    notAfter: NOW + 3 * SECOND,
    ...differs,
  });

  it("taints first, then fails and deletes each pod without grace", async () => {
    const world = worldOf("database");
    expect(outcome(await act(deadMachine(), [force()], world.ports))).toEqual(["force-off done"]);
    expect(world.changes()).toEqual([
      `patchNode ${NODE}`,
      "failPod shop/database",
      "deletePod shop/database 0",
    ]);
    expect(world.pods).toEqual([]);
    expect(world.nodes.get(NODE)).toMatchObject({ unschedulable: true, taints: [{ value: goneTask().id }] });
  });

  it("touches nothing once EC2's answer is older than three seconds", async () => {
    const world = worldOf("database");
    world.pass(3.1);
    expect(outcome(await act(deadMachine(), [force()], world.ports))).toEqual(["force-off conflict"]);
    expect(world.changes()).toEqual([]);
  });

  it.each<[string, (world: SmallWorld) => void]>([
    ["the Node is another one by now", (world) => world.changeNode(() => ({ uid: "another" }))],
    ["somebody changed the Node meanwhile", (world) => world.changeNode(() => ({ resourceVersion: "42" }))],
    ["the API refuses", (world) => world.failing.set("kubernetes.patchNode", "forbidden")],
  ])("touches no pod where the taint could not be set: %s", async (_why, disturb) => {
    const world = worldOf("database");
    disturb(world);
    await act(deadMachine(), [force()], world.ports);
    expect(world.changes()).toEqual([`patchNode ${NODE}`]);
  });

  it("leaves a successor of the same name alone (I4), and counts what is gone as done (C8)", async () => {
    const world = worldOf();
    world.pods = [pod("database", { uid: "the successor" })];
    expect(outcome(await act(deadMachine(), [force()], world.ports))).toEqual(["force-off done"]);
    expect(world.pods).toEqual([pod("database", { uid: "the successor" })]);
  });

  it("tells of a pod that could not be removed, after it has tried the others", async () => {
    const world = worldOf("database", "web");
    world.failing.set("kubernetes.failPod", "forbidden");
    const both = force({ pods: [target, eviction("web")] });
    expect(outcome(await act(deadMachine(), [both], world.ports))).toEqual(["force-off forbidden"]);
    expect(world.counts()["kubernetes.failPod"]).toBe(2);
  });
});

describe("an Event", () => {
  it("is written on the Node that was read, or on the one remembered", async () => {
    const world = new SmallWorld();
    const unread = observation({ node: { kind: "unread" } });
    await act(observation({ node: read(node()) }), [event("DrainStarted")], world.ports);
    await act(unread, [event("DrainCompleted")], world.ports);
    expect(world.events.map(({ reason }) => reason)).toEqual(["DrainStarted", "DrainCompleted"]);
  });

  it("is not written on another machine's Node of the name (I9)", async () => {
    const world = new SmallWorld();
    const theirs = node({ providerId: "aws:///eu-west-1a/i-0fedcba9876543210" });
    await act(observation({ node: read(theirs) }), [event("DrainDeadline")], world.ports);
    expect(world.events).toEqual([]);
  });

  it("is left to the log where there never was a Node", async () => {
    const world = new SmallWorld();
    const nowhere = observation({ node: read(null), memory: { node: { name: NODE, uid: "" } } });
    expect(outcome(await act(nowhere, [event("DrainStarted")], world.ports))).toEqual(["event done"]);
    expect(world.changes()).toEqual([]);
  });
});
