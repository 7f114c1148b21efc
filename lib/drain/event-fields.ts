/** Reading the fields of an event that came from outside. Whatever is broken is a SignalError that names the field. */
import type { Fields } from "./raw-json.ts";
import { describe } from "./raw-json.ts";
import type { Instant } from "./time.ts";

/**
 * An event of a source we read, with a body we cannot: the invocation fails, so that the event reaches the dead-letter queue
 * instead of being dropped as if it were somebody else's (S6).
 */
export class SignalError extends Error {
  /** Path of the field, such as `detail.EC2InstanceId`. */
  readonly field: string;

  constructor(field: string, expected: string, came: unknown) {
    super(`${field}: expected ${expected}, got ${describe(came)}`);
    this.name = "SignalError";
    this.field = field;
  }
}

/** A non-empty string. */
export function readText(fields: Fields, key: string, path: string): string {
  const value = fields[key];
  if (typeof value !== "string" || value === "") throw new SignalError(path, "a non-empty string", value);
  return value;
}

/** A non-empty string, or undefined where the field is absent. */
export function readOptionalText(fields: Fields, key: string, path: string): string | undefined {
  return fields[key] === undefined ? undefined : readText(fields, key, path);
}

/** One of the words. */
export function readWord<Word extends string>(
  fields: Fields,
  key: string,
  path: string,
  words: readonly Word[],
): Word {
  const value = fields[key];
  const word = words.find((candidate) => candidate === value);
  if (word === undefined) throw new SignalError(path, `one of ${words.join(", ")}`, value);
  return word;
}

/** An EC2 instance id. The longest there is has 17 digits: names of work and executions are built from it and have limits. */
export function readInstance(fields: Fields, key: string, path: string): string {
  const value = fields[key];
  if (typeof value !== "string" || !INSTANCE_ID.test(value)) {
    throw new SignalError(path, "an instance id such as i-0123456789abcdef0", value);
  }
  return value;
}

const INSTANCE_ID = /^i-[0-9a-f]{8,17}$/;

/** An ISO 8601 time with its zone, with or without fractions of a second. */
export function readTime(fields: Fields, key: string, path: string): Instant {
  const value = fields[key];
  const at = typeof value === "string" && ISO_TIME.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw new SignalError(path, "a time such as 2026-11-02T09:30:00Z", value);
  return at;
}

// `Date.parse` alone takes "1" for the year 2001.
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
