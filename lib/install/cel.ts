/** JSON as an expression of the Common Expression Language. */

/** An expression where the value is known only to whoever evaluates it. */
export class Cel {
  readonly expression: string;

  constructor(expression: string) {
    this.expression = expression;
  }
}

/** A line longer than this is broken. */
const WIDTH = 100;

/** @param depth how far it is indented already */
export function celOf(value: unknown, depth = 0): string {
  if (value instanceof Cel) return value.expression;
  if (typeof value === "string") return celText(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "object" || value === null) throw new TypeError(`no CEL for ${String(value)}`);
  const wrap = wrapper(Object.values(value));
  const inner = (item: unknown): string => wrap(celOf(item, depth + 1));
  return Array.isArray(value)
    ? broken(value.map(inner), "[", "]", depth)
    : broken(
        Object.entries(value).map(([key, item]) => `${celText(key)}: ${inner(item)}`),
        "{",
        "}",
        depth,
      );
}

/** Lists and maps of CEL hold one type each: `dyn` makes JSON's mixtures of it. */
function wrapper(values: readonly unknown[]): (text: string) => string {
  const isPlain = values.every((value) => typeof value === "string");
  return (text) => (isPlain ? text : `dyn(${text})`);
}

function broken(items: readonly string[], open: string, close: string, depth: number): string {
  const line = `${open}${items.join(", ")}${close}`;
  if (line.length <= WIDTH && !line.includes("\n")) return line;
  const indent = "  ".repeat(depth + 1);
  return `${open}\n${items.map((item) => `${indent}${item}`).join(",\n")}\n${"  ".repeat(depth)}${close}`;
}

export function celText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}
