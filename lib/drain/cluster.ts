/**
 * What the domain sees of Kubernetes. Each view is plain JSON, made from the API's objects by the adapter (or by the simulated
 * cluster) and carries only fields that a rule reads.
 */
import type { Instant } from "./time.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  /** `timeAdded`, where whoever set it wrote that down; for people, no rule reads it. */
  readonly since?: Instant;
}

export interface NodeView {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** `aws:///eu-west-1a/i-…`; absent until the cloud controller has seen the Node. */
  readonly providerId?: string;
  /** `status.nodeInfo.bootID`: changes with every boot, also when another machine takes over the Node's name. */
  readonly bootId: string;
  readonly unschedulable: boolean;
  /** In the API's order: a JSON patch removes them by index. */
  readonly taints: readonly Taint[];
  /** The raw value of the annotation `ebs-drain.dev/work`, read by `readWork`. */
  readonly work?: string;
  /** False where `metadata.annotations` is absent and a JSON patch has to add the map first. */
  readonly hasAnnotations: boolean;
  readonly ready: {
    readonly status: "True" | "False" | "Unknown";
    readonly reason: string;
    readonly message: string;
    /** `lastTransitionTime`. */
    readonly since: Instant;
  };
  /** `kubernetes.io/csi/<driver>^<handle>`, as the kubelet lists them. */
  readonly volumesInUse: readonly string[];
  /** It has a deletionTimestamp. */
  readonly deleting: boolean;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal" | "Lt" | "Gt";
  readonly value?: string;
  readonly effect?: string;
}

export interface PodView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly nodeName: string;
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  readonly createdAt: Instant;
  /** It has a deletionTimestamp: somebody asked for its end. */
  readonly deleting: boolean;
  readonly controller?: { readonly kind: string; readonly name: string };
  /** Annotation `kubernetes.io/config.mirror`: the kubelet's own, static pod. */
  readonly mirror: boolean;
  readonly priorityClass?: string;
  /** `terminationGracePeriodSeconds`: a request's own grace would also lengthen it. */
  readonly graceSeconds?: number;
  readonly tolerations: readonly Toleration[];
  readonly labels: Readonly<Record<string, string>>;
  /** Container names; a CSI controller is told by its `csi-attacher`. */
  readonly containers: readonly string[];
  /** PersistentVolumeClaims in the pod's namespace, those of generic ephemeral volumes (`<pod>-<volume>`) among them. */
  readonly claims: readonly string[];
  /** Volumes named in the pod itself (`awsElasticBlockStore`), as handles of ebs.csi.aws.com. */
  readonly inlineHandles: readonly string[];
  /** A condition DisruptionTarget=True with this reason, if there is one. */
  readonly disruptionTarget?: string;
}

/** A VolumeAttachment. */
export interface AttachmentView {
  readonly name: string;
  readonly attacher: string;
  readonly nodeName: string;
  /** `spec.source.persistentVolumeName`; absent for an inline volume. */
  readonly volumeName?: string;
  /** Handle of `spec.source.inlineVolumeSpec`, where that is what it attaches. */
  readonly inlineHandle?: string;
  /** It has a deletionTimestamp: the detach was asked for. */
  readonly deleting: boolean;
  /** `status.detachError.message`. */
  readonly detachError?: string;
}

/** One row of the cluster's list of VolumeAttachments, as the API server's Table prints it. */
export interface AttachmentRow {
  readonly name: string;
  readonly attacher: string;
  readonly nodeName: string;
  readonly volumeName?: string;
  /** Annotation `csi.alpha.kubernetes.io/node-id`; only in a list with metadata. */
  readonly nodeId?: string;
}

/** A bound PersistentVolume, an in-tree `awsElasticBlockStore` one as driver ebs.csi.aws.com with its bare `vol-…`. */
export interface VolumeView {
  readonly name: string;
  /** Absent: not a CSI volume (local, NFS, …), nothing is ever attached for it. */
  readonly driver?: string;
  readonly handle?: string;
}

/** CSINode: which id each driver gave the node. */
export interface CsiNodeView {
  readonly name: string;
  readonly nodeIds: Readonly<Record<string, string>>;
}

/** The kubelet's Lease in kube-node-lease. */
export interface LeaseView {
  readonly name: string;
  /** The API's text, compared for change only: the kubelet's clock is not ours. */
  readonly renewTime: string;
}

/** One operation of a JSON patch (RFC 6902) of a Node. */
export type PatchOperation =
  | { readonly op: "test" | "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };
