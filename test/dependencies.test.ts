import { describe, expect, it } from "vitest";
import type { Manifest } from "./dependency-rules.ts";
import { TOOLS, findUndeclared, findUnlisted, findUnused } from "./dependency-rules.ts";
import { readTree, typescriptOf } from "./source-tree.ts";

const tree = readTree();
const sources = typescriptOf(tree);
const manifest = JSON.parse(tree.get("package.json") ?? "{}") as Manifest;

describe("the project's packages", () => {
  it("are each imported where they belong, or are known tools", () => {
    expect(findUnused(manifest, sources)).toEqual([]);
  });

  it("are all that the sources import, and the product runs without devDependencies", () => {
    expect(findUndeclared(manifest, sources)).toEqual([]);
  });

  it("are listed with their reasons, and nothing else is", () => {
    expect(findUnlisted(manifest, tree.get("docs/dependencies.md") ?? "")).toEqual([]);
  });

  it("count as known tools only while package.json names them", () => {
    const named = { ...manifest.devDependencies, ...manifest.optionalDependencies };
    expect(Object.keys(TOOLS).filter((name) => !(name in named))).toEqual([]);
  });
});

const SMALL: Manifest = {
  dependencies: { yaml: "2.9.1" },
  devDependencies: {
    vitest: "5.1.2",
    "@types/aws-lambda": "^8.10.164",
    oxfmt: "0.79.0",
    "aws-cdk-lib": "2.276.0",
  },
  optionalDependencies: {},
};
const SOURCES: Readonly<Record<string, string>> = {
  "lib/a.ts":
    'import { stringify } from "yaml"; import "node:fs"; import type { Context } from "aws-lambda";',
  "lib/infra/stack.ts": 'import { Stack } from "aws-cdk-lib/core";',
  "test/a.test.ts": 'import { it } from "vitest";',
};
const LIST = `
| package | line | why |
|---|---|---|
| \`yaml\` | 2.x | writes the manifests |
| \`vitest\` | 5.x | runs the tests |
| \`@types/aws-lambda\` | 8.x | types of Lambda |
| \`oxfmt\` | 0.79.x | formats the sources |
| \`aws-cdk-lib\` | 2.x | the deployment's constructs |
`;

function small(change: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries({ ...SOURCES, ...change }));
}

describe("the rules for packages", () => {
  it("find nothing where all is well", () => {
    expect(findUnused(SMALL, small({}))).toEqual([]);
    expect(findUndeclared(SMALL, small({}))).toEqual([]);
    expect(findUnlisted(SMALL, LIST)).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    [
      "a dependency that only a test imports",
      { "lib/a.ts": "", "test/b.ts": 'import "yaml"; import "aws-lambda";' },
      "yaml",
    ],
    ["a devDependency that nobody imports", { "test/a.test.ts": "" }, "vitest"],
    ["types of what nobody imports", { "lib/a.ts": 'import "yaml";' }, "@types/aws-lambda"],
  ])("find %s", (_, change, name) => {
    expect(findUnused(SMALL, small(change))).toEqual([name]);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    [
      "a package that is only in the tree by chance",
      { "test/b.ts": 'import "js-yaml";' },
      "test/b.ts imports js-yaml, which package.json does not name",
    ],
    [
      "a type from a package that is not named",
      { "lib/b.ts": 'import type { X } from "@smithy/types";' },
      "lib/b.ts imports @smithy/types, which package.json does not name",
    ],
    [
      "a devDependency that the product runs with",
      { "lambda/b.ts": 'export const run = () => import("vitest");' },
      "lambda/b.ts runs with vitest, which is a devDependency",
    ],
  ])("find %s", (_, change, breach) => {
    expect(findUndeclared(SMALL, small(change))).toEqual([breach]);
  });

  it.each<[string, string, string, string]>([
    ["a missing row", "| `yaml` | 2.x | writes the manifests |\n", "", "yaml is not listed"],
    [
      "a row too many",
      "| `vitest`",
      "| `jest` | 29.x | runs the tests |\n| `vitest`",
      "jest is listed, but not in package.json",
    ],
    ["another line", "2.x | writes", "1.x | writes", "yaml is listed as 1.x, but is 2.x"],
    ["another line before 1.0", "0.79.x", "0.x", "oxfmt is listed as 0.x, but is 0.79.x"],
    ["a row without a reason", "runs the tests", "tests", "vitest is listed without a reason"],
    [
      "a row twice",
      "| `vitest`",
      "| `vitest` | 5.x | runs the tests |\n| `vitest`",
      "vitest is listed twice",
    ],
  ])("find in the list %s", (_, from, to, breach) => {
    expect(findUnlisted(SMALL, LIST.replace(from, to))).toEqual([breach]);
  });
});
