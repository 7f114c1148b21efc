/**
 * What each port method needs from Kubernetes' RBAC or from IAM. ClusterRole and Roles, IAM statements and the preflight are made
 * from this table; a method without an entry does not compile, and tests on a real API server prove that the adapters use
 * all of it and nothing else.
 */
import type { AutoScalingPort, ClusterPort, Ec2Port, ExecutionsPort, GroupHooksPort } from "./ports.ts";

export type RbacVerb = "get" | "list" | "watch" | "create" | "patch" | "delete";

export interface RbacRule {
  /** `""` is the core group. */
  readonly apiGroup: string;
  /** With its subresource, where that is what is used: `pods/eviction`. */
  readonly resource: string;
  readonly verbs: readonly RbacVerb[];
  /** The only namespace it is needed in; absent: in the whole cluster. */
  readonly namespace?: string;
}

/** Which resources an IAM action can be confined to: EC2's and Auto Scaling's Describe calls to none. */
export type IamScope = "any" | "groups" | "drain-function" | "clusters";

export interface IamRule {
  readonly action: `${string}:${string}`;
  readonly scope: IamScope;
}

/** One entry for every method of the port. */
export type PermissionsOf<Port, Rule> = { readonly [Method in keyof Port]: readonly Rule[] };

/** Namespace of the kubelets' Leases. */
export const LEASE_NAMESPACE = "kube-node-lease";
/** Namespace of Events on objects that have none, such as Nodes. */
export const EVENT_NAMESPACE = "default";

export const CLUSTER_PERMISSIONS: PermissionsOf<ClusterPort, RbacRule> = {
  getNode: [{ apiGroup: "", resource: "nodes", verbs: ["get"] }],
  listNodes: [{ apiGroup: "", resource: "nodes", verbs: ["list"] }],
  listPodsOnNode: [{ apiGroup: "", resource: "pods", verbs: ["list"] }],
  getClaim: [{ apiGroup: "", resource: "persistentvolumeclaims", verbs: ["get"] }],
  getVolume: [{ apiGroup: "", resource: "persistentvolumes", verbs: ["get"] }],
  getAttachment: [{ apiGroup: "storage.k8s.io", resource: "volumeattachments", verbs: ["get"] }],
  listAttachmentRows: [{ apiGroup: "storage.k8s.io", resource: "volumeattachments", verbs: ["list"] }],
  getCsiNode: [{ apiGroup: "storage.k8s.io", resource: "csinodes", verbs: ["get"] }],
  getLease: [
    { apiGroup: "coordination.k8s.io", resource: "leases", verbs: ["get"], namespace: LEASE_NAMESPACE },
  ],
  patchNode: [{ apiGroup: "", resource: "nodes", verbs: ["patch"] }],
  evictPod: [{ apiGroup: "", resource: "pods/eviction", verbs: ["create"] }],
  deletePod: [{ apiGroup: "", resource: "pods", verbs: ["delete"] }],
  failPod: [{ apiGroup: "", resource: "pods/status", verbs: ["patch"] }],
  recordEvent: [{ apiGroup: "", resource: "events", verbs: ["create"], namespace: EVENT_NAMESPACE }],
};

export const EC2_PERMISSIONS: PermissionsOf<Ec2Port, IamRule> = {
  describeInstance: [{ action: "ec2:DescribeInstances", scope: "any" }],
  describeInstances: [{ action: "ec2:DescribeInstances", scope: "any" }],
  listAttachedVolumes: [{ action: "ec2:DescribeVolumes", scope: "any" }],
  describeVolumes: [{ action: "ec2:DescribeVolumes", scope: "any" }],
};

export const AUTO_SCALING_PERMISSIONS: PermissionsOf<AutoScalingPort, IamRule> = {
  describeMember: [{ action: "autoscaling:DescribeAutoScalingInstances", scope: "any" }],
  listMembers: [
    { action: "autoscaling:DescribeAutoScalingGroups", scope: "any" },
    { action: "autoscaling:DescribeWarmPool", scope: "any" },
  ],
  heartbeat: [{ action: "autoscaling:RecordLifecycleActionHeartbeat", scope: "groups" }],
  complete: [{ action: "autoscaling:CompleteLifecycleAction", scope: "groups" }],
};

export const GROUP_HOOKS_PERMISSIONS: PermissionsOf<GroupHooksPort, IamRule> = {
  describeHook: [{ action: "autoscaling:DescribeLifecycleHooks", scope: "any" }],
};

export const EXECUTIONS_PERMISSIONS: PermissionsOf<ExecutionsPort, IamRule> = {
  start: [{ action: "lambda:InvokeFunction", scope: "drain-function" }],
  listRunning: [{ action: "lambda:ListDurableExecutionsByFunction", scope: "drain-function" }],
};

/** What the hook on the node asks of the API server. */
export type HookOperation =
  | "getNode"
  | "getOwnPod"
  | "listRevisions"
  | "getAttachment"
  | "watchAttachment"
  | "listAttachments"
  | "getVolume"
  | "recordEvent";

/** Namespace of the CSI node pods, and so of their DaemonSet's revisions. */
export const CSI_NAMESPACE = "kube-system";

/** It changes nothing: on each node of a cluster runs one, and a node's credentials are the easiest to steal. */
export const HOOK_PERMISSIONS: Readonly<Record<HookOperation, readonly RbacRule[]>> = {
  getNode: [{ apiGroup: "", resource: "nodes", verbs: ["get"] }],
  getOwnPod: [{ apiGroup: "", resource: "pods", verbs: ["get"], namespace: CSI_NAMESPACE }],
  listRevisions: [
    { apiGroup: "apps", resource: "controllerrevisions", verbs: ["list"], namespace: CSI_NAMESPACE },
  ],
  getAttachment: [{ apiGroup: "storage.k8s.io", resource: "volumeattachments", verbs: ["get"] }],
  watchAttachment: [{ apiGroup: "storage.k8s.io", resource: "volumeattachments", verbs: ["watch"] }],
  listAttachments: [{ apiGroup: "storage.k8s.io", resource: "volumeattachments", verbs: ["list"] }],
  getVolume: [{ apiGroup: "", resource: "persistentvolumes", verbs: ["get"] }],
  recordEvent: [{ apiGroup: "", resource: "events", verbs: ["create"], namespace: EVENT_NAMESPACE }],
};

/** To find the API server of a cluster whose endpoint is not configured; no port's method, but needed before the first one. */
export const ENDPOINT_PERMISSIONS: readonly IamRule[] = [
  { action: "eks:DescribeCluster", scope: "clusters" },
];
