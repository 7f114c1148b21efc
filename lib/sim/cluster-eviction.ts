/** The eviction subresource, and what a PodDisruptionBudget allows. */
import type { ApiServer, PodDeletion } from "./api-server.ts";
import { ApiFault } from "./api-server.ts";
import type { BudgetObject, PodObject } from "./cluster-objects.ts";
import { isDeleting, isFinished } from "./cluster-objects.ts";

/**
 * POST pods/eviction: 404 gone, 409 another uid, 403 namespace terminating, 429 the budget allows none, 500 several budgets. A pod
 * that is pending, finished or ending already needs no budget.
 */
export function evict(
  api: ApiServer,
  pod: { readonly namespace: string; readonly name: string },
  deletion: PodDeletion,
): void {
  if (api.terminatingNamespaces.has(pod.namespace)) {
    throw new ApiFault(
      403,
      `unable to create new content in namespace ${pod.namespace} because it is being terminated`,
      { cause: "NamespaceTerminating" },
    );
  }
  const object = api.pods.require(pod.name, pod.namespace);
  if (deletion.uid === undefined || deletion.uid === object.metadata.uid) askBudget(api, object);
  api.deletePod(pod.namespace, pod.name, {
    ...deletion,
    disruption: { reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" },
  });
}

function askBudget(api: ApiServer, pod: PodObject): void {
  if (pod.status.phase === "Pending" || isFinished(pod) || isDeleting(pod)) return;
  const budgets = budgetsOf(api, pod);
  const [budget, another] = budgets;
  if (another !== undefined) {
    throw new ApiFault(
      500,
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  if (budget === undefined) return;
  const { healthy, desired } = countHealthy(api, budget);
  // IfHealthyBudget, the default policy: a pod that is not ready may go as long as the application has what it needs.
  if (!pod.status.ready && healthy >= desired && desired > 0) return;
  if (healthy - desired > 0) return;
  const name = budget.metadata.name;
  throw new ApiFault(
    429,
    `Cannot evict pod as it would violate the pod's disruption budget. The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`,
    { cause: "DisruptionBudget", budget: name },
  );
}

/** Budgets whose end this pod's end would violate now; for the record of changes (I5). */
export function violatedBudgets(api: ApiServer, pod: PodObject): readonly string[] {
  if (!pod.status.ready || isDeleting(pod) || isFinished(pod)) return [];
  return budgetsOf(api, pod)
    .filter((budget) => {
      const { healthy, desired } = countHealthy(api, budget);
      return healthy - desired <= 0;
    })
    .map((budget) => budget.metadata.name);
}

function budgetsOf(api: ApiServer, pod: PodObject): BudgetObject[] {
  if (api.budgets.size === 0) return [];
  return api.budgets.list().filter((budget) => isSelected(budget, pod));
}

function isSelected(budget: BudgetObject, pod: PodObject): boolean {
  return (
    budget.metadata.namespace === pod.metadata.namespace &&
    Object.entries(budget.spec.selector).every(([key, value]) => pod.metadata.labels[key] === value)
  );
}

/** As the disruption controller counts: ready pods that nobody asked to end, against what their controllers want. */
function countHealthy(
  api: ApiServer,
  budget: BudgetObject,
): { readonly healthy: number; readonly desired: number } {
  const pods = api.pods.list().filter((pod) => isSelected(budget, pod));
  const healthy = pods.filter((pod) => pod.status.ready && !isDeleting(pod) && !isFinished(pod)).length;
  const expected = countExpected(api, pods);
  const { minAvailable, maxUnavailable } = budget.spec;
  if (maxUnavailable !== undefined) {
    return { healthy, desired: Math.max(0, expected - scaled(maxUnavailable, expected)) };
  }
  return { healthy, desired: scaled(minAvailable ?? 0, expected) };
}

function countExpected(api: ApiServer, pods: readonly PodObject[]): number {
  const controllers = new Map<string, number>();
  let bare = 0;
  for (const pod of pods) {
    const controller = pod.metadata.controller;
    const sets = controller?.kind === "StatefulSet" ? api.statefulSets : api.replicaSets;
    const set = controller && sets.get(controller.name, pod.metadata.namespace);
    if (controller === undefined || set === undefined) bare++;
    else controllers.set(controller.uid, set.spec.replicas);
  }
  return [...controllers.values()].reduce((sum, replicas) => sum + replicas, bare);
}

/** A share is rounded up. */
function scaled(amount: number | string, of: number): number {
  return typeof amount === "number" ? amount : Math.ceil((Number.parseFloat(amount) / 100) * of);
}
