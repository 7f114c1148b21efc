/** Which actions of a decision carry the others: where one of them fails, what builds on it or tells of it is left out. */
import type { Action } from "./decision.ts";
import type { EventReason, MetricName } from "./names.ts";

/** The work does not go on as decided unless it succeeds. */
export function isEssential(action: Action): boolean {
  switch (action.kind) {
    case "complete":
    case "hand-over":
    case "force-off":
      return true;
    case "patch-node":
      return action.purpose !== "ignore";
    case "heartbeat":
    case "evict":
    case "delete-pods":
    case "event":
    case "metric":
      return false;
    default:
      return action satisfies never;
  }
}

/** What is so whether or not anything of this look succeeds. */
const STATES: readonly (EventReason | MetricName)[] = [
  "DrainDeadlineNear",
  "DeadlinesNear",
  "EvictionBlocked",
  "BlockedEvictions",
  "NodeAdopted",
  "NodesAdopted",
  "VolumesBlocking",
  "ClusterUnreachable",
  "NoProgress",
];

/**
 * It is left out once an essential action of the same look has failed: a change that needs the cordon (D5), an Event or metric that
 * would tell of a success that was none.
 */
export function buildsOnEssential(action: Action): boolean {
  switch (action.kind) {
    case "evict":
    case "delete-pods":
    case "hand-over":
    case "force-off":
      return true;
    case "event":
      return !STATES.includes(action.reason);
    case "metric":
      return !STATES.includes(action.name);
    case "heartbeat":
    case "complete":
    case "patch-node":
      return false;
    default:
      return action satisfies never;
  }
}
