/**
 * XML answers of the Query protocol. Fifteen lines, because the answers are nothing but nested elements with text: a library's
 * options for attributes, order and entities would be more to get wrong.
 */
export type Xml = string | number | boolean | undefined | readonly Xml[] | { readonly [name: string]: Xml };

/** An element; an array's entries become `item` elements inside it, `undefined` becomes nothing. */
export function element(name: string, value: Xml, item: "item" | "member"): string {
  if (value === undefined) return "";
  return `<${name}>${contentOf(value, item)}</${name}>`;
}

function contentOf(value: Exclude<Xml, undefined>, item: "item" | "member"): string {
  if (isList(value)) return value.map((each) => element(item, each, item)).join("");
  if (typeof value !== "object") return escapeText(String(value));
  return Object.entries(value)
    .map(([name, each]) => element(name, each, item))
    .join("");
}

function isList(value: Xml): value is readonly Xml[] {
  return Array.isArray(value);
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
