/** The hook's log: one JSON object per line, one line per change of state (C30). */
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
