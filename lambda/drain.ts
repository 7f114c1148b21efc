/**
 * The drain function: one durable execution per piece of work.
 *
 * In: a Task (lib/drain/task.ts), from the dispatcher or the sweep, invoked asynchronously through the alias with
 * DurableExecutionName = the work id. Out: a DrainResult. A failed execution's input reaches the function's dead-letter queue.
 *
 * Protocol with the durable service: one `waitForCondition` for the whole loop. Its state is DrainState; however many looks there
 * are, the execution has a handful of operations, where a step and a wait per look would grow towards the limit of 3,000.
 *
 * Gotchas:
 * - A throw in the check fails the execution at once. `turn` never throws; what it throws for is thrown after the loop.
 * - The SDK's own wait strategy gives up after 60 attempts by throwing. Ours reads the wait out of the state.
 * - Waits are whole seconds, at least 1.
 * - Code outside the check runs again at every replay and must come to the same: no clock there. Opening ports is harmless, and
 *   gives every invocation a fresh token: one from before a suspend of minutes may have expired.
 * - The check runs while the checkpoint of its start is on its way; an invocation that dies repeats the look. Any look may happen
 *   twice, also at the same time.
 */
import type { DurableLambdaHandler } from "@aws/durable-execution-sdk-js";
import { composeDrain } from "./composition.ts";
import { createDrainHandler } from "./drain-handler.ts";

let composed: DurableLambdaHandler | undefined;

/** Lambda's entry. Built at the first invocation: what is wrong with the environment is then that invocation's error. */
export const handler: DurableLambdaHandler = async (event, context) => {
  composed ??= createDrainHandler(composeDrain(process.env));
  return composed(event, context);
};
