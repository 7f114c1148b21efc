/** An error as fields of a log line. */
import { PortError } from "./errors.ts";

/**
 * `error` is the message. A PortError adds the kind that says what to do and the operation; anything else is unexpected and adds
 * its stack, which says where.
 */
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
