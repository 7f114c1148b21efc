/** JSON from outside, before anybody has checked it. */

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value is, for an error message: short whatever its size, and never the inside of an object. */
export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return JSON.stringify(shorten(value));
  return typeof value === "number" || typeof value === "boolean"
    ? `the ${typeof value} ${value}`
    : typeof value;
}

/** At most 60 characters: text of others that we repeat in a message. */
export function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
