/** H2: what tells that a node is going away. Read by the hook on the node. */
import type { NodeView } from "./cluster.ts";
import { OUT_OF_SERVICE_TAINT, UNSCHEDULABLE_TAINT } from "./names.ts";
import { readWork } from "./work-order.ts";

/** What H2 reads of a Node. */
export type NodeSigns = Pick<NodeView, "bootId" | "deleting" | "ready" | "taints" | "unschedulable" | "work">;

/** Taints that autoscalers set on a node they are about to end: the cluster autoscaler's, and both that Karpenter has used (C31). */
export const DRAIN_TAINTS: readonly string[] = [
  "ToBeDeletedByClusterAutoscaler",
  "karpenter.sh/disrupted",
  "karpenter.sh/disruption",
];

/** The surest sign found. A `cordon` alone may also be the cordon of somebody who only updates the node's pods (H3). */
export interface GoingAwaySign {
  readonly kind: "work" | "out-of-service" | "drain-taint" | "deleting" | "shutting-down" | "cordon";
  readonly reason: string;
}

/**
 * The surest sign that the node is going away, or undefined where there is none. In this order: `work` written for this boot; the
 * out-of-service taint; one of `drainTaints`, by key; a deletionTimestamp; the kubelet's own shutdown; a cordon, by field or taint.
 * A Node that is not there at all is going away too; the caller knows that.
 */
export function isGoingAway(node: NodeSigns, drainTaints: readonly string[]): GoingAwaySign | undefined {
  const work = readWork(node);
  if (work.kind === "open") return { kind: "work", reason: `work ${work.work.id} is open` };
  if (hasTaint(node, OUT_OF_SERVICE_TAINT)) {
    return { kind: "out-of-service", reason: `taint ${OUT_OF_SERVICE_TAINT}` };
  }
  const drainTaint = drainTaints.find((key) => hasTaint(node, key));
  if (drainTaint !== undefined) return { kind: "drain-taint", reason: `taint ${drainTaint}` };
  if (node.deleting) return { kind: "deleting", reason: "the Node is being deleted" };
  if (isShuttingDown(node)) return { kind: "shutting-down", reason: "the kubelet shuts the node down" };
  if (node.unschedulable || hasTaint(node, UNSCHEDULABLE_TAINT)) {
    return { kind: "cordon", reason: "the node is cordoned" };
  }
  return undefined;
}

/**
 * Whether the kubelet has begun a graceful node shutdown: Ready=False with "node is shutting down" in its message, which may stand
 * in brackets or have warnings after it.
 */
export function isShuttingDown(node: Pick<NodeView, "ready">): boolean {
  return node.ready.status === "False" && node.ready.message.includes("node is shutting down");
}

function hasTaint(node: Pick<NodeView, "taints">, key: string): boolean {
  return node.taints.some((taint) => taint.key === key);
}
