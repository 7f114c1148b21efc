/**
 * Lambda's durable execution service in memory, on a virtual or a real clock. Invocations really suspend at every wait and replay
 * through the SDK, and an invocation can be made to die at any checkpoint; it is then repeated, as Lambda does.
 */
import type {
  CheckpointDurableExecutionResponse,
  DurableExecutionInvocationInput,
  DurableExecutionInvocationOutput,
  DurableLambdaHandler,
  OperationUpdate,
} from "@aws/durable-execution-sdk-js";
import { InvocationStatus } from "@aws/durable-execution-sdk-js";
import type { Task } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import { PortError } from "../engine/errors.ts";
import type { ExecutionsPort } from "../engine/ports.ts";
import type { Clock } from "./clock.ts";
import { VirtualClock } from "./clock.ts";
import { invocationContext, invocationInput } from "./durable-invocation.ts";
import { DurableOperations } from "./durable-operations.ts";
import type { Faults } from "./faults.ts";
import { NO_FAULTS, callThroughFaults } from "./faults.ts";

/** What a test may do to an invocation at a checkpoint: let it die before the service has it, or after. */
export type CheckpointFate = "crash-before" | "crash-after" | undefined;

export interface Checkpoint {
  readonly execution: string;
  /** Counted over all executions, from 1. */
  readonly number: number;
  /** `START`, `RETRY`, `SUCCEED`, …. */
  readonly actions: readonly string[];
}

export interface DurableBackendOptions {
  readonly clock: Clock;
  readonly handler: DurableLambdaHandler;
  readonly onCheckpoint?: (checkpoint: Checkpoint) => CheckpointFate;
  /** Operations `executions.start`, `executions.listRunning` and `executions.checkpoint`. */
  readonly faults?: Faults;
}

export interface ExecutionReport {
  readonly name: string;
  readonly status: "RUNNING" | "SUCCEEDED" | "FAILED";
  /** The input, and what the handler returned or threw. */
  readonly payload: unknown;
  readonly result?: unknown;
  readonly error?: string;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
  readonly invocations: number;
  readonly checkpoints: number;
  readonly operations: number;
  /** Bytes of the largest state that an invocation was handed. */
  readonly largestState: number;
}

type Execution = { -readonly [Key in keyof ExecutionReport]: ExecutionReport[Key] } & {
  readonly text: string;
  readonly held: DurableOperations;
};

/** From an accepted start to the handler: queue and cold start. */
const START_DELAY = 100;
const CHECKPOINT_LATENCY = 10;
/** Until a dead invocation is repeated. */
const RETRY_DELAY = 2 * SECOND;
/** An execution that is invoked more often goes round in circles. */
const MOST_INVOCATIONS = 5_000;

export class DurableBackend {
  readonly #options: DurableBackendOptions;
  readonly #executions = new Map<string, Execution>();
  #checkpoints = 0;

  constructor(options: DurableBackendOptions) {
    this.#options = options;
  }

  /**
   * Starts a named execution. The same name with the same payload is the same execution and no error; with another payload it is
   * `already-started`, also when the first one has ended. Throws RangeError for a name that Lambda refuses.
   */
  start(name: string, payload: unknown): "started" | "same" | "already-started" {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new RangeError(`"${name}" is no name of an execution`);
    const text = JSON.stringify(payload);
    const known = this.#executions.get(name);
    if (known !== undefined) return known.text === text ? "same" : "already-started";
    const now = this.#options.clock.now();
    const execution: Execution = {
      name,
      status: "RUNNING",
      payload: JSON.parse(text) as unknown,
      startedAt: now,
      invocations: 0,
      checkpoints: 0,
      operations: 0,
      largestState: 0,
      text,
      held: new DurableOperations(text, now),
    };
    this.#executions.set(name, execution);
    this.#invokeIn(execution, START_DELAY);
    return "started";
  }

  /** Reports of all executions, in the order of their starts. */
  executions(): readonly ExecutionReport[] {
    return [...this.#executions.values()].map(({ text: _text, held: _held, ...report }) => ({ ...report }));
  }

  execution(name: string): ExecutionReport | undefined {
    return this.executions().find((report) => report.name === name);
  }

  listRunning(): readonly string[] {
    return this.executions()
      .filter((report) => report.status === "RUNNING")
      .map((report) => report.name);
  }

  /** Inputs of the failed executions: what the function's dead-letter queue holds. */
  deadLetters(): readonly unknown[] {
    return this.executions()
      .filter((report) => report.status === "FAILED")
      .map((report) => report.payload);
  }

  executionsPort(): ExecutionsPort {
    return {
      start: (name, task) => this.#call("executions.start", () => this.#startTask(name, task)),
      listRunning: () => this.#call("executions.listRunning", () => this.listRunning()),
    };
  }

  /** Lambda answers the same payload with the same execution's ARN: the caller cannot tell it from a new one. */
  #startTask(name: string, task: Task): "started" | "already-started" {
    try {
      return this.start(name, task) === "already-started" ? "already-started" : "started";
    } catch (error) {
      throw new PortError("rejected", "executions.start", String(error), { cause: error });
    }
  }

