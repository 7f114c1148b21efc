/** Where one Node's drain stands, whoever drains it: seen by one look of the engine that changes nothing. */
import type { NodeView, PodView } from "../drain/cluster.ts";
import type { Decision } from "../drain/decision.ts";
import { type EvictionRecord, type Memory, initialMemory } from "../drain/memory.ts";
import { UNSCHEDULABLE_TAINT } from "../drain/names.ts";
import { outOfServiceValue } from "../drain/node-patch.ts";
import type { Observation } from "../drain/observation.ts";
import { valueOf } from "../drain/observation.ts";
import { machineOf } from "../drain/task.ts";
import { HOUR, type Instant, isoOf } from "../drain/time.ts";
import { type Work, readWork } from "../drain/work-order.ts";
import { look } from "../engine/look.ts";
import type { Ports } from "../engine/ports.ts";
import { decide } from "../drain/decide.ts";
import { type BudgetView, isSelected } from "../kubernetes/inspection.ts";
import type { Operator } from "./operator.ts";
import { UsageError } from "./running.ts";
import { type Target, instanceOf, manualTask, targetOf } from "./target.ts";

export interface DrainingNode {
  readonly node: string;
  readonly instance: string;
  readonly group: string;
  /** Of the order on the Node; empty where somebody else cordoned it. */
  readonly work: string;
  readonly stage: string;
  /** ISO 8601; when the Node's unschedulable taint came. */
  readonly since?: string;
  readonly ageSeconds?: number;
  readonly deadline?: string;
  readonly secondsLeft?: number;
  /** Pods with their PodDisruptionBudgets, volumes with their verdicts. */
  readonly blockedBy: readonly string[];
}

/** By a cordon, an order, or the out-of-service taint. */
export function isDraining(node: NodeView): boolean {
  return node.unschedulable || node.work !== undefined || outOfServiceValue(node) !== undefined;
}

/** @param ports of this operator */
export async function drainingNode(
  node: NodeView,
  budgets: readonly BudgetView[],
  operator: Operator,
  ports: Ports,
): Promise<DrainingNode> {
  const { policy, now } = operator;
  // EC2 forgets an instance before its Node is gone: Kubernetes' word is shown then.
  const target = await targetOf(node, operator).catch((error: unknown): Target => {
    if (!(error instanceof UsageError)) throw error;
    return { node, instance: instanceOf(node) };
  });
  const task = manualTask(target, operator, policy.maxDuration);
  const memory = standing(node, now());
  const seen = await look(task, memory, policy, ports, { dryRun: true });
  const { observation } = seen;
  const blocked = { ...observation, memory: { ...memory, evictions: blockedBy(observation, budgets) } };
  const decision = decide(blocked, policy);
  const reading = readWork(node);
  const work = reading.kind === "open" || reading.kind === "void" ? reading.work : undefined;
  const since = cordonedSince(node);
  const at = now();
  return {
    node: node.name,
    instance: target.instance,
    group: work?.group ?? target.view?.group ?? "",
    work: work?.id ?? (reading.kind === "unreadable" ? "unreadable" : ""),
    stage: stageOf(node, work, reading.kind === "void", decision),
    blockedBy: decision.waitingFor,
    ...(since === undefined
      ? {}
      : { since: isoOf(since), ageSeconds: Math.max(0, Math.round((at - since) / 1_000)) }),
    ...(work === undefined
      ? {}
      : { deadline: isoOf(work.deadline), secondsLeft: Math.round((work.deadline - at) / 1_000) }),
  };
}

/** As of work that has cordoned this very Node a while ago: its attachments are then listed, not only guessed by its pods. */
function standing(node: NodeView, at: Instant): Memory {
  return {
    ...initialMemory(at),
    node: { name: node.name, uid: node.uid },
    verifiedBoot: node.bootId,
    cordonedAt: cordonedSince(node) ?? at - HOUR,
  };
}

function cordonedSince({ taints }: NodeView): Instant | undefined {
  return taints.find(({ key }) => key === UNSCHEDULABLE_TAINT)?.since;
}

/** What the eviction API would answer, from the budgets' own status. */
function blockedBy(observation: Observation, budgets: readonly BudgetView[]): Memory["evictions"] {
  const records: Record<string, EvictionRecord> = {};
  for (const pod of valueOf(observation.pods) ?? []) {
    const names = budgetsAgainst(pod, budgets);
    if (names.length === 0) continue;
    records[pod.uid] = {
      outcome: "budget",
      at: observation.at,
      pod: `${pod.namespace}/${pod.name}`,
      budget: names.join(", "),
    };
  }
  return records;
}

/** Names of the budgets that let this pod go now to nobody. */
export function budgetsAgainst(
  pod: Pick<PodView, "namespace" | "labels" | "phase">,
  budgets: readonly BudgetView[],
): readonly string[] {
  if (pod.phase !== "Running") return [];
  return budgets
    .filter(
      ({ namespace, selector, disruptionsAllowed }) =>
        namespace === pod.namespace && disruptionsAllowed === 0 && isSelected(selector, pod.labels),
    )
    .map(({ name }) => name);
}

function stageOf(node: NodeView, work: Work | undefined, isVoid: boolean, { phase }: Decision): string {
  if (outOfServiceValue(node) !== undefined) return "out of service";
  if (isVoid) return "order of an earlier boot";
  const step = phase === "confirming" ? "free" : phase;
  if (work?.handedOver !== undefined) return `${step}, with the hook`;
  if (work === undefined) return node.unschedulable ? `${step}, cordoned by others` : "not draining";
  return `${step} (${machineOf(work.id) === undefined ? "unknown work" : (work.id.split("-")[0] ?? "")})`;
}
