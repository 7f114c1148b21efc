/** Names that more than one part of the product, or its users, see. */

export const PRODUCT = "ebs-drain";
/** Node annotation with the open work (work-order.ts), one per machine. */
export const WORK_ANNOTATION = "ebs-drain.dev/work";
/** The same as a JSON pointer's segment (RFC 6901: `/` is written `~1`). */
export const WORK_POINTER = "/metadata/annotations/ebs-drain.dev~1work";
/** Label of CSI node pods that carry the hook; every install sets it. */
export const HOOK_LABEL = "ebs-drain.dev/hook";
/** The lifecycle hook's default name. */
export const LIFECYCLE_HOOK = "ebs-drain";
export const EBS_DRIVER = "ebs.csi.aws.com";
export const GROUP_TAG = "aws:autoscaling:groupName";
/** Tags that the EBS CSI driver gives the volumes it makes. */
export const CSI_CLUSTER_TAG = "ebs.csi.aws.com/cluster";
export const CSI_NAME_TAG = "CSIVolumeName";
export const NODE_ID_ANNOTATION = "csi.alpha.kubernetes.io/node-id";
export const OUT_OF_SERVICE_TAINT = "node.kubernetes.io/out-of-service";
export const UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable";
/** The Kubernetes user group that the drain's access entry maps to. */
export const KUBERNETES_GROUP = "ebs-drain";
/** Reason of the DisruptionTarget condition that D14 writes before it deletes a dead machine's pod. */
export const DISRUPTION_REASON = "EbsDrainInstanceGone";

/** Reasons of the Events on the Node. One Event per change of state, none per look. */
export const EVENT_REASONS = [
  "DrainStarted",
  "EvictionBlocked",
  "HandedOff",
  "VolumesDetached",
  "DrainCompleted",
  "DrainDeadlineNear",
  "DrainDeadline",
  "DrainCalledOff",
  "CompletedByOther",
  "OutOfService",
  "NodeAdopted",
] as const;
export type EventReason = (typeof EVENT_REASONS)[number];

/** Reasons of the hook's one Event per hold (H10). VolumesDetached is what the drain says of the same. */
export const HOOK_EVENT_REASONS = [
  "VolumesDetached",
  "HookReleased",
  "HookCalledOff",
  "HookDeadline",
  "HookDriverGone",
] as const;
export type HookEventReason = (typeof HOOK_EVENT_REASONS)[number];

/** CloudWatch metrics, in the namespace of the product's name. */
export const METRICS = [
  "DrainsStarted",
  "DrainsCompleted",
  "DrainDeadlines",
  "DrainsCalledOff",
  "DeadlinesNear",
  "CompletedByOther",
  "DrainSeconds",
  "BlockedEvictions",
  "OutOfService",
  "NodesAdopted",
  "NoProgress",
  "ClusterUnreachable",
  "ApiErrors",
  "VolumesBlocking",
  "StageSeconds",
  "HookHoldSeconds",
  "Volumes",
  "UnheldTerminations",
  "GroupsWithoutHook",
] as const;
export type MetricName = (typeof METRICS)[number];

/** Environment variables of the Lambdas: settings (JSON) and the drain function's qualified ARN. */
export const ENV = {
  settings: "EBS_DRAIN_SETTINGS",
  drainFunction: "EBS_DRAIN_FUNCTION",
} as const;
