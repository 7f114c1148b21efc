/**
 * Checks for settings that people write. A check answers the value, or undefined after it has added to the list of problems, so
 * that all of them are found in one reading.
 */
import { nearest } from "./near-miss.ts";
import { describe, isObject, shorten } from "./raw-json.ts";

export interface Problem {
  /** Where it is, such as `clusters[1].groups[0]`; empty for the whole. */
  readonly path: string;
  /** What was expected, what came, and how to mend it. */
  readonly problem: string;
}

export type Check<T> = (value: unknown, path: string, problems: Problem[]) => T | undefined;

/** One check per key; a key that is absent from the answer was absent, or has a problem. */
export type Checks<T> = { readonly [Key in keyof T]-?: Check<Exclude<T[Key], undefined>> };

/** The problem of a value that is not what was expected. `fix` is a sentence. */
export function mismatch(path: string, expected: string, value: unknown, fix: string): Problem {
  return { path, problem: `expected ${expected}, got ${describe(value)}. ${fix}` };
}

export function seconds(least: number, most: number, fix: string): Check<number> {
  return (value, path, problems) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    problems.push(mismatch(path, `a whole number of seconds from ${least} to ${most}`, value, fix));
    return undefined;
  };
}

export function flag(fix: string): Check<boolean> {
  return (value, path, problems) => {
    if (typeof value === "boolean") return value;
    problems.push(mismatch(path, "true or false", value, fix));
    return undefined;
  };
}

export function word<Word extends string>(words: readonly Word[], fix: string): Check<Word> {
  return (value, path, problems) => {
    const found = words.find((candidate) => candidate === value);
    if (found === undefined) problems.push(mismatch(path, words.join(" or "), value, fix));
    return found;
  };
}

/** A string for which `accepts` holds. */
export function text(expected: string, accepts: (value: string) => boolean, fix: string): Check<string> {
  return (value, path, problems) => {
    if (typeof value === "string" && accepts(value)) return value;
    problems.push(mismatch(path, expected, value, fix));
    return undefined;
  };
}

/** A list with at least one entry. The answer leaves out entries with problems. */
export function list<T>(what: string, check: Check<T>, fix: string): Check<readonly T[]> {
  return (value, path, problems) => {
    if (!Array.isArray(value)) {
      problems.push(mismatch(path, `a list of ${what}`, value, fix));
      return undefined;
    }
    if (value.length === 0) problems.push({ path, problem: `expected at least one of ${what}. ${fix}` });
    return value.flatMap((entry: unknown, index) => check(entry, `${path}[${index}]`, problems) ?? []);
  };
}

/**
 * Checks every key of an object. A key whose value is undefined counts as absent; an unknown key is a problem, because a setting
 * that is accepted and ignored misleads whoever wrote it.
 */
export function readKeys<T>(
  value: unknown,
  path: string,
  checks: Checks<T>,
  required: readonly (keyof T & string)[],
  problems: Problem[],
): Partial<T> {
  if (!isObject(value)) {
    problems.push(mismatch(path, "an object", value, "Settings are JSON objects."));
    return {};
  }
  const known = Object.keys(checks);
  for (const key of Object.keys(value)) {
    if (known.includes(key) || value[key] === undefined) continue;
    problems.push({ path: join(path, shorten(key)), problem: unknownKey(key, known) });
  }
  const read: Partial<T> = {};
  for (const key of known as (keyof T & string)[]) {
    const given = value[key];
    if (given === undefined && !required.includes(key)) continue;
    const checked = checks[key](given, join(path, key), problems);
    if (checked !== undefined) read[key] = checked;
  }
  return read;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  return meant === undefined
    ? `unknown key. Remove it; known are ${known.join(", ")}.`
    : `unknown key. Did you mean ${meant}?`;
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** Values that stand in a list more than once, each once. */
export function repeated(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}
