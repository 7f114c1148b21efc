/**
 * What the engine asks of the world, in the domain's words. Every method rejects with a PortError (errors.ts) and nothing else.
 * Reads answer `undefined` for "not there"; changes reject with `not-found`. Each call is one request unless it says otherwise.
 */
import type {
  AttachmentRow,
  AttachmentView,
  CsiNodeView,
  LeaseView,
  NodeView,
  PatchOperation,
  PodView,
  VolumeView,
} from "../drain/cluster.ts";
import type { Ec2AttachmentView, Ec2VolumeView, GroupMemberView, InstanceView } from "../drain/machine.ts";
import type { Decision } from "../drain/decision.ts";
import type { EventReason, MetricName } from "../drain/names.ts";
import type { Observation } from "../drain/observation.ts";
import type { Instant } from "../drain/time.ts";
import type { Task } from "../drain/task.ts";

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Reads of one cluster. */
export interface ClusterReads {
  readonly getNode: (name: string) => Promise<NodeView | undefined>;
  /** Every Node, in pages. At most one per piece of work and one per sweep (I11). */
  readonly listNodes: () => Promise<readonly NodeView[]>;
  /** Pods whose spec.nodeName is this, by field selector, in pages. */
  readonly listPodsOnNode: (nodeName: string) => Promise<readonly PodView[]>;
  readonly getClaim: (
    namespace: string,
    name: string,
  ) => Promise<{ readonly volumeName?: string } | undefined>;
  readonly getVolume: (name: string) => Promise<VolumeView | undefined>;
  readonly getAttachment: (name: string) => Promise<AttachmentView | undefined>;
  /** The whole cluster's attachments as table rows in pages of 1,000; `withNodeIds` adds the metadata that carries the node id. */
  readonly listAttachmentRows: (options: {
    readonly withNodeIds: boolean;
  }) => Promise<readonly AttachmentRow[]>;
  readonly getCsiNode: (name: string) => Promise<CsiNodeView | undefined>;
  readonly getLease: (nodeName: string) => Promise<LeaseView | undefined>;
}

/** Changes of one cluster. */
export interface ClusterChanges {
  /** JSON patch; a failed `test` or a stale resourceVersion is `conflict`. Answers the Node as it is afterwards. */
  readonly patchNode: (name: string, patch: readonly PatchOperation[]) => Promise<NodeView>;
  /** policy/v1 Eviction with the uid as precondition; `graceSeconds` shortens the pod's own grace. */
  readonly evictPod: (pod: PodRef, graceSeconds?: number) => Promise<void>;
  /** Delete with the uid as precondition; `graceSeconds` 0 removes the object at once. */
  readonly deletePod: (pod: PodRef, graceSeconds?: number) => Promise<void>;
  /** Status patch: phase Failed and DisruptionTarget=True with our reason; the uid is tested. */
  readonly failPod: (pod: PodRef, message: string, at: Instant) => Promise<void>;
  /** An Event on the Node. */
  readonly recordEvent: (event: NodeEvent) => Promise<void>;
}

export interface NodeEvent {
  readonly node: string;
  readonly nodeUid: string;
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly message: string;
  readonly at: Instant;
}

export interface ClusterPort extends ClusterReads, ClusterChanges {}

export interface Ec2Port {
  /** `undefined` for InvalidInstanceID.NotFound, which proves nothing (D14). */
  readonly describeInstance: (id: string) => Promise<InstanceView | undefined>;
  /** For the sweep: those of the ids that EC2 shows; every page, every reservation. */
  readonly describeInstances: (ids: readonly string[]) => Promise<readonly InstanceView[]>;
  /** DescribeVolumes by attachment.instance-id, every page: the per-instance truth, the root volume included. */
  readonly listAttachedVolumes: (instance: string) => Promise<readonly Ec2AttachmentView[]>;
  /** DescribeVolumes by id: tells `moved` from `leaked`. Ids that EC2 does not know are left out. */
  readonly describeVolumes: (volumeIds: readonly string[]) => Promise<readonly Ec2VolumeView[]>;
}

/** A lifecycle action of our hook: by token, or by instance id where no token is known (D2). */
export interface LifecycleActionRef {
  readonly group: string;
  readonly hook: string;
  readonly instance: string;
  readonly token?: string;
}

export interface AutoScalingPort {
  /** DescribeAutoScalingInstances; `undefined` where the instance is in no group (any more). */
  readonly describeMember: (instance: string) => Promise<GroupMemberView | undefined>;
  /** For the sweep: every instance of these groups that Auto Scaling shows, every page. */
  readonly listMembers: (groups: readonly string[]) => Promise<readonly GroupMemberView[]>;
  /** RecordLifecycleActionHeartbeat; `no-active-action` when it is over. */
  readonly heartbeat: (action: LifecycleActionRef) => Promise<void>;
  /** CompleteLifecycleAction; `no-active-action` when it is over. */
  readonly complete: (action: LifecycleActionRef, result: "CONTINUE" | "ABANDON") => Promise<void>;
}

/** What a lifecycle hook of a group is set to. Seconds. */
export interface GroupHookView {
  readonly transition: string;
  readonly heartbeatTimeout: number;
}

/** Lifecycle hooks as the groups have them. */
export interface GroupHooksPort {
  /** DescribeLifecycleHooks; `undefined` where the group has no hook of that name. */
  readonly describeHook: (group: string, hook: string) => Promise<GroupHookView | undefined>;
}

/** Durable executions of the drain function. */
export interface ExecutionsPort {
  /** Starts the named execution with this input; an execution of that name, whatever its input, means "already at work". */
  readonly start: (name: string, task: Task) => Promise<"started" | "already-started">;
  /** Names of the RUNNING executions on the alias, every page. */
  readonly listRunning: () => Promise<readonly string[]>;
}

/** What a look leaves to be logged. `changed`: something moved since the look before, so the whole of it is worth keeping. */
export interface LookRecord {
  readonly observation: Observation;
  readonly decision: Decision;
  readonly changed: boolean;
  /** Actions that failed, in words, and the cause of each. */
  readonly failures: readonly string[];
  readonly causes: readonly string[];
}

export interface TelemetryPort {
  /** The decision log: what one look saw, decided and could not do. */
  readonly look: (record: LookRecord) => void;
  /** One structured line. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** `dimensions` beside the group and cluster are few and bounded. */
  readonly metric: (name: MetricName, value: number, dimensions?: Readonly<Record<string, string>>) => void;
}

/** All that one look needs. */
export interface Ports {
  readonly cluster: ClusterPort;
  readonly ec2: Ec2Port;
  readonly autoScaling: AutoScalingPort;
  readonly telemetry: TelemetryPort;
  readonly now: () => Instant;
}
