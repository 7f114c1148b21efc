/** What tests of the domain ask of a decision. */
import type { Action, Decision, Eviction } from "../../lib/drain/decision.ts";
import { readWork } from "../../lib/drain/work-order.ts";
import { BOOT } from "./observation-builder.ts";

/** What it does to the world, in order: without what it only tells. */
export const changes = (decision: Decision): readonly string[] =>
  decision.actions.map(({ kind }) => kind).filter((kind) => kind !== "event" && kind !== "metric");

/** Reasons of its Events and names of its metrics, in order. */
export const told = (decision: Decision): readonly string[] =>
  decision.actions.flatMap((action) =>
    action.kind === "event" ? [action.reason] : action.kind === "metric" ? [action.name] : [],
  );

export function find<Kind extends Action["kind"]>(
  decision: Decision,
  kind: Kind,
): Extract<Action, { kind: Kind }> | undefined {
  return decision.actions.find((action): action is Extract<Action, { kind: Kind }> => action.kind === kind);
}

export function evictions(decision: Decision): readonly Eviction[] {
  return decision.actions.flatMap((action) => (action.kind === "evict" ? action.groups.flat() : []));
}

/** The order that a cordon or hand-over writes. */
export function writtenWork(decision: Decision): ReturnType<typeof readWork> {
  const patch = find(decision, "patch-node")?.patch ?? [];
  const value = patch.flatMap((step) =>
    step.op === "add" && step.path.endsWith("~1work") ? [step.value] : [],
  );
  return readWork({ work: String(value[0]), bootId: BOOT });
}
