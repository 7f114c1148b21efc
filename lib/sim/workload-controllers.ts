/** StatefulSets, ReplicaSets and DaemonSets: who makes a new pod in an old one's place, and when. */
import { UNSCHEDULABLE_TAINT } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { Collection } from "./api-server.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { NodeObject, PodObject, PodSpec, PodToleration, WorkloadObject } from "./cluster-objects.ts";
import { isDeleting, isFinished, tolerates } from "./cluster-objects.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

type WorkloadKind = "StatefulSet" | "ReplicaSet" | "DaemonSet";

/** Set by admission on every pod: five minutes on a node that is not ready or not reachable. */
export const DEFAULT_TOLERATIONS: readonly PodToleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
];

/** Set by the DaemonSet controller. */
export const DAEMON_TOLERATIONS: readonly PodToleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoSchedule" },
  { key: UNSCHEDULABLE_TAINT, operator: "Exists", effect: "NoSchedule" },
];

export function startWorkloadControllers(context: ClusterContext): void {
  const { api } = context;
  watchSets(context, "StatefulSet", api.statefulSets, (set) => syncStatefulSet(context, set));
  watchSets(context, "ReplicaSet", api.replicaSets, (set) => syncReplicaSet(context, set));
  const failures: Failures = new Map();
  const daemons = watchSets(context, "DaemonSet", api.daemonSets, (set) =>
    syncDaemonSet(context, set, failures, (after) => daemons.add(keyOf(set), after)),
  );
  api.nodes.watch(() => {
    for (const set of api.daemonSets.list()) daemons.add(keyOf(set));
  });
}

function watchSets(
  context: ClusterContext,
  kind: WorkloadKind,
  sets: Collection<WorkloadObject>,
  sync: (set: WorkloadObject) => void,
): WorkQueue {
  const { api, clock, controllerManager, timing } = context;
  const queue = new WorkQueue(
    clock,
    controllerManager,
    () => draw(context, timing.watch),
    (key) => {
      const [namespace = "", name = ""] = key.split("/");
      const set = sets.get(name, namespace);
      if (set !== undefined) sync(set);
    },
  );
  sets.watch((set) => queue.add(keyOf(set)));
  api.pods.watch(({ metadata: { controller, namespace } }) => {
    if (controller?.kind === kind) queue.add(`${namespace}/${controller.name}`);
  });
  return queue;
}

function keyOf({ metadata }: WorkloadObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** A replacement has the same name and comes only once the old object is gone; a finished pod is deleted first. */
function syncStatefulSet(context: ClusterContext, set: WorkloadObject): void {
  const { api } = context;
  const isOrdered = set.spec.podManagementPolicy !== "Parallel";
  for (let ordinal = 0; ordinal < set.spec.replicas; ordinal++) {
    const name = `${set.metadata.name}-${ordinal}`;
    const pod = api.pods.get(name, set.metadata.namespace);
    if (pod === undefined) createPod(context, "StatefulSet", set, { name, ordinal });
    else if (isFinished(pod) && !isDeleting(pod)) deletePod(context, pod);
    if (isOrdered && (pod === undefined || isDeleting(pod) || !pod.status.ready)) return;
  }
}

/** Counts only pods that nobody asked to end: a replacement comes at once. Finished pods stay where they are. */
function syncReplicaSet(context: ClusterContext, set: WorkloadObject): void {
  const active = podsOf(context, set).filter((pod) => !isDeleting(pod) && !isFinished(pod));
  for (let ordinal = active.length; ordinal < set.spec.replicas; ordinal++) {
    const suffix = context.random.between(0, 60_466_175).toString(36).padStart(5, "0");
    createPod(context, "ReplicaSet", set, { name: `${set.metadata.name}-${suffix}`, ordinal });
  }
}

/** By DaemonSet and node: how often its pod failed there, and when that one may be deleted. */
type Failures = Map<string, { readonly count: number; readonly until: Instant; readonly uid: string }>;

/** Longest pause between two failed pods of a DaemonSet on one node. */
const LONGEST_BACKOFF = 15 * MINUTE;

/** One pod per node, cordoned or not; the next one comes once the old object is gone. Failed ones are replaced with back-off. */
function syncDaemonSet(
  context: ClusterContext,
  set: WorkloadObject,
  failures: Failures,
  again: (after: number) => void,
): void {
  const pods = Map.groupBy(podsOf(context, set), ({ spec }) => spec.nodeName ?? spec.requiredNode);
  for (const node of context.api.nodes.list()) {
    const { name } = node.metadata;
    const there = pods.get(name) ?? [];
    for (const pod of there) {
      if (!isFinished(pod) || isDeleting(pod)) continue;
      const wait = failedFor(context, failures, `${keyOf(set)} ${name}`, pod);
      if (wait > 0) again(wait);
      else deletePod(context, pod);
    }
    if (there.length > 0 || !shouldRun(set, node)) continue;
    const suffix = context.random.between(0, 60_466_175).toString(36).padStart(5, "0");
    createPod(context, "DaemonSet", set, {
      name: `${set.metadata.name}-${suffix}`,
      ordinal: 0,
      requiredNode: name,
    });
  }
}

/** Milliseconds until the failed pod may be deleted: 1 s, doubling with every further one on the node. */
function failedFor({ clock }: ClusterContext, failures: Failures, key: string, pod: PodObject): number {
  const known = failures.get(key);
  if (known?.uid === pod.metadata.uid) return known.until - clock.now();
  const count = (known?.count ?? 0) + 1;
  const pause = Math.min(LONGEST_BACKOFF, SECOND * 2 ** (count - 1));
  failures.set(key, { count, until: clock.now() + pause, uid: pod.metadata.uid });
  return pause;
}

function shouldRun(set: WorkloadObject, node: NodeObject): boolean {
  const tolerations = [...set.spec.template.tolerations, ...DAEMON_TOLERATIONS];
  return (node.spec.taints ?? []).every(
    (taint) => taint.effect === "PreferNoSchedule" || tolerates(tolerations, taint),
  );
}

function podsOf({ api }: ClusterContext, set: WorkloadObject): PodObject[] {
  return api.pods.list().filter(({ metadata }) => metadata.controller?.uid === set.metadata.uid);
}

function deletePod({ api }: ClusterContext, { metadata }: PodObject): void {
  api.deletePod(metadata.namespace ?? "", metadata.name, { uid: metadata.uid });
}

function createPod(
  { api, note }: ClusterContext,
  kind: WorkloadKind,
  set: WorkloadObject,
  pod: { readonly name: string; readonly ordinal: number; readonly requiredNode?: string },
): void {
  const { name: owner, namespace = "", uid } = set.metadata;
  if (api.terminatingNamespaces.has(namespace)) return;
  const { template } = set.spec;
  const added = kind === "DaemonSet" ? DAEMON_TOLERATIONS : DEFAULT_TOLERATIONS;
  const spec: PodSpec = {
    containers: template.containers,
    volumes: template.volumesOf(pod.ordinal),
    tolerations: [...template.tolerations, ...added],
    terminationGracePeriodSeconds: template.terminationGracePeriodSeconds,
    stopsAfter: template.stopsAfter,
    ...(template.priorityClassName === undefined ? {} : { priorityClassName: template.priorityClassName }),
    ...(pod.requiredNode === undefined ? {} : { requiredNode: pod.requiredNode }),
  };
  api.pods.create(
    { name: pod.name, namespace, labels: { ...template.labels }, controller: { kind, name: owner, uid } },
    { spec, status: { phase: "Pending", ready: false, containersRunning: false } },
  );
  note("pod", pod.name, "created");
}
