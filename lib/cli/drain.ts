/** `ebs-drain drain`: cordon, evict, and wait for the volumes, from a laptop, by the engine's own turns (D19). */
import { podName } from "../drain/pods.ts";
import type { Policy } from "../drain/policy.ts";
import { valueOf } from "../drain/observation.ts";
import { classifyPods } from "../drain/pods.ts";
import type { ManualTask } from "../drain/task.ts";
import { type DrainLoop, type DrainState, initialState, secondsToNext, turn } from "../engine/drain-loop.ts";
import { look } from "../engine/look.ts";
import type { LookRecord } from "../engine/ports.ts";
import type { Output } from "./connection-options.ts";
import { decisionText } from "./decision-text.ts";
import { type DrainEnd, endText, exitCodeOf } from "./drain-end.ts";
import { DrainFollower, type Progress } from "./drain-progress.ts";
import { requireRights } from "./drain-rights.ts";
import type { Operator } from "./operator.ts";
import { portsOf } from "./operator-ports.ts";
import { DONE, type ExitCode, UsageError } from "./running.ts";
import type { Terminal } from "./simulate.ts";
import { structured } from "./structured.ts";
import { type Target, findTarget, manualTask, unverified } from "./target.ts";

export interface DrainOptions {
  /** Seconds. */
  readonly timeout: number;
  readonly dryRun: boolean;
  readonly force: boolean;
  /** Seconds after which `force` deletes what budgets still block. */
  readonly forceAfter: number;
  readonly output: Output;
}

/** What a drain by hand lives in. */
export interface DrainSurroundings {
  readonly terminal: Terminal;
  readonly progress: (task: ManualTask) => Progress;
  /** Waits; answers at once when the operator has had enough. */
  readonly wait: (seconds: number) => Promise<void>;
  readonly isInterrupted: () => boolean;
}

/** @throws UsageError for what cannot be begun */
export async function drain(
  name: string,
  options: DrainOptions,
  operator: Operator,
  around: DrainSurroundings,
): Promise<ExitCode> {
  const { terminal } = around;
  const policy = policyOf(options, operator.policy);
  const target = await findTarget(name, operator);
  const caveat = unverified(target, operator);
  if (caveat !== undefined) terminal.complain(caveat);
  const task = manualTask(target, operator, options.timeout);
  if (options.dryRun) return dryRun(task, policy, options, operator, terminal);
  await requireRights(operator.inspection, options.force);
  const end = await drainNode(task, target, policy, operator, around);
  const text = await structured(caveat === undefined ? end : { ...end, caveat }, options.output);
  if (text !== undefined) terminal.print(text);
  else for (const line of endText(end)) terminal.print(line);
  return exitCodeOf(end);
}

function policyOf({ force, forceAfter, timeout }: DrainOptions, policy: Policy): Policy {
  if (force && forceAfter >= timeout) {
    throw new UsageError(
      `--force-after ${forceAfter}s is not before the --timeout of ${timeout}s: nothing would ever be forced. Lower the one or raise the other`,
    );
  }
  return { ...policy, force, forceAfter };
}

/** C21, D18: the first look's decision, and not a change anywhere. */
async function dryRun(
  task: ManualTask,
  policy: Policy,
  { output }: DrainOptions,
  operator: Operator,
  terminal: Terminal,
): Promise<ExitCode> {
  const { memory } = initialState(task);
  const { decision } = await look(task, memory, policy, portsOf(operator), { dryRun: true });
  const text = await structured({ task, decision }, output);
  const lines =
    text === undefined ? [`dry run of ${task.node.name}:`, ...decisionText(decision, output)] : [text];
  for (const line of lines) terminal.print(line);
  return DONE;
}

async function drainNode(
  task: ManualTask,
  target: Target,
  policy: Policy,
  operator: Operator,
  around: DrainSurroundings,
): Promise<DrainEnd> {
  const progress = around.progress(task);
  const follower = new DrainFollower(policy);
  let last: LookRecord | undefined;
  const ports = portsOf(operator, {
    look: (record) => {
      if (last === undefined) warnOfBarePods(record, around.terminal);
      last = record;
      const { view, changes } = follower.follow(record);
      progress.show(view, changes);
    },
    // What the loop itself has to say: a look threw, or it gave up.
    log: (line) => around.terminal.complain(JSON.stringify(line)),
  });
  const loop: DrainLoop = {
    task,
    policy,
    look: (of, memory) => look(of, memory, policy, ports),
    autoScaling: ports.autoScaling,
    telemetry: ports.telemetry,
    now: operator.now,
  };
  const state = await untilEnd(initialState(task), loop, around);
  const end = endOf(state, target, last);
  await progress.end(end.outcome === "freed" ? undefined : end.reason);
  return end;
}

async function untilEnd(
  begun: DrainState,
  loop: DrainLoop,
  { wait, isInterrupted }: DrainSurroundings,
): Promise<DrainState> {
  let state = begun;
  while (!isInterrupted()) {
    state = await turn(state, loop);
    const seconds = secondsToNext(state);
    if (seconds === undefined) break;
    await wait(seconds);
  }
  return state;
}

function endOf({ memory, next }: DrainState, { node }: Target, last: LookRecord | undefined): DrainEnd {
  const evicted = Object.values(memory.evictions).filter(({ outcome }) => outcome === "accepted");
  const isCordoned = memory.cordonedAt !== undefined;
  return {
    node: node.name,
    outcome: next.kind === "done" ? next.outcome : "interrupted",
    reason: next.kind === "done" ? next.reason : "stopped by the operator",
    evicted: evicted.map(({ pod }) => pod),
    left: last?.decision.waitingFor ?? [],
    cordon: node.unschedulable ? "stood before" : isCordoned ? "set" : "not set",
  };
}

/** Nobody makes them anew: kubectl drain refuses them, an eviction does not. */
function warnOfBarePods({ observation }: LookRecord, { complain }: Terminal): void {
  const { evictable } = classifyPods(valueOf(observation.pods) ?? [], observation.memory);
  const bare = evictable.filter(({ controller }) => controller === undefined).map(podName);
  if (bare.length > 0) complain(`no controller will make these pods anew: ${bare.join(", ")}`);
}
