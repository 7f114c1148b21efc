/** Budgets that let no pod go, ever, and StatefulSets whose pods have nowhere to go. */
import type { BoundVolumeView, BudgetView, StatefulSetView, ZoneNodeView } from "../kubernetes/inspection.ts";
import { type Finding, ok, problem } from "./finding.ts";

export function findingsOfBudgets(budgets: readonly BudgetView[]): readonly Finding[] {
  const never = budgets.filter(
    ({ expectedPods, desiredHealthy }) => expectedPods > 0 && desiredHealthy >= expectedPods,
  );
  const notNow = budgets.filter(
    (budget) => !never.includes(budget) && budget.expectedPods > 0 && budget.disruptionsAllowed === 0,
  );
  if (never.length + notNow.length === 0) {
    return [ok("budgets", `each of ${budgets.length} PodDisruptionBudgets lets a pod go`)];
  }
  return [
    ...never.map(({ namespace, name, desiredHealthy, expectedPods }) =>
      problem(
        "budgets",
        "warning",
        `PodDisruptionBudget ${namespace}/${name} can never be satisfied: it wants ${desiredHealthy} healthy of ${expectedPods}`,
        "no pod of it is ever evicted: each drain of its nodes lasts until the deadline (D13), and the pods end with the instance",
        `kubectl patch pdb ${name} -n ${namespace} --type merge -p '{"spec":{"minAvailable":null,"maxUnavailable":1}}'   # or run one pod more`,
      ),
    ),
    ...notNow.map(({ namespace, name, currentHealthy, desiredHealthy }) =>
      problem(
        "budgets",
        "warning",
        `PodDisruptionBudget ${namespace}/${name} lets no pod go now: ${currentHealthy} healthy of ${desiredHealthy} wanted`,
        "a drain waits until its pods are healthy",
        `kubectl get pods -n ${namespace}   # which are not Ready, and why`,
      ),
    ),
  ];
}

export interface Places {
  readonly sets: readonly StatefulSetView[];
  readonly volumes: readonly BoundVolumeView[];
  readonly nodes: readonly ZoneNodeView[];
  readonly drivers: readonly string[];
}

/** EBS volumes stay in their zone: with one usable node there, a drained pod is Pending until a node comes. */
export function findingsOfZones(places: Places): readonly Finding[] {
  const { sets, volumes, nodes, drivers } = places;
  const zones = new Map<string, number>();
  for (const { zone, isUsable } of nodes) {
    if (zone !== undefined && isUsable) zones.set(zone, (zones.get(zone) ?? 0) + 1);
  }
  const managed = volumes.filter(
    ({ driver, zones: own }) => driver !== undefined && drivers.includes(driver) && own.length > 0,
  );
  const found = sets.flatMap((set) => {
    const narrow = managed.filter(
      (volume) =>
        isOf(set, volume) && volume.zones.reduce((sum, zone) => sum + (zones.get(zone) ?? 0), 0) < 2,
    );
    return narrow.length === 0 ? [] : [narrowZone(set, narrow)];
  });
  return found.length > 0
    ? found
    : [ok("zones", "each StatefulSet's volumes have a second usable node in their zone")];
}

/** A StatefulSet's claims are named `<template>-<set>-<ordinal>`. */
function isOf({ namespace, name, claimTemplates }: StatefulSetView, { claim }: BoundVolumeView): boolean {
  return claimTemplates.some((template) => {
    const prefix = `${namespace}/${template}-${name}-`;
    return claim?.startsWith(prefix) === true && /^\d+$/.test(claim.slice(prefix.length));
  });
}

function narrowZone({ namespace, name }: StatefulSetView, volumes: readonly BoundVolumeView[]): Finding {
  const zones = [...new Set(volumes.flatMap((volume) => volume.zones))].toSorted();
  const claims = volumes.flatMap(({ claim }) => claim ?? []);
  return problem(
    "zones",
    "warning",
    `StatefulSet ${namespace}/${name}: ${claims.slice(0, 3).join(", ")} can be attached in ${zones.join(", ")} only, where fewer than two nodes are usable`,
    "after a drain of that node its pod is Pending until another node of the zone comes",
    `kubectl get nodes -L topology.kubernetes.io/zone   # let the group have one node more in ${zones.join(" and ")}`,
  );
}
