import { describe, expect, it } from "vitest";
import type { PodView, Toleration } from "../../lib/drain/cluster.ts";
import type { EvictionRecord, Memory } from "../../lib/drain/memory.ts";
import { classifyPods, controllerKey, evictionOrder, needsEviction } from "../../lib/drain/pods.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { NOW, daemonPod, hookPod, memory, pod } from "./observation-builder.ts";

const TOLERATES: readonly Toleration[] = [
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];

/** Its controller's pods were evicted once, and it came after the cordon. */
function comeback(differs: Partial<PodView> = {}): PodView {
  return pod("agent", {
    createdAt: NOW - 5 * SECOND,
    tolerations: TOLERATES,
    controller: { kind: "ReplicaSet", name: "agents" },
    ...differs,
  });
}

const { controller: _none, ...BARE } = pod("bare");
const EVICTED_ONCE: Partial<Memory> = { evictedControllers: ["shop/ReplicaSet/agents"] };

function evictable(pods: readonly PodView[], differs: Partial<Memory> = {}): readonly string[] {
  return classifyPods(pods, memory(differs)).evictable.map(({ name }) => name);
}

function staying(pods: readonly PodView[], differs: Partial<Memory> = {}): readonly string[] {
  return classifyPods(pods, memory(differs)).staying.map(({ name }) => name);
}

