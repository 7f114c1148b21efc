/**
 * The dispatcher: every event of the rules, and the sweep's schedule.
 *
 * In: an EventBridge event. Out: a DispatchResult, for whoever invokes it by hand. A rejected event is delivered again by Lambda
 * and then reaches the dead-letter queue.
 *
 * Protocol with the drain function: EventBridge cannot name durable executions, so this function starts them. The name is the work
 * id: any number of deliveries of one event, and the events that follow it for the same machine, are one execution.
 *
 * Gotchas:
 * - The drain function runs only through a version or alias: EBS_DRAIN_FUNCTION is a qualified ARN.
 * - "Already started" comes for the same name with another payload, also when the first execution has long ended. It is success.
 * - Retries are configured on the alias that the rules invoke; on the function alone they hold for $LATEST only.
 */
import type { Settings } from "../lib/drain/settings.ts";
import type { Here } from "../lib/drain/signal.ts";
import type { DispatchResult } from "../lib/engine/dispatch.ts";
import { dispatch } from "../lib/engine/dispatch.ts";
import { ForeignInstances } from "../lib/engine/foreign-instances.ts";
import type { Ec2Port } from "../lib/engine/ports.ts";
import type { SweepDeps } from "../lib/engine/sweep.ts";
import { sweep } from "../lib/engine/sweep.ts";
import { composeDispatch } from "./composition.ts";

export interface DispatchHandlerDeps extends SweepDeps {
  readonly settings: Settings;
  readonly here: Here;
  readonly ec2: Pick<Ec2Port, "describeInstance" | "describeInstances">;
}

export type DispatchHandler = (event: unknown) => Promise<DispatchResult>;

/** The handler over these ports. It remembers foreign instances between events. */
export function createDispatchHandler(deps: DispatchHandlerDeps): DispatchHandler {
  const foreign = new ForeignInstances(deps.now);
  return (event) => dispatch(event, { ...deps, foreign, sweep: () => sweep(deps) });
}

let composed: DispatchHandler | undefined;

/** Lambda's entry. Built at the first event: what is wrong with the environment is then that event's error. */
export const handler: DispatchHandler = async (event) => {
  composed ??= createDispatchHandler(composeDispatch(process.env));
  return composed(event);
};
