/**
 * One look: observe, decide, act, and what the next look needs to know. Every look may be repeated, lost, or run twice at once.
 */
import type { Decision, Next } from "../drain/decision.ts";
import { decide } from "../drain/decide.ts";
import type { Memory } from "../drain/memory.ts";
import type { Observation } from "../drain/observation.ts";
import type { Policy } from "../drain/policy.ts";
import { remember } from "../drain/remember.ts";
import type { Task } from "../drain/task.ts";
import { act } from "./act.ts";
import { observe } from "./observe.ts";
import type { Ports } from "./ports.ts";

export interface Look {
  readonly memory: Memory;
  readonly next: Next;
  readonly decision: Decision;
  readonly observation: Observation;
}

/**
 * Failures of the ports are part of the observation and of the results, never thrown; what this throws is a bug. With `dryRun` the
 * same observation and decision come out and nothing is changed anywhere (D18).
 */
export async function look(
  task: Task,
  memory: Memory,
  policy: Policy,
  ports: Ports,
  options: { readonly dryRun?: boolean } = {},
): Promise<Look> {
  const observation = await observe(task, memory, policy, ports);
  const decision = decide(observation, policy);
  const results = options.dryRun === true ? [] : await act(observation, decision.actions, ports);
  const remembered = remember(observation, decision, results, policy);
  const changed = remembered.memory.progress.mark !== memory.progress.mark;
  const failed = results.flatMap(({ action, failure }) =>
    failure === undefined ? [] : [{ action, failure }],
  );
  ports.telemetry.look({
    observation,
    decision,
    changed,
    failures: failed.map(({ action, failure }) => `${action.kind}: ${failure.cause}: ${failure.message}`),
    causes: failed.map(({ failure }) => failure.cause),
  });
  return { ...remembered, decision, observation };
}