describe("D8: which pods have to go", () => {
  it.each<[string, PodView, boolean]>([
    ["a running pod goes", pod("web"), true],
    ["a bare pod goes", BARE, true],
    ["a pending pod goes: its volume may be attached already", pod("starting", { phase: "Pending" }), true],
    ["a pod whose kubelet is not heard of goes", pod("lost", { phase: "Unknown" }), true],
    ["a pod on its way out is waited for (D9)", pod("ending", { deleting: true }), true],
    ["a static pod's mirror stays", pod("proxy", { mirror: true }), false],
    ["a DaemonSet's pod stays", daemonPod("logs"), false],
    ["a succeeded pod is no pod to evict", pod("job", { phase: "Succeeded" }), false],
    ["a failed pod is no pod to evict", pod("crashed", { phase: "Failed" }), false],
  ])("%s", (_what, view, goes) => {
    expect(evictable([view])).toEqual(goes ? [view.name] : []);
  });

  it("waits for an evicted pod until its uid is gone, although its phase is final already (C3, D9)", () => {
    const ending = pod("database", { phase: "Succeeded", deleting: true });
    const accepted: EvictionRecord = { outcome: "accepted", at: NOW, pod: "shop/database" };
    expect(evictable([ending])).toEqual([]);
    expect(evictable([ending], { evictions: { [ending.uid]: accepted } })).toEqual(["database"]);
  });

  it("evicts what came back to the cordoned node once, then lets it stay", () => {
    expect(evictable([comeback()])).toEqual(["agent"]);
    expect(evictable([comeback()], EVICTED_ONCE)).toEqual([]);
    expect(classifyPods([comeback()], memory(EVICTED_ONCE)).returned).toHaveLength(1);
  });

  it.each<[string, PodView, Partial<Memory>]>([
    ["it was there before the cordon", comeback({ createdAt: NOW - 60 * SECOND }), EVICTED_ONCE],
    ["it does not tolerate the cordon", comeback({ tolerations: [] }), EVICTED_ONCE],
    [
      "it tolerates the cordon's NoExecute only",
      comeback({
        tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoExecute" }],
      }),
      EVICTED_ONCE,
    ],
    [
      "it tolerates another value",
      comeback({ tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Equal", value: "x" }] }),
      EVICTED_ONCE,
    ],
    ["another controller's pods were evicted", comeback(), { evictedControllers: ["shop/ReplicaSet/web"] }],
    [
      "the same name in another namespace was evicted",
      comeback(),
      { evictedControllers: ["bank/ReplicaSet/agents"] },
    ],
  ])("evicts a pod although its like was evicted before: %s", (_why, view, remembered) => {
    expect(evictable([view], remembered)).toEqual([view.name]);
  });

  it.each<[string, Toleration]>([
    ["everything", { operator: "Exists" }],
    ["the key with Exists", { key: "node.kubernetes.io/unschedulable", operator: "Exists" }],
    ["the key with an empty value", { key: "node.kubernetes.io/unschedulable", value: "" }],
    ["the effect left empty", { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "" }],
  ])("knows a toleration of the cordon: %s", (_what, toleration) => {
    expect(evictable([comeback({ tolerations: [toleration] })], EVICTED_ONCE)).toEqual([]);
  });
});

describe("D11: which pods pin their volumes", () => {
  it.each<[string, PodView, boolean]>([
    ["a running mirror pod pins", pod("proxy", { mirror: true }), true],
    ["a running DaemonSet pod pins", daemonPod("logs"), true],
    ["a terminating DaemonSet pod pins nothing", daemonPod("logs", { deleting: true }), false],
    ["a failed DaemonSet pod pins nothing", daemonPod("logs", { phase: "Failed" }), false],
    ["a succeeded mirror pod pins nothing", pod("proxy", { mirror: true, phase: "Succeeded" }), false],
    ["an ordinary pod pins nothing", pod("web"), false],
    ["a finished pod pins nothing", pod("job", { phase: "Succeeded" }), false],
  ])("%s", (_what, view, pins) => {
    expect(staying([view])).toEqual(pins ? [view.name] : []);
  });

  it("a returned pod pins while it runs", () => {
    expect(staying([comeback()], EVICTED_ONCE)).toEqual(["agent"]);
    expect(staying([comeback({ deleting: true })], EVICTED_ONCE)).toEqual([]);
    expect(staying([comeback({ phase: "Failed" })], EVICTED_ONCE)).toEqual([]);
  });
});

describe("the CSI node pod with the hook (D10)", () => {
  it("is a running DaemonSet pod with the label, whatever the label's value", () => {
    const found = (view: PodView): string | undefined => classifyPods([view], memory()).hookPod?.name;
    expect(found(hookPod())).toBe("ebs-csi-node");
    expect(found(hookPod({ labels: { "ebs-drain.dev/hook": "" } }))).toBe("ebs-csi-node");
    expect(found(hookPod({ labels: {} }))).toBeUndefined();
    expect(found(hookPod({ phase: "Pending" }))).toBeUndefined();
    expect(found(pod("impostor", { labels: { "ebs-drain.dev/hook": "true" } }))).toBeUndefined();
  });
});

describe("D7: in which order pods are asked", () => {
  const controller = pod("ebs-csi-controller", {
    containers: ["ebs-plugin", "csi-attacher"],
    priorityClass: "system-cluster-critical",
  });
  const database = pod("database", { claims: ["data"] });
  const legacy = pod("legacy", { inlineHandles: ["vol-1"] });
  const web = pod("web");
  const dns = pod("coredns", { priorityClass: "system-cluster-critical" });
  const names = (pods: readonly PodView[]): readonly (readonly string[])[] =>
    evictionOrder(pods).map((group) => group.map(({ name }) => name));

  it("asks the CSI controller first, then pods with volumes, then the others (C33)", () => {
    expect(names([web, dns, legacy, controller, database])).toEqual([
      ["ebs-csi-controller"],
      ["legacy", "database"],
      ["web"],
    ]);
  });

  it("asks a system-critical pod only when all others are gone, with volumes or without", () => {
    expect(names([dns, web])).toEqual([["web"]]);
    expect(names([dns, controller])).toEqual([["ebs-csi-controller"]]);
    expect(names([dns, pod("node-agent", { priorityClass: "system-node-critical", claims: ["x"] })])).toEqual(
      [["coredns", "node-agent"]],
    );
  });

  it("has no groups for no pods", () => {
    expect(evictionOrder([])).toEqual([]);
  });
});

describe("D7: whether a pod is asked again", () => {
  it.each<[EvictionRecord["outcome"], boolean]>([
    ["accepted", false],
    ["gone", false],
    ["left", false],
    ["budget", true],
    ["failed", true],
  ])("after `%s`: %s", (outcome, again) => {
    const evictions = { "uid-of-web": { outcome, at: NOW, pod: "shop/web" } };
    expect(needsEviction(pod("web"), memory({ evictions }))).toBe(again);
  });

  it("asks a new uid under an old name (C6)", () => {
    const evictions = { "uid-of-web": { outcome: "accepted", at: NOW, pod: "shop/web" } } as const;
    expect(needsEviction(pod("web", { uid: "another" }), memory({ evictions }))).toBe(true);
  });

  it("asks none that is on its way out", () => {
    expect(needsEviction(pod("web", { deleting: true }), memory())).toBe(false);
  });
});

it("names a controller by namespace, kind and name, and a bare pod's not at all", () => {
  expect(controllerKey(pod("web"))).toBe("shop/ReplicaSet/web-set");
  expect(controllerKey(BARE)).toBeUndefined();
});
