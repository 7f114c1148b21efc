/** What one look saw. Plain JSON: a logged observation replays the decision that was made of it. */
import type { AttachmentRow, AttachmentView, CsiNodeView, LeaseView, NodeView, PodView } from "./cluster.ts";
import type { Ec2AttachmentView, Ec2VolumeView, GroupMemberView, InstanceView } from "./machine.ts";
import type { Memory } from "./memory.ts";
import type { Task } from "./task.ts";
import type { Instant } from "./time.ts";

/** A failed request, as the log shows it. `cause` is the port's FailureKind. */
export interface Failure {
  readonly operation: string;
  readonly cause: string;
  readonly message: string;
}

/** `null` in a value is "it is not there"; `unread` is "this look had no need of it". The three are never confused. */
export type Reading<T> =
  | { readonly kind: "read"; readonly value: T }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "unread" };

/** A claim or PersistentVolume once resolved; `handle` absent where no CSI volume is behind it. */
export interface ResolvedVolume {
  readonly volumeName?: string;
  readonly driver?: string;
  readonly handle?: string;
}

export interface Observation {
  readonly at: Instant;
  readonly task: Task;
  readonly memory: Memory;
  readonly instance: Reading<InstanceView | null>;
  /** When EC2 was asked about the instance; 0 where it was not. */
  readonly ec2At: Instant;
  readonly member: Reading<GroupMemberView | null>;
  readonly node: Reading<NodeView | null>;
  readonly csiNode: Reading<CsiNodeView | null>;
  readonly lease: Reading<LeaseView | null>;
  /** When the Lease's answer was there: its silence counts from then. */
  readonly leaseAt?: Instant;
  readonly pods: Reading<readonly PodView[]>;
  /** VolumeAttachments of this node that are there, read by name. */
  readonly attachments: Reading<readonly AttachmentView[]>;
  /** This node's rows of the cluster's list, in looks that list. */
  readonly rows: Reading<readonly AttachmentRow[]>;
  /** EC2's attachments to this instance, the root volume among them. */
  readonly ec2Volumes: Reading<readonly Ec2AttachmentView[]>;
  /** Where volumes are that Kubernetes has attached here and EC2 has not. */
  readonly elsewhere: Reading<readonly Ec2VolumeView[]>;
  /** How many of the cluster's other Nodes are there, and how many of them are Ready Unknown. */
  readonly others: Reading<{ readonly total: number; readonly unknown: number }>;
  /** Claims (`namespace/name`) and PersistentVolumes (`name`) resolved so far, this look's included. */
  readonly claims: Readonly<Record<string, ResolvedVolume>>;
  readonly volumes: Readonly<Record<string, ResolvedVolume>>;
  /** Requests this look made, by port method. */
  readonly calls: Readonly<Record<string, number>>;
}

export const UNREAD = { kind: "unread" } as const;

export function valueOf<T>(reading: Reading<T>): T | undefined {
  return reading.kind === "read" ? reading.value : undefined;
}

/** Read, and not there. */
export function isAbsent<T>(reading: Reading<T | null>): boolean {
  return reading.kind === "read" && reading.value === null;
}
