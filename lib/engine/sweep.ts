/**
 * The sweep: each minute, what no event and no execution has taken care of (lib/drain/sweep-plan.ts says what that is).
 *
 * The order of the reads carries the argument. Nodes come first, the running executions after them: whatever made a cordon or
 * `work` seen among the Nodes was running before, so if it still is, the list shows it. Auto Scaling and EC2 come last: what they
 * show waiting or in service is so now, and every patch tests what it was made from.
 */
import { causeOf } from "../drain/lifecycle-limits.ts";
import type { Reading } from "../drain/observation.ts";
import { valueOf } from "../drain/observation.ts";
import type { ClusterSettings, Settings } from "../drain/settings.ts";
import type { SweepObservation, SweepStep, SweptCluster } from "../drain/sweep-plan.ts";
import { machinesToRead, planSweep } from "../drain/sweep-plan.ts";
import type { Instant } from "../drain/time.ts";
import { errorFields } from "./errors.ts";
import { PortError } from "./errors.ts";
import type { AutoScalingPort, ClusterPort, Ec2Port, ExecutionsPort, TelemetryPort } from "./ports.ts";
import { Reader } from "./reading.ts";

export interface SweepDeps {
  readonly settings: Settings;
  /** A failure to reach the cluster is its methods' to tell. */
  readonly clusterOf: (
    cluster: ClusterSettings,
  ) => Pick<ClusterPort, "listNodes" | "patchNode" | "recordEvent">;
  readonly ec2: Pick<Ec2Port, "describeInstances">;
  readonly autoScaling: Pick<AutoScalingPort, "listMembers">;
  readonly executions: ExecutionsPort;
  readonly telemetry: TelemetryPort;
  readonly now: () => Instant;
}

/** What one sweep saw and did; logged as one line. */
export interface SweepSummary {
  readonly nodes: number;
  readonly running: number;
  readonly members: number;
  /** Work ids. `alreadyStarted`: begun by an earlier sweep of the same ten minutes, and ended since. */
  readonly started: readonly string[];
  readonly alreadyStarted: readonly string[];
  /** Nodes, as `cluster/name`. A conflict means that somebody changed the Node meanwhile: the next sweep looks again. */
  readonly undone: readonly string[];
  readonly conflicts: readonly string[];
  /** What could not be read or done, and why. */
  readonly failures: readonly string[];
}

/** Nothing at all could be done: the schedule's event is tried again and then reaches the dead-letter queue. */
export class SweepFailed extends Error {
  constructor(failures: readonly string[]) {
    super(`the sweep could do nothing: ${failures.join("; ")}`);
    this.name = "SweepFailed";
  }
}

type Steps = {
  -readonly [Key in "started" | "alreadyStarted" | "undone" | "conflicts" | "failures"]: string[];
};

/** One sweep over all clusters. Rejects only where nothing could be done at all. */
export async function sweep(deps: SweepDeps): Promise<SweepSummary> {
  const steps: Steps = { started: [], alreadyStarted: [], undone: [], conflicts: [], failures: [] };
  const { seen, running } = await observeSweep(deps, steps.failures);
  for (const step of seen === undefined ? [] : planSweep(seen, deps.settings.policy)) {
    await carryOut(step, steps, deps);
  }
  const nodes = seen?.clusters.flatMap((cluster) => valueOf(cluster.nodes) ?? []) ?? [];
  const summary: SweepSummary = {
    nodes: nodes.length,
    running: running?.length ?? 0,
    members: seen === undefined ? 0 : (valueOf(seen.members)?.length ?? 0),
    ...steps,
  };
  deps.telemetry.log({ message: "sweep", ...summary });
  if (seen === undefined) throw new SweepFailed(steps.failures);
  return summary;
}

/** `seen` is undefined where what is missing leaves nothing to be done. */
async function observeSweep(
  deps: SweepDeps,
  failures: string[],
): Promise<{ readonly seen?: SweepObservation; readonly running?: readonly string[] }> {
  const { settings, executions, autoScaling, ec2 } = deps;
  const reader = new Reader();
  const clusters = await Promise.all(
    settings.clusters.map((cluster) => readCluster(cluster, deps, failures)),
  );
  const readRunning = await reader.readAll("executions.listRunning", () => executions.listRunning());
  const running = take(readRunning, failures);
  // Without them everything would seem to be nobody's work.
  if (running === undefined) return {};
  const groups = settings.clusters.flatMap((cluster) => cluster.groups);
  const members = await reader.readAll("autoScaling.listMembers", () => autoScaling.listMembers(groups));
  const areNodesKnown = clusters.some((cluster) => cluster.nodes.kind === "read");
  if (take(members, failures) === undefined && !areNodesKnown) return { running };
  const partly = { at: deps.now(), clusters, running, members };
  const ids = machinesToRead(partly);
  const instances: SweepObservation["instances"] =
    ids.length === 0
      ? { kind: "read", value: [] }
      : await reader.readAll("ec2.describeInstances", () => ec2.describeInstances(ids));
  return take(instances, failures) === undefined ? { running } : { running, seen: { ...partly, instances } };
}

