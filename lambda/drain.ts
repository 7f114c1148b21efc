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
import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import type { Memory } from "../lib/drain/memory.ts";
import type { Policy } from "../lib/drain/policy.ts";
import type { Settings } from "../lib/drain/settings.ts";
import type { Task } from "../lib/drain/task.ts";
import type { DrainLoop, DrainState, LookResult } from "../lib/engine/drain-loop.ts";
import { initialState, resultOf, secondsToNext, turn } from "../lib/engine/drain-loop.ts";
import { errorFields } from "../lib/engine/error-fields.ts";
import type { Ports } from "../lib/engine/ports.ts";
import { readTask } from "../lib/engine/task-input.ts";
import { composeDrain } from "./composition.ts";

export interface DrainDeps {
  readonly settings: Settings;
  /** Ports for this task, with a fresh token for its cluster. Called once per invocation; must not ask anything of the network. */
  readonly openPorts: (task: Task) => Ports;
  readonly look: (task: Task, memory: Memory, policy: Policy, ports: Ports) => Promise<LookResult>;
  /** Told of what no loop exists for yet: an input that is no task. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

/** The durable handler over these ports. */
export function createDrainHandler(deps: DrainDeps): DurableLambdaHandler {
  return withDurableExecution(async (input: unknown, context) => {
    const loop = openLoop(input, deps);
    const end = await context.waitForCondition<DrainState>("drain", (state) => turn(state, loop), {
      initialState: initialState(loop.task),
      waitStrategy: (state) => {
        const seconds = secondsToNext(state);
        return seconds === undefined
          ? { shouldContinue: false }
          : { shouldContinue: true, delay: { seconds } };
      },
    });
    return resultOf(end, loop.task);
  });
}

function openLoop(input: unknown, deps: DrainDeps): DrainLoop {
  try {
    const task = readTask(input, deps.settings);
    const ports = deps.openPorts(task);
    return {
      task,
      policy: deps.settings.policy,
      look: (of, memory) => deps.look(of, memory, deps.settings.policy, ports),
      autoScaling: ports.autoScaling,
      telemetry: ports.telemetry,
      now: ports.now,
    };
  } catch (error) {
    deps.log({ message: "no task", ...errorFields(error) });
    throw error;
  }
}

let composed: DurableLambdaHandler | undefined;

/** Lambda's entry. Built at the first invocation: what is wrong with the environment is then that invocation's error. */
export const handler: DurableLambdaHandler = async (event, context) => {
  composed ??= createDrainHandler(composeDrain(process.env));
  return composed(event, context);
};
