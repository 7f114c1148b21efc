/** How a look's actions ended, and what of that the next look has to know. */
import type { NodeView } from "./cluster.ts";
import type { Action } from "./decision.ts";
import { type EvictionRecord, type Memory, reportKey } from "./memory.ts";
import type { Failure, Observation } from "./observation.ts";
import { podName } from "./pods.ts";

/** How one action ended. */
export interface ActionResult {
  readonly action: Action;
  /** Absent: done; of `evict`, that the round went to its end. `skipped` where an earlier action of the same look failed that it depends on. */
  readonly failure?: Failure;
  readonly skipped?: boolean;
  /** The Node after a patch. */
  readonly node?: NodeView;
  /** `evict`: by uid, how each request ended. */
  readonly evictions?: Readonly<Record<string, Pick<EvictionRecord, "outcome" | "budget">>>;
}

export function rememberResult(memory: Memory, result: ActionResult, observation: Observation): Memory {
  const { action, failure } = result;
  const done = failure === undefined && result.skipped !== true;
  const { at } = observation;
  switch (action.kind) {
    case "heartbeat":
      return failure?.cause === "no-active-action"
        ? { ...memory, action: "over" }
        : { ...memory, beat: { at: done ? at : (memory.beat?.at ?? at), ok: done } };
    case "complete":
      return rememberCompletion(memory, result);
    case "patch-node":
      return done && action.purpose === "cordon" ? { ...memory, cordonedAt: at } : memory;
    case "hand-over":
      return done ? { ...memory, handedOver: action.pod.uid, handedOverAt: at } : memory;
    case "force-off":
      return done && memory.taintedAt === undefined ? { ...memory, taintedAt: at } : memory;
    case "evict":
      return slowedDown(rememberEvictions(memory, result, at), result, observation);
    case "event":
      return done
        ? { ...memory, reported: [...memory.reported, reportKey(action.reason, action.detail)] }
        : memory;
    case "delete-pods":
    case "metric":
      return memory;
    default:
      return action satisfies never;
  }
}

function rememberCompletion(memory: Memory, { failure, skipped }: ActionResult): Memory {
  if (skipped === true) return memory;
  if (failure === undefined) return { ...memory, action: "completed" };
  if (failure.cause === "no-active-action") {
    return { ...memory, action: "over", completion: memory.completion === "lost" ? "lost" : "refused" };
  }
  const lost = failure.cause === "network" || failure.cause === "server";
  return lost ? { ...memory, completion: "lost" } : memory;
}

/** D7, D17: asked to slow down, or not answered at all: back off as if Kubernetes could not be read. */
function slowedDown(memory: Memory, { failure }: ActionResult, before: Observation): Memory {
  return failure === undefined ? memory : { ...memory, blindLooks: before.memory.blindLooks + 1 };
}

function rememberEvictions(memory: Memory, result: ActionResult, at: number): Memory {
  if (result.action.kind !== "evict" || result.evictions === undefined) return memory;
  const asked = result.action.groups.flat();
  const evictions = { ...memory.evictions };
  const controllers = new Set(memory.evictedControllers);
  for (const pod of asked) {
    const outcome = result.evictions[pod.uid];
    if (outcome === undefined) continue;
    evictions[pod.uid] = { ...outcome, at, pod: podName(pod) };
    if (outcome.outcome === "accepted" && pod.controller !== undefined) controllers.add(pod.controller);
  }
  return { ...memory, evictions, evictedControllers: [...controllers] };
}
