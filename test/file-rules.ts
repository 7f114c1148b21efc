/** What the files themselves must be like, whatever they import. Each rule answers one line per breach. */
import type { Sources } from "./source-imports.ts";

const PRODUCT = /^(bin|lib|lambda|hook)\/.*\.ts$/;
const LONGEST_FILE = 250;

/** A file that outgrows this usually holds two nouns. */
export function findLongFiles(tree: Sources): readonly string[] {
  return [...tree].flatMap(([path, text]) => {
    const lines = text.split("\n").length - 1;
    return PRODUCT.test(path) && lines > LONGEST_FILE ? [`${path} has ${lines} lines`] : [];
  });
}

/** Files are named for a noun or verb of the domain, in kebab-case; these names say nothing. */
export function findEmptyNames(tree: Sources): readonly string[] {
  return [...tree.keys()].filter((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (!/\.(ts|mts|cts|js|mjs|cjs)$/.test(name)) return false;
    return (
      /^(utils?|helpers?|common|types?|index|misc)\./.test(name) || !/^[a-z0-9]+(-[a-z0-9]+)*\./.test(name)
    );
  });
}

/** Split, so that this file does not find itself. */
const word = (...parts: readonly string[]): string => parts.join("");

const UNFINISHED = new RegExp(`\\b(${word("TO", "DO")}|${word("FIX", "ME")}|${word("XX", "X")})\\b`);
const UNTESTED = new RegExp(
  `\\b(it|test|describe)\\.(${word("sk", "ip")}|${word("on", "ly")}|${word("to", "do")})\\b`,
);

/** Notes to oneself, and tests that do not run. */
export function findUnfinished(tree: Sources): readonly string[] {
  return linesOf(tree, /\.(ts|mts|js|mjs|cjs|go|sh)$/, [UNFINISHED, UNTESTED]);
}

const MACHINE_PATHS = new RegExp(
  [
    word("/wo", "rk/"),
    word("/ro", "ot/"),
    word("/ho", "me/[a-z]"),
    word("/Us", "ers/"),
    word("/t", "mp/[a-z]+/"),
  ].join("|"),
);
const REGISTRY_HOSTS = new RegExp(
  [
    word("registry\\.", "npmjs"),
    word("registry\\.", "yarnpkg"),
    word("proxy\\.", "golang"),
    word("py", "pi\\.org"),
    word("python", "hosted"),
    word("deb\\.", "debian"),
    word("repo1\\.", "maven"),
  ].join("|"),
);

/** Paths of one machine, and hosts of package registries: whoever builds has their own. */
export function findPlaces(tree: Sources): readonly string[] {
  return linesOf(tree, /(?<!go\.sum)$/, [MACHINE_PATHS, REGISTRY_HOSTS]);
}

function linesOf(tree: Sources, files: RegExp, patterns: readonly RegExp[]): readonly string[] {
  return [...tree].flatMap(([path, text]) =>
    files.test(path)
      ? text
          .split("\n")
          .flatMap((line, index) =>
            patterns.some((pattern) => pattern.test(line))
              ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`]
              : [],
          )
      : [],
  );
}
