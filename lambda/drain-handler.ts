/** The durable handler of the drain, over whatever ports it is given: Lambda's (drain.ts) or a simulated world's. */
import type { DurableLambdaHandler } from "@aws/durable-execution-sdk-js";
import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import type { Memory } from "../lib/drain/memory.ts";
import type { Policy } from "../lib/drain/policy.ts";
import type { Settings } from "../lib/drain/settings.ts";
import type { Task } from "../lib/drain/task.ts";
import type { DrainLoop, DrainState, LookResult } from "../lib/engine/drain-loop.ts";
import { initialState, resultOf, secondsToNext, turn } from "../lib/engine/drain-loop.ts";
import { errorFields } from "../lib/engine/errors.ts";
import type { Ports } from "../lib/engine/ports.ts";
import { readTask } from "../lib/engine/task-input.ts";

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
