/** JSON as an expression of the Common Expression Language. */

/** An expression where the value is known only to whoever evaluates it. */
export class Cel {
  readonly expression: string;

  constructor(expression: string) {
    this.expression = expression;
  }
}

/** Lists and maps of CEL hold one type each: `dyn` makes JSON's mixtures of it. */
export function celOf(value: unknown): string {
  if (value instanceof Cel) return value.expression;
  if (typeof value === "string") return celText(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => `dyn(${celOf(item)})`).join(", ")}]`;
  if (typeof value !== "object" || value === null) throw new TypeError(`no CEL for ${String(value)}`);
  const entries = Object.entries(value).map(([key, item]) => `${celText(key)}: dyn(${celOf(item)})`);
  return `{${entries.join(", ")}}`;
}

export function celText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}
