/** Which pods of the node have to go, which stay, and in what order they are asked (D7, D8). */
import type { PodView, Toleration } from "./cluster.ts";
import type { Memory } from "./memory.ts";
import { HOOK_LABEL, UNSCHEDULABLE_TAINT } from "./names.ts";

/** D8: why a pod is not evicted; `evictable` is every other. */
export type PodClass = "evictable" | "mirror" | "daemon" | "finished" | "returned";

export interface NodePods {
  /** Evictable ones that are still there, those already on their way out included: none left is D9's "gone". */
  readonly evictable: readonly PodView[];
  /** Running pods that stay with the node, with what they keep mounted: they pin volumes (D11). */
  readonly staying: readonly PodView[];
  readonly returned: readonly PodView[];
  /** The CSI node pod with the hook in it, where one runs here. */
  readonly hookPod?: PodView;
}

export function classifyPods(pods: readonly PodView[], memory: Memory): NodePods {
  const classOf = new Map(pods.map((pod) => [pod.uid, classifyPod(pod, memory)]));
  const isOf = (pod: PodView, ...classes: PodClass[]): boolean =>
    classes.includes(classOf.get(pod.uid) ?? "evictable");
  const hookPod = pods
    .filter((pod) => isHookPod(pod) && isOf(pod, "daemon") && pod.phase === "Running")
    .sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  return {
    evictable: pods.filter((pod) => isOf(pod, "evictable")),
    staying: pods.filter(
      (pod) => isOf(pod, "mirror", "daemon", "returned") && pod.phase === "Running" && !pod.deleting,
    ),
    returned: pods.filter((pod) => isOf(pod, "returned")),
    ...(hookPod === undefined ? {} : { hookPod }),
  };
}

/**
 * D8. A pod is
 * - `finished` once its phase is final (its volume may still be mounted: D11 sees to that), unless we evicted it: then its object
 *   has to go as well (D9), which the kubelet sees to when it has cleaned up,
 * - `mirror` where the kubelet made it from a file,
 * - `daemon` where a DaemonSet owns it: it would come back at once,
 * - `returned` where it tolerates the cordon, came after it, and its controller's pods were evicted once already.
 */
function classifyPod(pod: PodView, memory: Memory): PodClass {
  if (pod.mirror) return "mirror";
  if (pod.controller?.kind === "DaemonSet") return "daemon";
  const isFinal = pod.phase === "Succeeded" || pod.phase === "Failed";
  if (isFinal && memory.evictions[pod.uid]?.outcome !== "accepted") return "finished";
  if (hasReturned(pod, memory)) return "returned";
  return "evictable";
}

function hasReturned(pod: PodView, memory: Memory): boolean {
  const controller = controllerKey(pod);
  return (
    memory.cordonedAt !== undefined &&
    pod.createdAt >= memory.cordonedAt &&
    toleratesCordon(pod.tolerations) &&
    controller !== undefined &&
    memory.evictedControllers.includes(controller)
  );
}

/** `namespace/kind/name` of the controller; undefined for a bare pod. */
export function controllerKey(pod: PodView): string | undefined {
  return pod.controller === undefined
    ? undefined
    : `${pod.namespace}/${pod.controller.kind}/${pod.controller.name}`;
}

/** Whether it may be scheduled to a cordoned node: it tolerates `node.kubernetes.io/unschedulable:NoSchedule`. */
function toleratesCordon(tolerations: readonly Toleration[]): boolean {
  return tolerations.some(
    ({ key, operator, value, effect }) =>
      (effect === undefined || effect === "" || effect === "NoSchedule") &&
      (operator === "Exists"
        ? key === undefined || key === "" || key === UNSCHEDULABLE_TAINT
        : key === UNSCHEDULABLE_TAINT && (value ?? "") === ""),
  );
}

export function isHookPod(pod: PodView): boolean {
  return pod.labels[HOOK_LABEL] !== undefined;
}

/** The pod runs the external attacher: while it holds the lease and is on its way out, nothing is detached (D7). */
function isCsiController(pod: PodView): boolean {
  return pod.containers.includes("csi-attacher");
}

function isSystemCritical(pod: PodView): boolean {
  return pod.priorityClass === "system-node-critical" || pod.priorityClass === "system-cluster-critical";
}

function hasVolumes(pod: PodView): boolean {
  return pod.claims.length > 0 || pod.inlineHandles.length > 0;
}

/**
 * D7's order: pods of the CSI controller (their lease must move before the detach), pods with volumes, others. System-critical ones
 * of the rest wait until those are gone.
 */
export function evictionOrder(evictable: readonly PodView[]): readonly (readonly PodView[])[] {
  const controllers = evictable.filter(isCsiController);
  const rest = evictable.filter((pod) => !isCsiController(pod));
  const ordinary = rest.filter((pod) => !isSystemCritical(pod));
  const groups =
    controllers.length + ordinary.length > 0
      ? [controllers, ordinary.filter(hasVolumes), ordinary.filter((pod) => !hasVolumes(pod))]
      : [rest];
  return groups.filter((group) => group.length > 0);
}

/** D7: the same uid is asked again only after 429, 5xx or a time-out; a pod on its way out needs no asking. */
export function needsEviction(pod: PodView, memory: Memory): boolean {
  if (pod.deleting) return false;
  const record = memory.evictions[pod.uid];
  if (record === undefined) return true;
  switch (record.outcome) {
    case "budget":
    case "failed":
      return true;
    case "accepted":
    case "gone":
    case "left":
      return false;
    default:
      return record.outcome satisfies never;
  }
}

/** `namespace/name`. */
export function podName(pod: { readonly namespace: string; readonly name: string }): string {
  return `${pod.namespace}/${pod.name}`;
}
