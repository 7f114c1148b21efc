/** Reads through the ports: each one counted, each failure turned into a value that the decision can see. */
import type { Reading } from "../drain/observation.ts";
import { PortError } from "./errors.ts";

export class Reader {
  readonly #calls: Record<string, number> = {};

  /** Requests so far, by port method. */
  get calls(): Readonly<Record<string, number>> {
    return { ...this.#calls };
  }

  /** `undefined` (not there) becomes null; a PortError becomes `failed`; anything else is a bug and goes on up. */
  async read<T>(operation: string, ask: () => Promise<T | undefined>): Promise<Reading<T | null>> {
    this.#calls[operation] = (this.#calls[operation] ?? 0) + 1;
    try {
      return { kind: "read", value: (await ask()) ?? null };
    } catch (error) {
      if (!(error instanceof PortError)) throw error;
      return {
        kind: "failed",
        failure: { operation: error.operation, cause: error.kind, message: error.message },
      };
    }
  }

  /** The same for what is always there, such as a list. */
  async readAll<T>(operation: string, ask: () => Promise<T>): Promise<Reading<T>> {
    return (await this.read(operation, ask)) as Reading<T>;
  }
}

/** Several readings as one: failed as soon as one failed, in order otherwise, those not there left out. */
export function present<T>(readings: readonly Reading<T | null>[]): Reading<readonly T[]> {
  const values: T[] = [];
  for (const reading of readings) {
    if (reading.kind === "failed") return reading;
    if (reading.kind === "read" && reading.value !== null) values.push(reading.value);
  }
  return { kind: "read", value: values };
}
