/**
 * The simulated API server's objects: the API's own shapes, so that a JSON patch means what it means there, cut down to what some
 * controller of this world reads. Points in time are Instants, not text.
 */
import type { Taint, Toleration } from "../drain/cluster.ts";
import type { Instant } from "../drain/time.ts";

export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface Meta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  resourceVersion: string;
  readonly creationTimestamp: Instant;
  deletionTimestamp?: Instant;
  deletionGracePeriodSeconds?: number;
  finalizers: string[];
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  /** The controller among the owner references. */
  readonly controller?: Owner;
}

export interface ApiObject {
  metadata: Meta;
}

export interface ReadyCondition {
  readonly type: "Ready";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: Instant;
}

export interface NodeObject extends ApiObject {
  spec: { providerID?: string; unschedulable?: boolean; taints?: Taint[] };
  status: {
    nodeInfo: { bootID: string };
    conditions: ReadyCondition[];
    volumesInUse?: string[];
    volumesAttached?: { readonly name: string; readonly devicePath: string }[];
  };
}

export type PodVolumeSource =
  | { readonly kind: "claim"; readonly claimName: string }
  /** A generic ephemeral volume: its claim is `<pod>-<volume>`. */
  | { readonly kind: "ephemeral"; readonly volume: string }
  /** In-tree `awsElasticBlockStore`, named in the pod itself. */
  | { readonly kind: "inline"; readonly volumeId: string };

export interface PodToleration extends Toleration {
  /** Of a NoExecute taint; absent: for ever. */
  readonly tolerationSeconds?: number;
}

export interface PodSpec {
  nodeName?: string;
  readonly containers: readonly string[];
  readonly volumes: readonly PodVolumeSource[];
  readonly tolerations: readonly PodToleration[];
  readonly priorityClassName?: string;
  readonly terminationGracePeriodSeconds: number;
  /** The node that the DaemonSet controller made the pod for. */
  readonly requiredNode?: string;
  /** Not the API's: milliseconds from SIGTERM until the containers end by themselves. */
  readonly stopsAfter: number;
}

export type DisruptionTarget = { readonly reason: string; readonly message: string };

export interface PodObject extends ApiObject {
  readonly spec: PodSpec;
  status: {
    phase: "Pending" | "Running" | "Succeeded" | "Failed";
    ready: boolean;
    /** Whether any container runs, as the kubelet last reported. */
    containersRunning: boolean;
    /** Reason of the condition DisruptionTarget=True. */
    disruptionTarget?: DisruptionTarget;
    reason?: string;
  };
}

export interface ClaimObject extends ApiObject {
  spec: { volumeName?: string };
}

export interface VolumeObject extends ApiObject {
  readonly spec: {
    readonly source:
      | { readonly kind: "csi"; readonly driver: string; readonly handle: string }
      | { readonly kind: "in-tree"; readonly volumeId: string }
      | { readonly kind: "other" };
    readonly zone?: string;
  };
}

export interface AttachmentObject extends ApiObject {
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    readonly source: { readonly volumeName: string } | { readonly inlineHandle: string };
  };
  status: { attached: boolean; attachError?: string; detachError?: string };
}

export interface CsiNodeObject extends ApiObject {
  spec: { drivers: Record<string, string> };
}

export interface LeaseObject extends ApiObject {
  spec: { renewTime: string };
}

export interface BudgetObject extends ApiObject {
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>;
    /** A number of pods, or a share as `50%`. */
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
  };
}

/** What a workload controller makes pods of. */
export interface PodTemplate {
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: readonly string[];
  readonly tolerations: readonly PodToleration[];
  readonly priorityClassName?: string;
  readonly terminationGracePeriodSeconds: number;
  readonly stopsAfter: number;
  /** Volumes of each pod; for a StatefulSet those of the pod with this ordinal. */
  readonly volumesOf: (ordinal: number) => readonly PodVolumeSource[];
}

export interface WorkloadObject extends ApiObject {
  spec: {
    readonly replicas: number;
    readonly template: PodTemplate;
    /** StatefulSets only: one after the other, or all at once. */
    readonly podManagementPolicy?: "OrderedReady" | "Parallel";
  };
}

export interface EventObject {
  readonly node: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly at: Instant;
}

/** Its phase is final: no container of it will run again. */
export function isFinished(pod: PodObject): boolean {
  return pod.status.phase === "Succeeded" || pod.status.phase === "Failed";
}

export function isDeleting(object: ApiObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** The API's picture of a static pod. */
export function isMirror({ metadata }: PodObject): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

export function readyOf(node: NodeObject): ReadyCondition | undefined {
  return node.status.conditions.find((condition) => condition.type === "Ready");
}

export function isReady(node: NodeObject): boolean {
  return readyOf(node)?.status === "True";
}

export function hasTaint(node: NodeObject, key: string): boolean {
  return node.spec.taints?.some((taint) => taint.key === key) ?? false;
}

/** Whether one of the tolerations matches the taint, as the scheduler and the taint eviction do. */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => isMatch(toleration, taint));
}

export function isMatch(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  if (toleration.key === undefined) return toleration.operator === "Exists";
  if (toleration.key !== taint.key) return false;
  return toleration.operator === "Exists" || (toleration.value ?? "") === (taint.value ?? "");
}