  async #call<T>(operation: string, effect: () => T): Promise<T> {
    const { clock, faults = NO_FAULTS } = this.#options;
    return clock instanceof VirtualClock ? callThroughFaults(clock, faults, operation, effect) : effect();
  }

  #invokeIn(execution: Execution, milliseconds: number): void {
    const { clock } = this.#options;
    clock.after(milliseconds, () => {
      execution.invocations++;
      const work = (): Promise<void> => this.#invoke(execution);
      const invocation =
        clock instanceof VirtualClock
          ? clock.actor(`${execution.name} #${execution.invocations}`, work)
          : work();
      invocation.catch((error: unknown) =>
        this.#end(execution, "FAILED", { error: `backend: ${String(error)}` }),
      );
    });
  }

  /** One invocation and what follows from it: an end, a timer, or a repetition. */
  async #invoke(execution: Execution): Promise<void> {
    const { clock, handler } = this.#options;
    if (execution.invocations > MOST_INVOCATIONS) throw new Error("invoked without end");
    execution.held.wake(clock.now());
    let output;
    try {
      output = await handler(
        this.#inputOf(execution),
        invocationContext(execution.name, execution.invocations),
      );
    } catch {
      // The look of a dead invocation may still be on its way; as one actor the two keep the virtual clock exact.
      if (clock instanceof VirtualClock) await clock.sleep(RETRY_DELAY);
      this.#invokeIn(execution, clock instanceof VirtualClock ? 0 : RETRY_DELAY);
      return;
    }
    this.#follow(execution, output);
  }

  #follow(execution: Execution, output: DurableExecutionInvocationOutput): void {
    switch (output.Status) {
      case InvocationStatus.SUCCEEDED: {
        const result = output.Result === undefined ? undefined : (JSON.parse(output.Result) as unknown);
        this.#end(execution, "SUCCEEDED", result === undefined ? {} : { result });
        break;
      }
      case InvocationStatus.FAILED:
        this.#end(execution, "FAILED", { error: output.Error?.ErrorMessage ?? "no message" });
        break;
      case InvocationStatus.PENDING: {
        const due = execution.held.nextDue();
        if (due === undefined) throw new Error("suspended with nothing to wait for");
        this.#invokeIn(execution, due - this.#options.clock.now());
        break;
      }
      default:
        output satisfies never;
    }
  }

  #end(
    execution: Execution,
    status: "SUCCEEDED" | "FAILED",
    how: { readonly result?: unknown; readonly error?: string },
  ): void {
    Object.assign(execution, { status, endedAt: this.#options.clock.now(), ...how });
  }

  #inputOf(execution: Execution): DurableExecutionInvocationInput {
    const operations = execution.held.list();
    const bytes = Buffer.byteLength(JSON.stringify(operations.slice(1)));
    execution.largestState = Math.max(execution.largestState, bytes);
    return invocationInput(execution.name, execution.checkpoints, operations, {
      getExecutionState: async () => ({ Operations: [] }),
      checkpoint: async (request) => {
        const { clock } = this.#options;
        const apply = () => this.#apply(execution, request.Updates ?? []);
        return clock instanceof VirtualClock ? clock.call(CHECKPOINT_LATENCY, apply) : apply();
      },
    });
  }

  #apply(execution: Execution, updates: readonly OperationUpdate[]): CheckpointDurableExecutionResponse {
    const fate = this.#fateOf(
      execution,
      updates.map((update) => update.Action ?? "?"),
    );
    if (fate === "crash-before") throw new Error("the invocation died before this checkpoint");
    const now = this.#options.clock.now();
    const touched = updates.map((update) => execution.held.apply(update, now));
    execution.operations = execution.held.count;
    if (fate === "crash-after") throw new Error("the invocation died after this checkpoint");
    return { CheckpointToken: `${execution.checkpoints}`, NewExecutionState: { Operations: touched } };
  }

  #fateOf(execution: Execution, actions: readonly string[]): CheckpointFate {
    execution.checkpoints++;
    const number = ++this.#checkpoints;
    const fault = this.#options.faults?.before("executions.checkpoint");
    if (fault !== undefined) return fault.kind === "fail" ? "crash-before" : "crash-after";
    return this.#options.onCheckpoint?.({ execution: execution.name, number, actions });
  }
}
