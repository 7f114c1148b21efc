/**
 * Executions for thousands of simulated runs: the same protocol as the durable service (named, collapsing, state kept after each
 * turn, a turn that may be lost or run twice), without its SDK. The durable backend shows that the SDK keeps this protocol.
 */
import type { Task } from "../drain/task.ts";
import { type Instant, SECOND } from "../drain/time.ts";
import type { ExecutionsPort } from "../engine/ports.ts";
import type { VirtualClock } from "./clock.ts";
import type { Random } from "./random.ts";

export interface LoopOptions<State> {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly begin: (task: Task) => State;
  /** One turn; what it throws ends the execution, as a throw in the durable check would. */
  readonly turn: (task: Task, state: State) => Promise<State>;
  /** Whole seconds to the next turn; undefined at the end. */
  readonly secondsToNext: (state: State) => number | undefined;
  /** Share of the turns whose invocation dies before its state is kept: the turn's acts stand, its memory is lost. */
  readonly crashes?: number;
  /** Share of the turns that a second invocation makes at the same time from the same state. */
  readonly doubles?: number;
}

export interface LoopExecution<State> {
  readonly name: string;
  readonly task: Task;
  readonly startedAt: Instant;
  state: State;
  turns: number;
  endedAt?: Instant;
  error?: unknown;
}

/** An invocation that died is tried again after this. */
const RETRY_AFTER = SECOND;

export class LoopExecutions<State> implements ExecutionsPort {
  readonly #options: LoopOptions<State>;
  readonly #executions = new Map<string, LoopExecution<State>>();

  constructor(options: LoopOptions<State>) {
    this.#options = options;
  }

  readonly start = async (name: string, task: Task): Promise<"started" | "already-started"> => {
    if (this.#executions.has(name)) return "already-started";
    const { clock, begin } = this.#options;
    const input = JSON.parse(JSON.stringify(task)) as Task;
    const execution = { name, task: input, startedAt: clock.now(), state: begin(input), turns: 0 };
    this.#executions.set(name, execution);
    this.#after(SECOND / 4, execution);
    return "started";
  };

  readonly listRunning = async (): Promise<readonly string[]> =>
    this.all()
      .filter((execution) => execution.endedAt === undefined)
      .map((execution) => execution.name);

  all(): readonly LoopExecution<State>[] {
    return [...this.#executions.values()];
  }

  /** Ends one from outside, as an operator's stop does. */
  stop(name: string): void {
    const execution = this.#executions.get(name);
    if (execution !== undefined && execution.endedAt === undefined)
      execution.endedAt = this.#options.clock.now();
  }

  #after(milliseconds: number, execution: LoopExecution<State>): void {
    const { clock } = this.#options;
    clock.after(milliseconds, () => {
      if (execution.endedAt !== undefined) return;
      void clock.actor(execution.name, () => this.#turn(execution));
    });
  }

  async #turn(execution: LoopExecution<State>): Promise<void> {
    const { turn, random, crashes = 0, doubles = 0 } = this.#options;
    const from = structuredClone(execution.state);
    execution.turns++;
    try {
      const runs = [turn(execution.task, from)];
      if (random.chance(doubles)) runs.push(turn(execution.task, structuredClone(from)));
      const [kept] = await Promise.all(runs);
      if (execution.endedAt !== undefined) return;
      if (random.chance(crashes)) this.#after(RETRY_AFTER, execution);
      else if (kept !== undefined) this.#follow(execution, kept);
    } catch (error) {
      execution.error = error;
      execution.endedAt = this.#options.clock.now();
    }
  }

  #follow(execution: LoopExecution<State>, state: State): void {
    execution.state = state;
    const seconds = this.#options.secondsToNext(state);
    if (seconds === undefined) execution.endedAt = this.#options.clock.now();
    else this.#after(seconds * SECOND, execution);
  }
}