/** A cluster that cannot be reached does not keep the others waiting: it is told, and left out. */
async function readCluster(
  cluster: ClusterSettings,
  { clusterOf, telemetry }: SweepDeps,
  failures: string[],
): Promise<SweptCluster> {
  const { name, groups } = cluster;
  try {
    return { name, groups, nodes: { kind: "read", value: await clusterOf(cluster).listNodes() } };
  } catch (error) {
    const fields = errorFields(error);
    if (error instanceof PortError) {
      telemetry.metric("ClusterUnreachable", 1, { cause: causeOf(error.kind) });
    } else {
      telemetry.metric("ApiErrors", 1, { cause: "bug" });
    }
    telemetry.log({ message: "cluster unreachable", cluster: name, ...fields });
    failures.push(`cluster ${name}: ${fields["error"]}`);
    const failure = {
      operation: "kubernetes.listNodes",
      cause: fields["kind"] ?? "bug",
      message: `${fields["error"]}`,
    };
    return { name, groups, nodes: { kind: "failed", failure } };
  }
}

function take<T>(reading: Reading<T>, failures: string[]): T | undefined {
  if (reading.kind === "failed") {
    failures.push(`${reading.failure.operation}: ${reading.failure.cause}: ${reading.failure.message}`);
  }
  return valueOf(reading);
}

/** One step. What fails is told and left to the next sweep: it does not keep the other steps. */
async function carryOut(step: SweepStep, steps: Steps, deps: SweepDeps): Promise<void> {
  try {
    switch (step.kind) {
      case "start":
        await start(step, steps, deps);
        break;
      case "undo":
        await undo(step, steps, deps);
        break;
      default:
        step satisfies never;
    }
  } catch (error) {
    const what = step.kind === "start" ? step.name : `${step.cluster}/${step.node.name}`;
    const fields = errorFields(error);
    if (fields["kind"] === "conflict") {
      steps.conflicts.push(what);
      return;
    }
    if (!(error instanceof PortError)) deps.telemetry.metric("ApiErrors", 1, { cause: "bug" });
    deps.telemetry.log({ message: `sweep: ${step.kind} failed`, what, ...fields });
    steps.failures.push(`${step.kind} ${what}: ${fields["error"]}`);
  }
}

async function start(
  step: Extract<SweepStep, { readonly kind: "start" }>,
  steps: Steps,
  { executions, telemetry }: SweepDeps,
): Promise<void> {
  const { name, task, reason } = step;
  if ((await executions.start(name, task)) === "already-started") {
    steps.alreadyStarted.push(task.id);
    return;
  }
  steps.started.push(task.id);
  telemetry.metric("DrainsStarted", 1, { cluster: task.cluster, group: task.group });
  telemetry.log({ message: "sweep: started", work: task.id, instance: task.instance, reason });
}

async function undo(
  step: Extract<SweepStep, { readonly kind: "undo" }>,
  steps: Steps,
  { settings, clusterOf, telemetry, now }: SweepDeps,
): Promise<void> {
  const { cluster, node, instance, patch, reason } = step;
  const configured = settings.clusters.find((each) => each.name === cluster);
  if (configured === undefined) throw new RangeError(`a step for the unknown cluster ${cluster}`);
  const port = clusterOf(configured);
  await port.patchNode(node.name, patch);
  steps.undone.push(`${cluster}/${node.name}`);
  telemetry.log({ message: "sweep: undone", cluster, node: node.name, instance, reason });
  try {
    const message = `${instance} is ${reason}`;
    const of = { node: node.name, nodeUid: node.uid, at: now() };
    await port.recordEvent({ ...of, type: "Normal", reason: "DrainCalledOff", message });
  } catch (error) {
    // It is undone; only the Node's own record of that is missing, and the line above has it.
    telemetry.log({ message: "sweep: no Event", cluster, node: node.name, ...errorFields(error) });
  }
}
