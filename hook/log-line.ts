/** The hook's log: one JSON object per line, one line per change of state (C30). */
import { PortError } from "../lib/engine/errors.ts";
import { isoOf } from "../lib/drain/time.ts";

export type Level = "info" | "warn" | "error";

/** `message` is a few fixed words; what differs goes into the fields. */
export type Log = (level: Level, message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** @param write takes a whole line */
export function createLog(
  write: (line: string) => void,
  context: Readonly<Record<string, string>>,
  now: () => number = Date.now,
): Log {
  return (level, message, fields = {}) => {
    write(`${JSON.stringify({ time: isoOf(now()), level, message, ...context, ...fields })}\n`);
  };
}

/** An error as fields of a line. Where it is not one that a port may fail with, its stack says where. */
export function errorFields(error: unknown): Readonly<Record<string, string>> {
  if (error instanceof PortError) {
    return { error: error.message, kind: error.kind, operation: error.operation };
  }
  if (!(error instanceof Error)) return { error: String(error) };
  return {
    error: `${error.name}: ${error.message}`,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
  };
}
