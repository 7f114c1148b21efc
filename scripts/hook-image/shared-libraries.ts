/** The shared libraries of a program, and of those libraries, under some root of the file system. */
import { stat } from "node:fs/promises";
import path from "node:path";
import type { Architecture } from "./architecture.ts";
import { readElf } from "./elf.ts";

export interface Library {
  /** Absolute, as the program's loader looks for it. */
  readonly target: string;
  /** The file to copy there. */
  readonly source: string;
}

/** @throws Error that names a library that is nowhere under the root */
export async function sharedLibraries(
  program: string,
  architecture: Architecture,
  root: string,
): Promise<readonly Library[]> {
  const { interpreter, needed } = await readElf(program);
  if (interpreter === undefined) throw new Error(`${program} names no loader`);
  const loader = await find([interpreter, path.join("/usr", interpreter)], root);
  if (loader === undefined) throw new Error(`${interpreter}, the loader of ${program}, is not under ${root}`);
  const found = new Map([[path.basename(interpreter), { target: interpreter, source: loader.source }]]);
  const waiting = [...needed];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (found.has(name)) continue;
    const library = await find(searchPath(architecture, name), root);
    if (library === undefined) throw new Error(`${name}, which ${program} needs, is not under ${root}`);
    found.set(name, library);
    waiting.push(...(await readElf(library.source)).needed);
  }
  return [...found.values()].toSorted((a, b) => a.target.localeCompare(b.target));
}

/** The loader's own folders: Debian's with the architecture's name, other systems' without. */
function searchPath({ triplet }: Architecture, name: string): readonly string[] {
  return [`/lib/${triplet}`, `/usr/lib/${triplet}`, "/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(
    (folder) => path.join(folder, name),
  );
}

async function find(targets: readonly string[], root: string): Promise<Library | undefined> {
  for (const target of targets) {
    const source = path.join(root, target);
    const isThere = await stat(source).then(
      () => true,
      () => false,
    );
    if (isThere) return { target, source };
  }
  return undefined;
}
