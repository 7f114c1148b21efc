/**
 * Which events reach the product and what becomes of each. `parseSignal` dispatches by this table and the deployment makes its
 * EventBridge rules from `HANDLED_EVENTS`, so neither can know an event that the other does not.
 */
import type { GoneState } from "./task.ts";

/** The kinds of signal that start something. */
export type HandledKind = "lifecycle" | "spot" | "gone" | "sweep";

export interface HandledEvent {
  readonly kind: HandledKind;
  readonly source: string;
  readonly detailType: string;
  /** Only events whose `detail.state` is one of these; without it, all of the detail-type. */
  readonly states?: readonly GoneState[];
}

/** EC2 states that end a machine (S3). */
export const GONE_STATES = [
  "stopping",
  "stopped",
  "shutting-down",
  "terminated",
] as const satisfies readonly GoneState[];

/** EC2's other states: known, nothing to do (S6). */
export const LIVING_STATES = ["pending", "running"] as const;

export const HANDLED_EVENTS: readonly HandledEvent[] = [
  {
    kind: "lifecycle",
    source: "aws.autoscaling",
    detailType: "EC2 Instance-terminate Lifecycle Action",
  },
  { kind: "spot", source: "aws.ec2", detailType: "EC2 Spot Instance Interruption Warning" },
  {
    kind: "gone",
    source: "aws.ec2",
    detailType: "EC2 Instance State-change Notification",
    states: GONE_STATES,
  },
  { kind: "sweep", source: "aws.events", detailType: "Scheduled Event" },
];

export interface UnhandledEvent {
  readonly source: string;
  /** Absent: every detail-type of the source. */
  readonly detailType?: string;
  readonly reason: string;
}

/** Events that people expect a drainer to act on, or that a broad rule also delivers, and why nothing is done (S4, S6). */
export const UNHANDLED_EVENTS: readonly UnhandledEvent[] = [
  {
    source: "aws.autoscaling",
    detailType: "EC2 Instance-launch Lifecycle Action",
    reason: "a launch: nothing to drain",
  },
  {
    source: "aws.ec2",
    detailType: "EC2 Instance Rebalance Recommendation",
    reason: "not acted on: the replacement itself arrives as a lifecycle action or a state change",
  },
  {
    source: "aws.health",
    reason: "not acted on: the replacement itself arrives as a lifecycle action or a state change",
  },
];

/** Whether the source is one whose events we read: what it sends broken is an error, not a stranger's event. */
export function isKnownSource(source: string): boolean {
  return [...HANDLED_EVENTS, ...UNHANDLED_EVENTS].some((event) => event.source === source);
}
