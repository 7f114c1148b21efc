import { describe, expect, it } from "vitest";
import type { Taint } from "../../lib/drain/cluster.ts";
import type { GoingAwaySign, NodeSigns } from "../../lib/drain/going-away.ts";
import { DRAIN_TAINTS, isGoingAway, isShuttingDown } from "../../lib/drain/going-away.ts";
import type { Work } from "../../lib/drain/work-order.ts";
import { formatWork } from "../../lib/drain/work-order.ts";

const WORK: Work = {
  id: "lifecycle-i-0f3a9c1d2b4e5f607-t3kq2w-0a1b2c3d",
  bootID: "boot-1",
  group: "workers-a",
  deadline: 1_800_000_000_000,
  cordoned: true,
  ignore: [],
};

const HEALTHY: NodeSigns = {
  bootId: "boot-1",
  deleting: false,
  unschedulable: false,
  taints: [],
  ready: { status: "True", reason: "KubeletReady", message: "kubelet is posting ready status", since: 0 },
};

function taint(key: string, effect: Taint["effect"] = "NoSchedule"): Taint {
  return { key, effect };
}

function notReady(message: string, status: "False" | "Unknown" = "False"): NodeSigns["ready"] {
  return { status, reason: "KubeletNotReady", message, since: 0 };
}

function sign(change: Partial<NodeSigns>, drainTaints = DRAIN_TAINTS): GoingAwaySign | undefined {
  return isGoingAway({ ...HEALTHY, ...change }, drainTaints);
}

describe("H2: the signs that a node is going away", () => {
  it.each<[string, Partial<NodeSigns>, GoingAwaySign["kind"], string]>([
    ["`work` for this boot", { work: formatWork(WORK) }, "work", WORK.id],
    [
      "the out-of-service taint",
      { taints: [taint("node.kubernetes.io/out-of-service", "NoExecute")] },
      "out-of-service",
      "node.kubernetes.io/out-of-service",
    ],
    [
      "the cluster autoscaler's taint",
      { taints: [taint("other"), taint("ToBeDeletedByClusterAutoscaler")] },
      "drain-taint",
      "ToBeDeletedByClusterAutoscaler",
    ],
    [
      "Karpenter's taint",
      { taints: [taint("karpenter.sh/disrupted")] },
      "drain-taint",
      "karpenter.sh/disrupted",
    ],
    [
      "C31: Karpenter's taint of another version",
      { taints: [taint("karpenter.sh/disruption")] },
      "drain-taint",
      "karpenter.sh/disruption",
    ],
    ["a deletionTimestamp", { deleting: true }, "deleting", "being deleted"],
    ["the kubelet's shutdown", { ready: notReady("node is shutting down") }, "shutting-down", "kubelet"],
    [
      "the kubelet's shutdown in brackets",
      { ready: notReady("[container runtime is down, node is shutting down]") },
      "shutting-down",
      "kubelet",
    ],
    [
      "the kubelet's shutdown with a warning after it",
      { ready: notReady("node is shutting down. WARNING: CPU hardcapping unsupported") },
      "shutting-down",
      "kubelet",
    ],
    ["a cordon", { unschedulable: true }, "cordon", "cordoned"],
    ["a cordon's taint alone", { taints: [taint("node.kubernetes.io/unschedulable")] }, "cordon", "cordoned"],
  ])("%s", (_, change, kind, words) => {
    expect(sign(change)).toEqual({ kind, reason: expect.stringContaining(words) });
  });

  it.each<[string, Partial<NodeSigns>]>([
    ["nothing at all", {}],
    ["`work` of another boot", { work: formatWork({ ...WORK, bootID: "boot-0" }) }],
    ["an annotation that is not ours to interpret", { work: "{}" }],
    ["a foreign taint", { taints: [taint("node.kubernetes.io/not-ready", "NoExecute"), taint("dedicated")] }],
    ["the cluster autoscaler's mere candidate", { taints: [taint("DeletionCandidateOfClusterAutoscaler")] }],
    ["a node that is not ready for another reason", { ready: notReady("container runtime is down") }],
    ["a silent kubelet", { ready: notReady("Kubelet stopped posting node status.", "Unknown") }],
  ])("none: %s", (_, change) => {
    expect(sign(change)).toBeUndefined();
  });

  it("names the surest of several", () => {
    const all: Partial<NodeSigns> = {
      work: formatWork(WORK),
      taints: [taint("karpenter.sh/disrupted"), taint("node.kubernetes.io/out-of-service")],
      deleting: true,
      ready: notReady("node is shutting down"),
      unschedulable: true,
    };
    const kinds: (string | undefined)[] = [];
    for (const without of [
      {},
      { work: "" },
      { taints: [taint("karpenter.sh/disrupted")] },
      { taints: [] },
      { deleting: false },
      { ready: HEALTHY.ready },
      { unschedulable: false },
    ]) {
      Object.assign(all, without);
      kinds.push(sign(all)?.kind);
    }
    expect(kinds).toEqual([
      "work",
      "out-of-service",
      "drain-taint",
      "deleting",
      "shutting-down",
      "cordon",
      undefined,
    ]);
  });

  it("takes the configured taints and no others", () => {
    const change = { taints: [taint("example.com/leaving"), taint("karpenter.sh/disrupted")] };
    expect(sign(change, ["example.com/leaving"])?.reason).toContain("example.com/leaving");
    expect(sign({ taints: [taint("karpenter.sh/disrupted")] }, ["example.com/leaving"])).toBeUndefined();
  });

  it("tells a shutdown although a surer sign is named", () => {
    const node = { ...HEALTHY, deleting: true, ready: notReady("node is shutting down") };
    expect(isGoingAway(node, [])?.kind).toBe("deleting");
    expect(isShuttingDown(node)).toBe(true);
    expect(isShuttingDown({ ready: notReady("node is shutting down", "Unknown") })).toBe(false);
  });
});
