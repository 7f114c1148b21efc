/**
 * What a cluster has to offer so that `describeClusterContract` can try a ClusterPort on it.
 *
 * No controller and no kubelet may act on what is arranged here: a pod stays where it was put and as it was put, and one that is
 * asked to end stays terminating until it is deleted with grace 0. Nodes need no machine. Whatever an `add…` promises is visible
 * to the port once its promise resolves. A harness in virtual time moves its clock itself while a port method is awaited.
 */
import type { NodeView, Taint, Toleration } from "../../lib/drain/cluster.ts";
import type { ClusterPort } from "../../lib/engine/ports.ts";

export interface NodeSeed {
  readonly name: string;
  readonly providerId?: string;
  readonly bootId?: string;
  readonly unschedulable?: boolean;
  readonly taints?: readonly Taint[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Default: Ready=True, reason KubeletReady. */
  readonly ready?: Omit<NodeView["ready"], "since">;
  readonly volumesInUse?: readonly string[];
}

/** A running, ready pod with one container `main`, bound to the node. */
export interface PodSeed {
  /** An existing namespace: `default`, or one made with `addNamespace`. */
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
  readonly priorityClass?: "system-node-critical" | "system-cluster-critical";
  /** Names of PersistentVolumeClaims; the objects need not exist. */
  readonly claims?: readonly string[];
  readonly finalizers?: readonly string[];
}

/** A PersistentVolume: of a CSI driver, in-tree `awsElasticBlockStore` with this volumeID, or NFS. */
export interface VolumeSeed {
  readonly name: string;
  readonly source:
    | { readonly kind: "csi"; readonly driver: string; readonly handle: string }
    | { readonly kind: "in-tree"; readonly volumeId: string }
    | { readonly kind: "nfs" };
}

export interface AttachmentSeed {
  readonly name: string;
  readonly attacher: string;
  readonly nodeName: string;
  readonly source: { readonly volumeName: string } | { readonly inlineHandle: string };
  /** Annotation `csi.alpha.kubernetes.io/node-id`. */
  readonly nodeId?: string;
}

export interface NodeEventRecord {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** The reporting component. */
  readonly component: string;
}

export interface ClusterHarness {
  readonly port: ClusterPort;
  readonly addNode: (seed: NodeSeed) => Promise<void>;
  readonly addPod: (seed: PodSeed) => Promise<{ readonly uid: string }>;
  readonly addNamespace: (name: string) => Promise<void>;
  /** The namespace's end was asked for, and it stays terminating because pods are left in it. */
  readonly endNamespace: (name: string) => Promise<void>;
  /** Without `volumeName`: a claim that is not bound. */
  readonly addClaim: (seed: {
    readonly namespace: string;
    readonly name: string;
    readonly volumeName?: string;
  }) => Promise<void>;
  readonly addVolume: (seed: VolumeSeed) => Promise<void>;
  /** Each with a finalizer, as the attacher sets it. Up to 1,100 in one call. */
  readonly addAttachments: (seeds: readonly AttachmentSeed[]) => Promise<void>;
  /** Asks for the detach, which fails with this message: the attachment stays, deleting. */
  readonly failDetach: (name: string, message: string) => Promise<void>;
  readonly addCsiNode: (seed: {
    readonly name: string;
    readonly nodeIds: Readonly<Record<string, string>>;
  }) => Promise<void>;
  /** Creates or renews the Lease in kube-node-lease. `renewTime` has microseconds: `2026-10-01T12:00:00.123456Z`. */
  readonly renewLease: (node: string, renewTime: string) => Promise<void>;
  /** A PodDisruptionBudget over the pods with these labels that allows no disruption now, already seen by its controller. */
  readonly addBudget: (seed: {
    readonly namespace: string;
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  }) => Promise<void>;
  /** Events whose involved object is this Node. */
  readonly listEvents: (node: string) => Promise<readonly NodeEventRecord[]>;
  readonly close: () => Promise<void>;
}
