/**
 * What a sweep does about what it saw: work for machines that wait or are gone with nobody at it, and the undoing of what is left
 * of ours on Nodes in service. Pure; the reads and their order are the engine's (lib/engine/sweep.ts).
 */
import type { NodeView, PatchOperation } from "./cluster.ts";
import type { GroupMemberView, InstanceView } from "./machine.ts";
import { outOfServiceValue, untaintPatch, withdrawPatch } from "./node-patch.ts";
import type { Reading } from "./observation.ts";
import { valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";
import type { GoneState, LifecycleTask, Task } from "./task.ts";
import { isForMachine, machineOf, sweepExecutionName, workId } from "./task.ts";
import type { Instant } from "./time.ts";
import type { WorkReading } from "./work-order.ts";
import { readWork } from "./work-order.ts";

export interface SweptCluster {
  readonly name: string;
  readonly groups: readonly string[];
  readonly nodes: Reading<readonly NodeView[]>;
}

export interface SweepObservation {
  readonly at: Instant;
  readonly clusters: readonly SweptCluster[];
  /** Names of the executions RUNNING, read after the Nodes: a cordon among those was made by work begun before. */
  readonly running: readonly string[];
  readonly members: Reading<readonly GroupMemberView[]>;
  /** Of the machines that `machinesToRead` names. */
  readonly instances: Reading<readonly InstanceView[]>;
}

export type SweepStep =
  | { readonly kind: "start"; readonly name: string; readonly task: Task; readonly reason: string }
  | {
      readonly kind: "undo";
      readonly cluster: string;
      readonly node: Pick<NodeView, "name" | "uid">;
      readonly instance: string;
      readonly patch: readonly PatchOperation[];
      readonly reason: string;
    };

/** One Node with something of ours on it, and the machine its provider id names. */
interface MarkedNode {
  readonly cluster: SweptCluster;
  readonly node: NodeView;
  readonly instance: string;
  readonly work: WorkReading;
}

/** Auto Scaling's states in which a terminate hook holds an instance, and where it goes afterwards. */
const WAITING = new Map<string, Pick<LifecycleTask, "destination" | "replacesRootVolume">>([
  ["Terminating:Wait", { destination: "EC2", replacesRootVolume: false }],
  ["Warmed:Terminating:Wait", { destination: "EC2", replacesRootVolume: false }],
  ["Warmed:Pending:Wait", { destination: "WarmPool", replacesRootVolume: false }],
  ["ReplacingRootVolume:Wait", { destination: "AutoScalingGroup", replacesRootVolume: true }],
]);

/** Instances that EC2 is asked about: of Nodes that carry something of ours, and of waiting members. Each once. */
export function machinesToRead(seen: Omit<SweepObservation, "instances">): readonly string[] {
  const marked = markedNodes(seen.clusters).map(({ instance }) => instance);
  const waiting = (valueOf(seen.members) ?? [])
    .filter((member) => WAITING.has(member.lifecycleState))
    .map((member) => member.instance);
  return [...new Set([...marked, ...waiting])];
}

/** Starts first: a waiting machine's time runs. */
export function planSweep(seen: SweepObservation, policy: Policy): readonly SweepStep[] {
  const instances = valueOf(seen.instances);
  // Without LaunchTime no machine can be named, and without EC2's word none is known to be gone or in service.
  if (instances === undefined) return [];
  const marked = markedNodes(seen.clusters);
  const byId = new Map(instances.map((view) => [view.id, view]));
  const members = valueOf(seen.members) ?? [];
  return [
    ...members.flatMap(
      (member) => startWaiting(member, byId.get(member.instance), marked, seen, policy) ?? [],
    ),
    ...marked.flatMap((each) => startGone(each, byId.get(each.instance), seen) ?? []),
    ...marked.flatMap((each) => undo(each, byId.get(each.instance), members, seen) ?? []),
  ];
}

/** (a) A member waits in a terminate hook, ours perhaps, and no lifecycle work for it is running. */
function startWaiting(
  member: GroupMemberView,
  view: InstanceView | undefined,
  marked: readonly MarkedNode[],
  seen: SweepObservation,
  policy: Policy,
): SweepStep | undefined {
  const waiting = WAITING.get(member.lifecycleState);
  const cluster = seen.clusters.find((each) => each.groups.includes(member.group));
  if (waiting === undefined || cluster === undefined) return undefined;
  if (isAtWork(seen.running, member.instance, "lifecycle")) return undefined;
  const { instance, group } = member;
  const launchTime = view?.launchTime;
  const token = tokenOf(marked, member, launchTime, policy);
  const id = workId({ kind: "lifecycle", instance, launchTime, token });
  return startOf(seen.at, `waits in ${member.lifecycleState} and nobody is at it`, {
    kind: "lifecycle",
    id,
    cluster: cluster.name,
    group,
    instance,
    at: seen.at,
    by: "sweep",
    hook: policy.hookName,
    ...waiting,
    ...(launchTime === undefined ? {} : { launchTime }),
    ...(token === undefined ? {} : { token }),
  });
}

/** The token in an open order for this very machine and hook: it completes this action and no later one of the instance (D2). */
function tokenOf(
  marked: readonly MarkedNode[],
  { instance, group }: GroupMemberView,
  launchTime: Instant | undefined,
  policy: Policy,
): string | undefined {
  const orders = marked.flatMap((each) =>
    each.instance === instance && each.work.kind === "open" ? [each.work.work] : [],
  );
  return orders.find(
    (work) =>
      work.group === group && work.hook === policy.hookName && isForMachine(work.id, instance, launchTime),
  )?.token;
}

/** (b) EC2 shows the machine that an order was written for on its way out or out, and no gone work is running (D14). */
function startGone(
  { cluster, instance, work }: MarkedNode,
  view: InstanceView | undefined,
  seen: SweepObservation,
): SweepStep | undefined {
  if (view === undefined || (work.kind !== "open" && work.kind !== "void")) return undefined;
  const state = goneState(view);
  if (state === undefined || !isForMachine(work.work.id, instance, view.launchTime)) return undefined;
  const group = groupOf(view, cluster, valueOf(seen.members) ?? []);
  if (group === undefined || isAtWork(seen.running, instance, "gone")) return undefined;
  const { launchTime } = view;
  return startOf(seen.at, `is ${state} with work on its Node and nobody is at it`, {
    kind: "gone",
    id: workId({ kind: "gone", instance, launchTime }),
    cluster: cluster.name,
    group,
    instance,
    launchTime,
    at: seen.at,
    by: "sweep",
    state,
  });
}

/** (c) A machine in service, nobody at work on it, and something of ours still on its Node (I8). */
function undo(
  { cluster, node, instance, work }: MarkedNode,
  view: InstanceView | undefined,
  members: readonly GroupMemberView[],
  seen: SweepObservation,
): SweepStep | undefined {
  const member = members.find((each) => each.instance === instance);
  const inService = member?.lifecycleState === "InService" && cluster.groups.includes(member.group);
  if (!inService || view?.state !== "running" || isAtWork(seen.running, instance)) return undefined;
  if (isOpenNotice(work, seen.at)) return undefined;
  const where = { cluster: cluster.name, node: { name: node.name, uid: node.uid }, instance };
  if (work.kind === "unreadable") {
    // What cannot be read may be a later version's, or a person's: it stays, and so does the cordon. A taint of ours does not.
    const taint = outOfServiceValue(node);
    if (taint === undefined || !isOurTaint(taint)) return undefined;
    return { kind: "undo", ...where, patch: untaintPatch(node, taint), reason: "in service under our taint" };
  }
  const uncordon = work.kind !== "none" && work.work.cordoned;
  return {
    kind: "undo",
    ...where,
    patch: withdrawPatch(node, { uncordon, isOurTaint }),
    reason: `in service without open work${uncordon ? "; the cordon is ours" : ""}`,
  };
}

/** A spot notice whose time has not come is open work, also after its execution has ended. */
function isOpenNotice(work: WorkReading, at: Instant): boolean {
  return work.kind === "open" && work.work.id.startsWith("spot-") && work.work.deadline > at;
}

/** A work id as a taint's value: ours, whatever machine it was written for. */
function isOurTaint(value: string): boolean {
  return machineOf(value) !== undefined;
}

/** Nodes of the clusters that could be read, with `work` or a taint of ours, and a provider id that names an instance. */
function markedNodes(clusters: readonly SweptCluster[]): readonly MarkedNode[] {
  return clusters.flatMap((cluster) =>
    (valueOf(cluster.nodes) ?? []).flatMap((node) => {
      const instance = /\/(i-[0-9a-f]+)$/.exec(node.providerId ?? "")?.[1];
      const taint = outOfServiceValue(node);
      const isMarked = node.work !== undefined || (taint !== undefined && isOurTaint(taint));
      return instance === undefined || !isMarked ? [] : [{ cluster, node, instance, work: readWork(node) }];
    }),
  );
}

function groupOf(
  view: InstanceView,
  cluster: SweptCluster,
  members: readonly GroupMemberView[],
): string | undefined {
  const current = members.find((member) => member.instance === view.id)?.group;
  return [current, view.group].find((group) => group !== undefined && cluster.groups.includes(group));
}

function goneState(view: InstanceView): GoneState | undefined {
  switch (view.state) {
    case "shutting-down":
    case "stopping":
    case "stopped":
    case "terminated":
      return view.state;
    case "pending":
    case "running":
      return undefined;
    default:
      return view.state satisfies never;
  }
}

/** By name: an execution's begins with its kind and instance, whoever started it. */
function isAtWork(running: readonly string[], instance: string, kind?: Task["kind"]): boolean {
  return running.some(
    (name) => machineOf(name)?.instance === instance && (kind === undefined || name.startsWith(`${kind}-`)),
  );
}

function startOf(at: Instant, reason: string, task: Task): SweepStep {
  const destination = task.kind === "lifecycle" ? task.destination : undefined;
  return { kind: "start", name: sweepExecutionName(task.id, at, destination), task, reason };
}
