/** What a TypeScript source imports, from its syntax tree: text that only looks like an import is none. */
import { posix } from "node:path";
import { parseSync } from "vite";

export interface SourceImport {
  /**
   * `value` is loaded with the file, `dynamic` when the code gets there, `type` never: `import type`, `export type`,
   * `import("…").Name`.
   */
  readonly form: "value" | "dynamic" | "type";
  /** As written; undefined for a dynamic import whose argument is computed. */
  readonly specifier?: string;
  /** Path in the project, for a relative specifier. */
  readonly file?: string;
  /** Package, or built-in module such as `node:fs`, for any other specifier. */
  readonly package?: string;
}

/** Sources by path in the project, with `/`. */
export type Sources = ReadonlyMap<string, string>;

type SyntaxNode = Readonly<Record<string, unknown>>;

/** Several rules read the same sources: each text is parsed once. */
const read = new Map<string, readonly SourceImport[]>();

/** Throws where the source does not parse. */
export function importsOf(path: string, text: string): readonly SourceImport[] {
  const key = `${path}\n${text}`;
  const found = read.get(key) ?? parsedImports(path, text);
  read.set(key, found);
  return found;
}

function parsedImports(path: string, text: string): readonly SourceImport[] {
  const { program, errors } = parseSync(path, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message ?? ""}`);
  // Imports stand at the top; only those in parentheses may stand anywhere.
  const top: readonly unknown[] = program.body;
  const nodes = /\bimport\s*\(/.test(text) ? nodesOf(program) : top.filter(isNode);
  return nodes.flatMap((node) => {
    const form = formOf(node);
    return form === undefined ? [] : [{ form, ...targetOf(path, node["source"]) }];
  });
}

function formOf(node: SyntaxNode): SourceImport["form"] | undefined {
  switch (node["type"]) {
    case "ImportDeclaration":
      return node["importKind"] === "type" ? "type" : "value";
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      if (!isNode(node["source"])) return undefined;
      return node["exportKind"] === "type" ? "type" : "value";
    case "ImportExpression":
      return "dynamic";
    case "TSImportType":
      return "type";
    default:
      return undefined;
  }
}

function targetOf(path: string, source: unknown): Omit<SourceImport, "form"> {
  const specifier = isNode(source) && typeof source["value"] === "string" ? source["value"] : undefined;
  if (specifier === undefined) return {};
  if (/^\.{0,2}\//.test(specifier)) {
    return { specifier, file: posix.join(posix.dirname(path), specifier) };
  }
  return { specifier, package: packageOf(specifier) };
}

/** `@scope/name/part` is of package `@scope/name`, `name/part` of `name`; built-in modules stay whole. */
function packageOf(specifier: string): string {
  if (specifier.startsWith("node:")) return specifier;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function nodesOf(root: unknown): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (Array.isArray(next)) waiting.push(...(next as readonly unknown[]));
    else if (isNode(next)) {
      found.push(next);
      waiting.push(...Object.values(next));
    }
  }
  return found;
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
