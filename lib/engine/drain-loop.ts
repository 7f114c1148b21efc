/**
 * What a drain execution carries from look to look and how it goes on, whoever runs it: the durable function, the simulator, a test.
 *
 * A turn never throws: in a durable function that would end the whole execution at once and leave the lifecycle action to its
 * timeout. A look that throws is a bug; it is logged and tried again, the action is kept alive meanwhile, and at the hard limit the
 * loop gives up out loud.
 */
import { ownDeadline } from "../drain/deadline.ts";
import type { Decision, Next, Outcome } from "../drain/decision.ts";
import type { Memory } from "../drain/memory.ts";
import { initialMemory } from "../drain/memory.ts";
import type { Policy } from "../drain/policy.ts";
import type { Task } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND, isoOf } from "../drain/time.ts";
import { errorFields } from "./errors.ts";
import { PortError } from "./errors.ts";
import type { AutoScalingPort, LifecycleActionRef, TelemetryPort } from "./ports.ts";

/** Plain JSON: it is the durable state. */
export interface DrainState {
  readonly memory: Memory;
  /** Looks begun, those that threw among them. */
  readonly turns: number;
  /** Looks in a row that threw. */
  readonly failures: number;
  readonly lastError?: string;
  /** When the first turn began. */
  readonly startedAt?: Instant;
  /** The loop's own last beat, made only where a look threw. */
  readonly beatAt?: Instant;
  readonly next: Next;
}

export interface LookResult {
  readonly memory: Memory;
  readonly next: Next;
  readonly decision: Decision;
}

export interface DrainLoop {
  readonly task: Task;
  readonly policy: Policy;
  /** One look with its actions. Throws only on a bug. */
  readonly look: (task: Task, memory: Memory) => Promise<LookResult>;
  readonly autoScaling: Pick<AutoScalingPort, "heartbeat" | "complete">;
  readonly telemetry: TelemetryPort;
  readonly now: () => Instant;
}

export interface DrainResult {
  readonly work: string;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly looks: number;
}

/** The loop gave up: the execution fails, its input reaches the dead-letter queue, and the sweep takes the machine up again. */
export class GaveUp extends Error {
  constructor(message: string) {
    super(message);
    this.name = "GaveUp";
  }
}

/** I6. */
export const MOST_TURNS = 1_000;
/** Seconds to the next try after a look that threw: doubled each time, at most the last. */
const FIRST_RETRY = 5;
const LAST_RETRY = 30;

/** Before the first look. The same for every replay: it reads no clock. */
export function initialState(task: Task): DrainState {
  return {
    memory: initialMemory(task.at),
    turns: 0,
    failures: 0,
    next: { kind: "again", inSeconds: 1 },
  };
}

/** One look and what follows from it. Never throws. */
export async function turn(state: DrainState, loop: DrainLoop): Promise<DrainState> {
  const begun = { ...state, turns: state.turns + 1, startedAt: state.startedAt ?? loop.now() };
  try {
    const { memory, next } = await loop.look(loop.task, state.memory);
    const { lastError: _mended, ...rest } = begun;
    return await bound({ ...rest, memory, next, failures: 0 }, loop);
  } catch (error) {
    return await bound(await recover(begun, error, loop), loop);
  }
}

/** Whole seconds to the next turn, at least 1; undefined at the end. */
export function secondsToNext(state: DrainState): number | undefined {
  switch (state.next.kind) {
    case "done":
      return undefined;
    case "again": {
      const seconds = Math.ceil(state.next.inSeconds);
      return Number.isFinite(seconds) ? Math.max(1, seconds) : LAST_RETRY;
    }
    default:
      return state.next satisfies never;
  }
}

/** How the work ended. Throws GaveUp where the loop gave up, and RangeError before the end. */
export function resultOf(state: DrainState, task: Task): DrainResult {
  if (state.next.kind !== "done") throw new RangeError(`${task.id} has not ended`);
  const { outcome, reason } = state.next;
  if (outcome === "gave-up") throw new GaveUp(`${task.id}: ${reason}`);
  return { work: task.id, outcome, reason, looks: state.memory.looks };
}

