/** One piece of work: one kind of signal for one machine. The input of one drain execution, plain JSON. */
import type { Instant } from "./time.ts";

export type Destination = "EC2" | "WarmPool" | "AutoScalingGroup";
export type SpotAction = "terminate" | "stop" | "hibernate";
export type GoneState = "stopping" | "stopped" | "shutting-down" | "terminated";

interface TaskBase {
  /** Work id: `workId(...)`, the same for every delivery and for the sweep; fits a taint's value. */
  readonly id: string;
  /** Name of the EKS cluster that the instance's group belongs to. */
  readonly cluster: string;
  readonly group: string;
  readonly instance: string;
  /** EC2's LaunchTime; absent only where EC2 no longer shows the instance. With the id it names the machine. */
  readonly launchTime?: Instant;
  /** The event's time, or the sweep's. Deadlines count from here. */
  readonly at: Instant;
  /** Who found the work: an event, or the sweep because no execution was at it. */
  readonly by: "event" | "sweep" | "operator";
}

export interface LifecycleTask extends TaskBase {
  readonly kind: "lifecycle";
  readonly hook: string;
  /** Absent only in the sweep's own work (D2). */
  readonly token?: string;
  readonly destination: Destination;
  readonly replacesRootVolume: boolean;
}

export interface SpotTask extends TaskBase {
  readonly kind: "spot";
  readonly action: SpotAction;
  /** When EC2 acts. */
  readonly until: Instant;
}

export interface GoneTask extends TaskBase {
  readonly kind: "gone";
  /** EC2's state in the event, or as the sweep read it. */
  readonly state: GoneState;
}

/** An operator drains a Node by hand (D19). No lifecycle action, no `work`, no execution. */
export interface ManualTask extends TaskBase {
  readonly kind: "manual";
  /** The very Node that was named: a later one of that name has another uid. */
  readonly node: { readonly name: string; readonly uid: string };
  /** When the operator's patience ends. */
  readonly until: Instant;
  /** `kubernetes`: without AWS credentials EC2 is not asked, and what it holds is not known. */
  readonly sources: "both" | "kubernetes";
}

export type Task = LifecycleTask | SpotTask | GoneTask | ManualTask;
/** What the sweep or an event starts, as a durable execution. */
export type DeployedTask = Exclude<Task, ManualTask>;

/** FNV-1a over UTF-16 code units, as 8 hex digits: tells tokens apart in a name; nothing secret depends on it. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/**
 * Work id: kind, instance, LaunchTime (base 36 seconds) and for a lifecycle action its token's hash. At most 46 characters of
 * [A-Za-z0-9-], so it fits a taint's value (63), and with the sweep's slot a durable execution's name (64).
 */
export function workId(of: {
  readonly kind: Task["kind"];
  readonly instance: string;
  readonly launchTime?: Instant | undefined;
  readonly token?: string | undefined;
}): string {
  const machine = `${of.instance}-${launchSuffix(of.launchTime)}`;
  return of.token === undefined ? `${of.kind}-${machine}` : `${of.kind}-${machine}-${shortHash(of.token)}`;
}

function launchSuffix(launchTime: Instant | undefined): string {
  return launchTime === undefined ? "0" : Math.floor(launchTime / 1_000).toString(36);
}

/** Two actions of one machine may follow each other within a slot; without a token their destination tells them apart. */
const DESTINATION_SUFFIX: Readonly<Record<Destination, string>> = {
  EC2: "",
  WarmPool: "-pool",
  AutoScalingGroup: "-root",
};

/** Execution name of the sweep's own start of this work: one per ten-minute slot, so that a failed one can be followed. */
export function sweepExecutionName(id: string, at: Instant, destination: Destination = "EC2"): string {
  return `${id}-sweep-${Math.floor(at / 600_000).toString(36)}${DESTINATION_SUFFIX[destination]}`;
}

/** What a work id or execution name says, or undefined where it is not one of ours. */
export function machineOf(name: string): { readonly instance: string; readonly launch: string } | undefined {
  const match = /^(?:lifecycle|spot|gone)-(i-[0-9a-f]+)-([0-9a-z]+)(?:-|$)/.exec(name);
  return match === null ? undefined : { instance: match[1] ?? "", launch: match[2] ?? "" };
}

/** Whether a work id was written for this machine, whatever its kind. */
export function isForMachine(id: string, instance: string, launchTime: Instant | undefined): boolean {
  const machine = machineOf(id);
  return machine?.instance === instance && machine.launch === launchSuffix(launchTime);
}

/**
 * Whether work of this id may be about the task's lifecycle action. An instance that comes back from a warm pool, or gets a new root
 * volume, is the same machine with another action; an id without a token may be any action's.
 */
export function isForAction(id: string, task: Task): boolean {
  if (task.kind !== "lifecycle" || task.token === undefined) return true;
  const { kind, instance, launchTime } = task;
  return id === task.id || id === workId({ kind, instance, launchTime });
}
