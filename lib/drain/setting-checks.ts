/**
 * Checks for settings that people write. A check answers the value, or undefined after it has added to the list of problems, so
 * that all of them are found in one reading. Each carries what it accepts as JSON Schema, which editors read.
 */
import { nearest } from "./near-miss.ts";
import { describe, isObject, shorten } from "./raw-json.ts";

export interface Problem {
  /** Where it is, such as `clusters[1].groups[0]`; empty for the whole. */
  readonly path: string;
  /** What was expected, what came, and how to mend it. */
  readonly problem: string;
}

/** A schema of JSON Schema's draft 2020-12. It may accept more than the check: what only a comparison of fields finds. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Look<T> = (value: unknown, path: string, problems: Problem[]) => T | undefined;

export type Check<T> = Look<T> & { readonly schema: JsonSchema };

/** One check per key; a key that is absent from the answer was absent, or has a problem. */
export type Checks<T> = { readonly [Key in keyof T]-?: Check<Exclude<T[Key], undefined>> };

/** The problem of a value that is not what was expected. `fix` is a sentence. */
export function mismatch(path: string, expected: string, value: unknown, fix: string): Problem {
  return { path, problem: `expected ${expected}, got ${describe(value)}. ${fix}` };
}

/** A check with what it accepts. */
export function checked<T>(schema: JsonSchema, look: Look<T>): Check<T> {
  return Object.assign((...args: Parameters<Look<T>>) => look(...args), { schema });
}

export function seconds(least: number, most: number, fix: string): Check<number> {
  const schema = { type: "integer", minimum: least, maximum: most, description: `Seconds. ${fix}` };
  return checked(schema, (value, path, problems) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    problems.push(mismatch(path, `a whole number of seconds from ${least} to ${most}`, value, fix));
    return undefined;
  });
}

export function flag(fix: string): Check<boolean> {
  return checked({ type: "boolean", description: fix }, (value, path, problems) => {
    if (typeof value === "boolean") return value;
    problems.push(mismatch(path, "true or false", value, fix));
    return undefined;
  });
}

export function word<Word extends string>(words: readonly Word[], fix: string): Check<Word> {
  return checked({ enum: words, description: fix }, (value, path, problems) => {
    const found = words.find((candidate) => candidate === value);
    if (found === undefined) problems.push(mismatch(path, words.join(" or "), value, fix));
    return found;
  });
}

/** A string that the pattern matches, or for which `accepts` holds. */
export function text(
  expected: string,
  accepts: RegExp | ((value: string) => boolean),
  fix: string,
): Check<string> {
  const isPattern = accepts instanceof RegExp;
  const schema = {
    type: "string",
    ...(isPattern ? { pattern: accepts.source } : {}),
    description: `Expected: ${expected}. ${fix}`,
  };
  return checked(schema, (value, path, problems) => {
    if (typeof value === "string" && (isPattern ? accepts.test(value) : accepts(value))) return value;
    problems.push(mismatch(path, expected, value, fix));
    return undefined;
  });
}

/** A list with at least one entry. The answer leaves out entries with problems. */
export function list<T>(what: string, check: Check<T>, fix: string): Check<readonly T[]> {
  const schema = { type: "array", items: check.schema, minItems: 1, description: fix };
  return checked(schema, (value, path, problems) => {
    if (!Array.isArray(value)) {
      problems.push(mismatch(path, `a list of ${what}`, value, fix));
      return undefined;
    }
    if (value.length === 0) problems.push({ path, problem: `expected at least one of ${what}. ${fix}` });
    return value.flatMap((entry: unknown, index) => check(entry, `${path}[${index}]`, problems) ?? []);
  });
}

/** The schema of an object that `readKeys` reads by these checks. */
export function schemaOf<T>(checks: Checks<T>, required: readonly (keyof T & string)[]): JsonSchema {
  const properties = Object.entries<Check<unknown>>(checks).map(([key, { schema }]) => [key, schema]);
  return {
    type: "object",
    properties: Object.fromEntries(properties) as JsonSchema,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
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
