/** API trouble in the log: one line when an operation begins to fail or fails otherwise, one when it is well again (H7). */
import type { PortError } from "../lib/engine/errors.ts";
import type { Log } from "./log-line.ts";

export class TroubleLog {
  readonly #log: Log;
  readonly #kinds = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  began(operation: string, error: PortError): void {
    if (this.#kinds.get(operation) === error.kind) return;
    this.#kinds.set(operation, error.kind);
    this.#log("warn", "API trouble", { operation, kind: error.kind, error: error.message });
  }

  ended(operation: string): void {
    if (this.#kinds.delete(operation)) this.#log("info", "API trouble is over", { operation });
  }
}
