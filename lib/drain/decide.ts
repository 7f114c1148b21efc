/**
 * The drain decision. Pure: one observation in, one decision out; no clock, no environment, no I/O. The rules are applied in their
 * order, and the first that ends the work wins (docs/rules.md).
 */
import type { Decision } from "./decision.ts";
import { decideGone } from "./gone.ts";
import { decideLifecycle } from "./lifecycle.ts";
import { decideManual } from "./manual.ts";
import type { Observation } from "./observation.ts";
import type { Policy } from "./policy.ts";
import { understand } from "./situation.ts";
import { decideSpot } from "./spot.ts";

export function decide(observation: Observation, policy: Policy): Decision {
  const situation = understand(observation, policy);
  const { task } = observation;
  switch (task.kind) {
    case "lifecycle":
      return decideLifecycle(situation, task);
    case "spot":
      return decideSpot(situation, task);
    case "gone":
      return decideGone(situation, task);
    case "manual":
      return decideManual(situation, task);
    default:
      return task satisfies never;
  }
}
