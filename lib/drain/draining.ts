/** The steps that lifecycle and spot work share: cordon, evict, and knowing when the node holds nothing any more. */
import type { PodView } from "./cluster.ts";
import type { Action, Decision, Eviction } from "./decision.ts";
import { eventOnce, listed, lookAgain } from "./drafting.ts";
import { cordonPatch, workPatch } from "./node-patch.ts";
import { controllerKey, evictionOrder, needsEviction, podName } from "./pods.ts";
import {
  type Situation,
  blockersOf,
  hasSeenBothSources,
  hasSettled,
  isMachineDown,
  isWorkOurs,
  ownOrder,
} from "./situation.ts";
import { shortHash } from "./task.ts";
import { SECOND } from "./time.ts";
import type { Work } from "./work-order.ts";

/** The order this task writes into the Node's annotation; a cordon that was ours stays ours. */
export function workOf(situation: Situation): Work {
  const { task, node, deadline, work, verdicts } = situation;
  const earlier = work.kind === "open" || work.kind === "void" ? work.work : undefined;
  const kept = ownOrder(situation);
  return {
    id: task.id,
    bootID: node?.bootId ?? "",
    group: task.group,
    deadline,
    cordoned: node?.unschedulable !== true || earlier?.cordoned === true,
    ignore: verdicts.flatMap((volume) => (volume.verdict === "pinned" ? (volume.attachment ?? []) : [])),
    ...(task.kind === "lifecycle" ? { hook: task.hook } : {}),
    ...(kept?.handedOver === undefined ? {} : { handedOver: kept.handedOver }),
    ...(kept?.token === undefined ? {} : { token: kept.token }),
  };
}

/**
 * D5: unschedulable and `work` in one patch, before anything else is changed; asserted again while work is open. Also keeps
 * `ignore` at what is pinned now (D11). Nothing where the Node says all of that already.
 */
export function cordon(situation: Situation): readonly Action[] {
  const { node, work, task } = situation;
  // Where EC2 says that the machine is down, whoever lives under the Node's name is another one (I9).
  if (node === undefined || isMachineDown(situation)) return [];
  const wanted = workOf(situation);
  if (!hasOrder(situation) || !node.unschedulable) {
    return [
      { kind: "patch-node", purpose: "cordon", patch: cordonPatch(node, wanted) },
      ...eventOnce(
        situation,
        "DrainStarted",
        `${task.kind} work ${task.id} began: cordoned, evicting its pods`,
      ),
    ];
  }
  const stale = work.kind === "open" && !isSameList(work.work.ignore, wanted.ignore);
  return stale && work.work.id === task.id
    ? [
        {
          kind: "patch-node",
          purpose: "ignore",
          patch: workPatch(node, { ...work.work, ignore: wanted.ignore }),
        },
      ]
    : [];
}

/**
 * A machine has one order: a lifecycle's, once there is one, because the hook completes by it, and that of its latest action, because
 * the deadline is in it. Work that has written its own once leaves a later action's alone.
 */
function hasOrder(situation: Situation): boolean {
  const { work, task, memory } = situation;
  if (work.kind !== "open" || !isWorkOurs(situation)) return false;
  if (task.kind !== "lifecycle") return true;
  if (work.work.hook === undefined) return false;
  return ownOrder(situation) !== undefined || memory.cordonedAt !== undefined;
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && [...a].sort().join() === [...b].sort().join();
}

/** D7 and, where the operator asked for it, `force`: nothing where no pod is left to go or nothing runs there any more. */
export function evict(situation: Situation, longestGrace?: number): Decision | undefined {
  const { pods, memory } = situation;
  if (pods.evictable.length === 0 || isMachineDown(situation)) return undefined;
  const groups = evictionOrder(pods.evictable)
    .map((group) =>
      group.filter((pod) => needsEviction(pod, memory)).map((pod) => eviction(pod, longestGrace)),
    )
    .filter((group) => group.length > 0);
  const blocked = pods.evictable.filter(
    (pod) => memory.evictions[pod.uid]?.outcome === "budget" && !pod.deleting,
  );
  return lookAgain(situation, {
    phase: "evicting",
    rules: ["D7", "D9"],
    reason: `${pods.evictable.length} pods have to go: ${listed(blockersOf(situation))}`,
    actions: [
      ...(groups.length > 0 ? [{ kind: "evict" as const, groups }] : []),
      ...reportBlocked(situation, blocked),
      ...forceBlocked(situation, blocked),
    ],
  });
}

/** The grace is cut, never lengthened (D16). */
function eviction(pod: PodView, longest: number | undefined): Eviction {
  const controller = controllerKey(pod);
  return {
    namespace: pod.namespace,
    name: pod.name,
    uid: pod.uid,
    ...(longest === undefined || (pod.graceSeconds ?? Infinity) <= longest ? {} : { graceSeconds: longest }),
    ...(controller === undefined ? {} : { controller }),
  };
}

function reportBlocked(situation: Situation, blocked: readonly PodView[]): readonly Action[] {
  if (blocked.length === 0) return [];
  const budgets = blocked.map(
    ({ uid }) => situation.memory.evictions[uid]?.budget ?? "a PodDisruptionBudget",
  );
  const names = blocked.map((pod, index) => `${podName(pod)} by ${budgets[index]}`);
  return [
    { kind: "metric", name: "BlockedEvictions", value: blocked.length },
    // Another set of budgets is news, another pod behind the same ones is not (C15).
    ...eventOnce(situation, "EvictionBlocked", `eviction blocked: ${listed(names)}`, {
      detail: shortHash([...new Set(budgets)].sort().join()),
      type: "Warning",
    }),
  ];
}

/** I5: only with `force` on and its time come. */
function forceBlocked({ policy, now, task }: Situation, blocked: readonly PodView[]): readonly Action[] {
  const due = policy.force && now - task.at >= policy.forceAfter * SECOND;
  return due && blocked.length > 0
    ? [{ kind: "delete-pods", pods: blocked.map(({ namespace, name, uid }) => ({ namespace, name, uid })) }]
    : [];
}

/**
 * D12's condition: every source read in this look, no evictable pod (none that could still run: C26), no blocking volume, and the
 * cordon (or the Node's absence) confirmed at least 5 s ago.
 */
export function isDrained(situation: Situation): boolean {
  return (
    hasSeenBothSources(situation) &&
    (situation.ownership === "ours" || situation.ownership === "absent") &&
    (situation.pods.evictable.length === 0 || isMachineDown(situation)) &&
    situation.blocking.length === 0 &&
    hasSettled(situation)
  );
}

/**
 * Whether the look before found the same rule's whole condition true (D12's "agree"). For the drained node this look must also have
 * looked for attachments under names that it did not know, unless an earlier list did and found nothing new.
 */
export function hasAgreed(situation: Situation, rule: string): boolean {
  const { memory, observation } = situation;
  if (memory.agreed !== rule) return false;
  return (
    rule !== "D12" || observation.rows.kind === "read" || (memory.lists.count >= 2 && !memory.lists.foundNew)
  );
}

/** Volumes are all that is left: wait for them, and say which. */
export function awaitVolumes(situation: Situation): Decision {
  const { blocking } = situation;
  const settling = blocking.length === 0;
  return lookAgain(situation, {
    phase: settling ? "confirming" : "detaching",
    rules: settling ? ["D12"] : ["D11"],
    reason: settling
      ? "no pod and no volume is left, waiting for both sources to confirm it"
      : `waiting for ${blocking.length} volumes: ${listed(blockersOf(situation))}`,
    actions: [{ kind: "metric", name: "VolumesBlocking", value: blocking.length }],
  });
}