async function recover(state: DrainState, error: unknown, loop: DrainLoop): Promise<DrainState> {
  const failures = state.failures + 1;
  const inSeconds = Math.min(LAST_RETRY, FIRST_RETRY * 2 ** Math.min(failures - 1, 10));
  const fields = errorFields(error);
  tell(loop, { message: "a look threw", failures, inSeconds, ...fields });
  measure(loop, "ApiErrors", { cause: "bug" });
  const beatAt = await beat(state, loop);
  return {
    ...state,
    failures,
    lastError: fields["error"] ?? "unknown",
    next: { kind: "again", inSeconds },
    ...(beatAt === undefined ? {} : { beatAt }),
  };
}

/** D6 for a look that could not: a bug must not let the action run out unseen. Answers when the action was last beaten. */
async function beat(state: DrainState, loop: DrainLoop): Promise<Instant | undefined> {
  const action = openAction(state, loop.task);
  const last = Math.max(state.beatAt ?? 0, state.memory.beat?.at ?? 0);
  const isDue = loop.now() - last >= (loop.policy.heartbeatTimeout / 4) * SECOND;
  if (action === undefined || !isDue) return state.beatAt;
  return (await tried(loop, "heartbeat", () => loop.autoScaling.heartbeat(action)))
    ? loop.now()
    : state.beatAt;
}

/** Ends what would go on for ever (I6). */
async function bound(state: DrainState, loop: DrainLoop): Promise<DrainState> {
  if (state.next.kind === "done") return state;
  // Work that begins late, such as a redriven dead letter, has its margin from its own start.
  const limit =
    Math.max(ownDeadline(loop.task, loop.policy), state.startedAt ?? 0) + loop.policy.margin * SECOND;
  const isLate = loop.now() > limit;
  if (!isLate && state.turns < MOST_TURNS) return state;
  const why = isLate ? `no end by ${isoOf(limit)}` : `no end after ${MOST_TURNS} looks`;
  const reason = `${why}${state.lastError === undefined ? "" : `; the last look threw: ${state.lastError}`}`;
  const result = isLate ? await lastResult(state, loop) : "left to the sweep";
  tell(loop, { message: "gave up", reason, turns: state.turns, action: result });
  measure(loop, "DrainDeadlines", { outcome: "gave-up" });
  return { ...state, next: { kind: "done", outcome: "gave-up", reason } };
}

/** D13 for a look that could not: past the hard limit an explicit result is better than the hook's default. */
async function lastResult(state: DrainState, loop: DrainLoop): Promise<string> {
  const action = openAction(state, loop.task);
  if (action === undefined) return "none of ours known to be open";
  const result = loop.policy.onDeadline;
  return (await tried(loop, "complete", () => loop.autoScaling.complete(action, result)))
    ? `completed ${result}`
    : "left to the sweep";
}

/** Our lifecycle action where it is known by its token (D2) and may still be open. */
function openAction(state: DrainState, task: Task): LifecycleActionRef | undefined {
  if (task.kind !== "lifecycle" || task.token === undefined || state.memory.action !== "open")
    return undefined;
  return { group: task.group, hook: task.hook, instance: task.instance, token: task.token };
}

/** Whether it worked, or there was nothing to do any more. Never throws. */
async function tried(loop: DrainLoop, what: string, run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    tell(loop, { message: `${what} failed`, ...errorFields(error) });
    return error instanceof PortError && error.kind === "no-active-action";
  }
}

function tell(loop: DrainLoop, line: Readonly<Record<string, unknown>>): void {
  try {
    loop.telemetry.log({ work: loop.task.id, instance: loop.task.instance, ...line });
  } catch {
    // Nothing is left to tell it to, and a line is not worth the work.
  }
}

function measure(
  loop: DrainLoop,
  name: "ApiErrors" | "DrainDeadlines",
  dimensions: Readonly<Record<string, string>>,
): void {
  try {
    loop.telemetry.metric(name, 1, dimensions);
  } catch {
    // As above.
  }
}
