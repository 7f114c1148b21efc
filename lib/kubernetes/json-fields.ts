/**
 * Reading the API's objects. A missing or odd field reads as absent and never throws: a view of half an object is worth more to a
 * drain than an error.
 */
import { type Fields, isObject } from "../drain/raw-json.ts";
import type { Instant } from "../drain/time.ts";

/** What lies at the path, or undefined where it ends before. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (!isObject(current)) return undefined;
    current = current[name];
  }
  return current;
}

/** A number there, or undefined. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** A text that is not empty; the API omits empty ones, and so means the same by both. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const text = at(value, ...path);
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** The objects of a list; whatever else it holds is left out. */
export function objectsAt(value: unknown, ...path: readonly string[]): readonly Fields[] {
  const list = at(value, ...path);
  return Array.isArray(list) ? list.filter(isObject) : [];
}

export function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  const list = at(value, ...path);
  return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
}

/** A map of texts, such as labels. */
export function mapAt(value: unknown, ...path: readonly string[]): Readonly<Record<string, string>> {
  const map = at(value, ...path);
  if (!isObject(map)) return {};
  return Object.fromEntries(
    Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/** A time as text in plain JSON or as the Date that client-node makes of it; undefined where it is neither. */
export function instantAt(value: unknown, ...path: readonly string[]): Instant | undefined {
  const time = at(value, ...path);
  const instant =
    time instanceof Date ? time.getTime() : typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(instant) ? undefined : instant;
}

/** The status condition of this type. */
export function conditionOf(object: unknown, type: string): Fields | undefined {
  return objectsAt(object, "status", "conditions").find((condition) => condition["type"] === type);
}

/** Whether somebody asked for the object's end. */
export function isDeleting(object: unknown): boolean {
  const time = at(object, "metadata", "deletionTimestamp");
  return time !== undefined && time !== null;
}

/** The property where there is a value, nothing where there is none: optional properties are absent, never undefined. */
export function given<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [Name in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [Name in Key]?: Value };
}
