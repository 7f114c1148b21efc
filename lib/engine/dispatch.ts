/**
 * What becomes of one event: a named drain execution, a sweep, or nothing with a reason. Every exit is a value or a throw, and has
 * one log line; a throw makes Lambda try again and then puts the event into the dead-letter queue.
 */
import type { InstanceView } from "../drain/machine.ts";
import type { ClusterSettings, Settings } from "../drain/settings.ts";
import { clusterOfGroup } from "../drain/settings.ts";
import type { GoneSignal, Here, LifecycleSignal, Signal, SpotSignal } from "../drain/signal.ts";
import { parseSignal } from "../drain/signal.ts";
import type { GoneTask, LifecycleTask, SpotTask, Task } from "../drain/task.ts";
import { workId } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { errorFields } from "./errors.ts";
import type { ForeignInstances } from "./foreign-instances.ts";
import type { Ec2Port, ExecutionsPort, TelemetryPort } from "./ports.ts";
import type { SweepSummary } from "./sweep.ts";

export type DispatchResult =
  | { readonly kind: "started"; readonly task: Task }
  /** An execution of that name exists: another delivery of the same event came first (C5). */
  | { readonly kind: "already-started"; readonly task: Task }
  /** D1. */
  | { readonly kind: "foreign"; readonly reason: string }
  /** S4, S6, S8, and events that came too late to be about today's machine. */
  | { readonly kind: "ignored"; readonly reason: string }
  | { readonly kind: "swept"; readonly summary: SweepSummary };

export interface DispatchDeps {
  readonly settings: Settings;
  readonly ec2: Pick<Ec2Port, "describeInstance">;
  /** Kept between events by whoever calls. */
  readonly foreign: ForeignInstances;
  readonly executions: Pick<ExecutionsPort, "start">;
  readonly sweep: () => Promise<SweepSummary>;
  readonly telemetry: TelemetryPort;
  readonly now: () => Instant;
  /** The deployment's account and region (S8). */
  readonly here: Here;
}

type Machine =
  | { readonly kind: "ours"; readonly cluster: ClusterSettings; readonly view: InstanceView }
  | { readonly kind: "foreign"; readonly reason: string }
  | { readonly kind: "ignored"; readonly reason: string };

/** Rejects with SignalError for a broken event and with PortError where EC2 or Lambda could not be asked. */
export async function dispatch(event: unknown, deps: DispatchDeps): Promise<DispatchResult> {
  try {
    const signal = parseSignal(event, deps.here);
    const result = await follow(signal, deps);
    logResult(signal, result, deps.telemetry);
    return result;
  } catch (error) {
    deps.telemetry.log({ message: "dispatch", outcome: "failed", ...errorFields(error) });
    throw error;
  }
}

async function follow(signal: Signal, deps: DispatchDeps): Promise<DispatchResult> {
  switch (signal.kind) {
    case "ignored":
      return signal;
    case "sweep":
      return { kind: "swept", summary: await deps.sweep() };
    case "lifecycle":
      return followLifecycle(signal, deps);
    case "spot":
    case "gone": {
      const machine = await findMachine(signal, deps);
      return machine.kind === "ours" ? start(instanceTask(signal, machine), deps) : machine;
    }
    default:
      return signal satisfies never;
  }
}

/** The event names group and hook: what is not ours costs no call. */
async function followLifecycle(signal: LifecycleSignal, deps: DispatchDeps): Promise<DispatchResult> {
  const { group, hook } = signal;
  const cluster = clusterOfGroup(deps.settings, group);
  if (cluster === undefined) return { kind: "foreign", reason: `group ${group} is not configured` };
  const { hookName } = deps.settings.policy;
  if (hook !== hookName) return { kind: "foreign", reason: `hook ${hook} is not ours (${hookName})` };
  const view = await deps.ec2.describeInstance(signal.instance);
  // A machine launched after the event is not the one it tells of, and that one EC2 shows no more.
  const launchTime = view !== undefined && view.launchTime <= signal.at ? view.launchTime : undefined;
  return start(lifecycleTask(signal, cluster.name, launchTime), deps);
}

/** Whose instance it is, by its group's tag; it stays on a terminated instance (D1). */
async function findMachine(signal: SpotSignal | GoneSignal, deps: DispatchDeps): Promise<Machine> {
  const view = deps.foreign.get(signal.instance) ?? (await deps.ec2.describeInstance(signal.instance));
  if (view === undefined) return { kind: "foreign", reason: "EC2 does not show the instance" };
  const cluster = view.group === undefined ? undefined : clusterOfGroup(deps.settings, view.group);
  if (cluster === undefined) {
    deps.foreign.add(view);
    const reason = view.group === undefined ? "in no group" : `group ${view.group} is not configured`;
    return { kind: "foreign", reason };
  }
  // Started under the name of today's machine, it would keep that machine's own signal from being followed.
  if (view.launchTime > signal.at) {
    return { kind: "ignored", reason: "late: the instance has been started again since" };
  }
  return { kind: "ours", cluster, view };
}

function lifecycleTask(
  signal: LifecycleSignal,
  cluster: string,
  launchTime: Instant | undefined,
): LifecycleTask {
  const { kind, at, group, hook, token, instance, destination, replacesRootVolume } = signal;
  return {
    kind,
    id: workId({ kind, instance, launchTime, token }),
    cluster,
    group,
    instance,
    at,
    by: "event",
    hook,
    token,
    destination,
    replacesRootVolume,
    ...(launchTime === undefined ? {} : { launchTime }),
  };
}

function instanceTask(
  signal: SpotSignal | GoneSignal,
  { cluster, view }: Extract<Machine, { readonly kind: "ours" }>,
): SpotTask | GoneTask {
  const { kind, instance } = signal;
  const { launchTime, group = "" } = view;
  const id = workId({ kind, instance, launchTime });
  return { ...signal, id, cluster: cluster.name, group, launchTime, by: "event" };
}

async function start(task: Task, deps: DispatchDeps): Promise<DispatchResult> {
  const kind = await deps.executions.start(task.id, task);
  if (kind === "started") {
    deps.telemetry.metric("DrainsStarted", 1, { cluster: task.cluster, group: task.group });
  }
  return { kind, task };
}

function logResult(signal: Signal, result: DispatchResult, telemetry: TelemetryPort): void {
  const line = { message: "dispatch", signal: signal.kind, outcome: result.kind };
  const instance = "instance" in signal ? signal.instance : undefined;
  switch (result.kind) {
    case "started":
    case "already-started": {
      const { id, cluster, group } = result.task;
      telemetry.log({ ...line, instance, work: id, cluster, group });
      break;
    }
    case "foreign":
    case "ignored":
      telemetry.log({ ...line, instance, reason: result.reason });
      break;
    case "swept":
      // The sweep has logged its own summary.
      break;
    default:
      result satisfies never;
  }
}
