/** The project's own files, as they lie in the checkout. */
import { readFileSync, readdirSync } from "node:fs";
import type { Sources } from "./source-imports.ts";

const ROOT = new URL("../", import.meta.url);
/** What git ignores, and git itself. */
const NOT_OURS = new Set([".git", "node_modules", "build", "coverage", "cdk.out", "dist"]);

/** Every text file, by path in the project. */
export function readTree(): Sources {
  return new Map(
    pathsBelow("").flatMap((path) => {
      const text = readFileSync(new URL(path, ROOT), "utf8");
      return text.includes("\0") ? [] : [[path, text] as const];
    }),
  );
}

export function typescriptOf(tree: Sources): Sources {
  return new Map([...tree].filter(([path]) => path.endsWith(".ts")));
}

function pathsBelow(folder: string): readonly string[] {
  return readdirSync(new URL(folder, ROOT), { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    if (entry.isDirectory()) return pathsBelow(`${folder}${entry.name}/`);
    return entry.isFile() ? [`${folder}${entry.name}`] : [];
  });
}
