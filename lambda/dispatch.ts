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
import { composeDispatch } from "./composition.ts";
import type { DispatchHandler } from "./dispatch-handler.ts";
import { createDispatchHandler } from "./dispatch-handler.ts";

let composed: DispatchHandler | undefined;

/** Lambda's entry. Built at the first event: what is wrong with the environment is then that event's error. */
export const handler: DispatchHandler = async (event) => {
  composed ??= createDispatchHandler(composeDispatch(process.env));
  return composed(event);
};
