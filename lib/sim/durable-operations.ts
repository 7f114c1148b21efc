/** The operations of one durable execution, as the service keeps them: what a checkpoint changes and what a due timer wakes. */
import type { OperationStatus, OperationUpdate, WireOperation } from "@aws/durable-execution-sdk-js";
import { DurableExecutionClientError, DurableExecutionClientErrorScope } from "@aws/durable-execution-sdk-js";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";

/** Id of the operation that carries the execution's input; always the first. */
const INPUT = "input";

export class DurableOperations {
  readonly #byId = new Map<string, WireOperation>();

  constructor(payload: string, now: Instant) {
    this.#byId.set(INPUT, {
      Id: INPUT,
      Type: "EXECUTION",
      Status: "STARTED",
      StartTimestamp: new Date(now),
      ExecutionDetails: { InputPayload: payload },
    });
  }

  /** Copies, in the order they were begun: what an invocation is handed. */
  list(): WireOperation[] {
    return structuredClone([...this.#byId.values()]);
  }

  /** How many there are, the input's not counted. */
  get count(): number {
    return this.#byId.size - 1;
  }

  /** One checkpoint's update. Throws for one that the service refuses: that fails the execution at once. */
  apply(update: OperationUpdate, now: Instant): WireOperation {
    const id = update.Id ?? "";
    const before = this.#byId.get(id) ?? begun(update, now);
    if (isClosed(before.Status)) throw refusal(`operation ${update.Name ?? id} is closed`);
    const after = { ...before, ...change(before, update, now) };
    this.#byId.set(id, after);
    return structuredClone(after);
  }

  /** When the first waiting operation is due; undefined where none waits. */
  nextDue(): Instant | undefined {
    const due = [...this.#byId.values()].flatMap((operation) => dueAt(operation) ?? []);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Ends the waits that are over. */
  wake(now: Instant): void {
    for (const [id, operation] of this.#byId) {
      const due = dueAt(operation);
      if (due === undefined || due > now) continue;
      this.#byId.set(id, { ...operation, Status: operation.Type === "WAIT" ? "SUCCEEDED" : "READY" });
    }
  }
}

function begun(update: OperationUpdate, now: Instant): WireOperation {
  return {
    Id: update.Id,
    ParentId: update.ParentId,
    Name: update.Name,
    Type: update.Type,
    SubType: update.SubType,
    StartTimestamp: new Date(now),
    Status: undefined,
  };
}

function change(before: WireOperation, update: OperationUpdate, now: Instant): Partial<WireOperation> {
  const attempt = before.StepDetails?.Attempt ?? 0;
  switch (update.Action) {
    case "START":
      return update.Type === "WAIT"
        ? {
            Status: "STARTED",
            WaitDetails: { ScheduledEndTimestamp: later(now, update.WaitOptions?.WaitSeconds) },
          }
        : { Status: "STARTED", StepDetails: { ...before.StepDetails, Attempt: attempt } };
    case "RETRY":
      return {
        Status: "PENDING",
        StepDetails: {
          Attempt: attempt + 1,
          Result: update.Payload,
          Error: update.Error,
          NextAttemptTimestamp: later(now, update.StepOptions?.NextAttemptDelaySeconds),
        },
      };
    case "SUCCEED":
    case "FAIL":
      return {
        Status: update.Action === "SUCCEED" ? "SUCCEEDED" : "FAILED",
        EndTimestamp: new Date(now),
        StepDetails: { Attempt: attempt + 1, Result: update.Payload, Error: update.Error },
      };
    case "CANCEL":
    case undefined:
      throw refusal(`this service knows no ${update.Action ?? "update without an action"}`);
    default:
      return update.Action satisfies never;
  }
}

/** The service takes whole seconds, at least one. */
function later(now: Instant, seconds: number | undefined): Date {
  if (seconds === undefined || !Number.isInteger(seconds) || seconds < 1) {
    throw refusal(`a wait of ${seconds} seconds: whole seconds, at least 1`);
  }
  return new Date(now + seconds * SECOND);
}

function dueAt(operation: WireOperation): Instant | undefined {
  const waits =
    operation.Status === "PENDING"
      ? operation.StepDetails?.NextAttemptTimestamp
      : operation.Type === "WAIT" && operation.Status === "STARTED"
        ? operation.WaitDetails?.ScheduledEndTimestamp
        : undefined;
  return waits === undefined ? undefined : new Date(waits).getTime();
}

function isClosed(status: OperationStatus | undefined): boolean {
  return status === "SUCCEEDED" || status === "FAILED";
}

function refusal(message: string): DurableExecutionClientError {
  return new DurableExecutionClientError(message, { scope: DurableExecutionClientErrorScope.EXECUTION });
}
