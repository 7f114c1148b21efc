import { describe, expect, it } from "vitest";
import { findEmptyNames, findLongFiles, findPlaces, findUnfinished } from "./file-rules.ts";
import { findBreaches, findHookBreaches } from "./import-rules.ts";
import { importsOf } from "./source-imports.ts";
import { readTree, typescriptOf } from "./source-tree.ts";

const tree = readTree();
const sources = typescriptOf(tree);

describe("the project", () => {
  it("is looked at whole", () => {
    for (const path of ["lib/drain/signal.ts", "lib/engine/ports.ts", "test/architecture.test.ts"]) {
      expect(sources.has(path)).toBe(true);
    }
    expect(tree.has("package-lock.json")).toBe(true);
  });

  it("imports only what each part may", () => {
    expect(findBreaches(sources)).toEqual([]);
  });

  it("loads no AWS code and no client-node code with the hook", () => {
    expect(findHookBreaches(sources)).toEqual([]);
  });

  it("has no product file over 250 lines", () => {
    expect(findLongFiles(tree)).toEqual([]);
  });

  it("names its files for what they hold", () => {
    expect(findEmptyNames(tree)).toEqual([]);
  });

  it("leaves nothing unfinished and no test unrun", () => {
    expect(findUnfinished(tree)).toEqual([]);
  });

  it("knows no path of one machine and no host of a package registry", () => {
    expect(findPlaces(tree)).toEqual([]);
  });
});

describe("importsOf", () => {
  it("finds every form of import and nothing that only looks like one", () => {
    const text = `
      import type { A } from "./a.ts";
      import { type B } from "../b.ts";
      import "./c.ts";
      export * from "./d.ts";
      export type { E } from "./e.ts";
      export { f } from "@scope/f/deep";
      import g from "g/deep/file.js";
      import { h } from "node:fs/promises";
      type I = import("./i.ts").I;
      const j = () => import("./j.ts");
      const k = (name: string) => import(name);
      const l = 'import "./not-this.ts"'; // import "./nor-this.ts"
      export const m = l;
    `;
    expect(
      importsOf("lib/x/y.ts", text)
        .map(
          ({ form, specifier, file, package: name }) => `${form} ${file ?? name ?? specifier ?? "computed"}`,
        )
        .sort(),
    ).toEqual(
      [
        "type lib/x/a.ts",
        "value lib/b.ts",
        "value lib/x/c.ts",
        "value lib/x/d.ts",
        "type lib/x/e.ts",
        "value @scope/f",
        "value g",
        "value node:fs/promises",
        "type lib/x/i.ts",
        "dynamic lib/x/j.ts",
        "dynamic computed",
      ].sort(),
    );
  });

  it("refuses what does not parse instead of finding nothing in it", () => {
    expect(() => importsOf("lib/x.ts", "import {")).toThrow("lib/x.ts does not parse");
  });
});

/** A project of a few files in which everything is as it should be. */
const GOOD: Readonly<Record<string, string>> = {
  "lib/drain/signal.ts": 'import { at } from "./time.ts"; export const a = at;',
  "lib/drain/time.ts": "export const at = 1;",
  "lib/engine/ports.ts": 'import type { a } from "../drain/signal.ts"; export type P = typeof a;',
  "lib/engine/look.ts":
    'import "./ports.ts"; import { createHash } from "node:crypto"; createHash("sha256");',
  "lib/kubernetes/views.ts": 'import type { V1Node } from "@kubernetes/client-node"; export type N = V1Node;',
  "lib/kubernetes/adapter.ts":
    'import "@kubernetes/client-node"; import "./views.ts"; import "../engine/ports.ts";',
  "lib/aws/ec2.ts": 'import "@aws-sdk/client-ec2"; import "../drain/time.ts";',
  "lib/telemetry/metrics.ts": 'import "../engine/ports.ts";',
  "lib/sim/world.ts": 'import "../drain/time.ts"; import "rfc6902";',
  "lib/infra/stack.ts": 'import "aws-cdk-lib/aws-ec2"; import "constructs"; import "../drain/time.ts";',
  "lib/cli/simulate.ts":
    'import "../sim/world.ts"; import "../engine/look.ts"; import "../../lambda/drain.ts";',
  "lambda/drain.ts": 'import "../lib/aws/ec2.ts"; import "../lib/engine/look.ts";',
  "hook/server.ts": 'import "./hold-loop.ts"; export const load = () => import("../lib/aws/ec2.ts");',
  "hook/hold-loop.ts":
    'import "../lib/drain/time.ts"; import "../lib/kubernetes/views.ts"; import "node:https";',
  "bin/ebs-drain.ts": 'import "../lib/cli/simulate.ts";',
  "scripts/write.ts": 'import "../lib/engine/ports.ts";',
  "test/one.test.ts": 'import "../lambda/drain.ts"; import name from "./one.json"; await import(name);',
  "vitest.config.ts": 'import "vitest/config";',
};

function project(change: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries({ ...GOOD, ...change }));
}

describe("the import rules", () => {
  it("find nothing in a project where all is well", () => {
    expect(findBreaches(project({}))).toEqual([]);
    expect(findHookBreaches(project({}))).toEqual([]);
  });

  it.each<[string, string, string]>([
    ["lib/drain/a.ts", 'import "../engine/ports.ts";', "may not import lib/engine/ports.ts"],
    ["lib/drain/a.ts", 'import type { X } from "../engine/ports.ts";', "may not import lib/engine/ports.ts"],
    ["lib/drain/a.ts", 'import "node:crypto";', "may not import node:crypto"],
    ["lib/drain/a.ts", 'export * from "yaml";', "may not import yaml"],
    ["lib/drain/a.ts", 'export type X = import("../sim/world.ts").X;', "may not import lib/sim/world.ts"],
    [
      "lib/drain/a.ts",
      "export const load = (name: string) => import(name);",
      "imports what no reader can tell",
    ],
    ["lib/engine/a.ts", 'import "../kubernetes/adapter.ts";', "may not import lib/kubernetes/adapter.ts"],
    ["lib/engine/a.ts", 'import "../telemetry/metrics.ts";', "may not import lib/telemetry/metrics.ts"],
    ["lib/engine/a.ts", 'import "node:fs";', "may not import node:fs"],
    ["lib/engine/a.ts", 'import "@aws-sdk/client-ec2";', "may not import @aws-sdk/client-ec2"],
    ["lib/kubernetes/a.ts", 'import "../engine/look.ts";', "may not import lib/engine/look.ts"],
    ["lib/kubernetes/a.ts", 'import "../aws/ec2.ts";', "may not import lib/aws/ec2.ts"],
    ["lib/aws/a.ts", 'await import("../kubernetes/adapter.ts");', "may not import lib/kubernetes/adapter.ts"],
    ["lib/telemetry/a.ts", 'import "../sim/world.ts";', "may not import lib/sim/world.ts"],
    ["lib/sim/a.ts", 'import "../aws/ec2.ts";', "may not import lib/aws/ec2.ts"],
    ["lib/sim/a.ts", 'import "../engine/look.ts";', "may not import lib/engine/look.ts"],
    ["lib/infra/a.ts", 'import "../engine/look.ts";', "may not import lib/engine/look.ts"],
    ["lib/infra/a.ts", 'import "../../lambda/drain.ts";', "may not import lambda/drain.ts"],
    ["lib/infra/a.ts", 'import "@aws-sdk/client-ec2";', "may not import @aws-sdk/client-ec2"],
    ["lib/cli/a.ts", 'import "../../bin/ebs-drain.ts";', "may not import bin/ebs-drain.ts"],
    ["lib/cli/a.ts", 'import "../../hook/server.ts";', "may not import hook/server.ts"],
    ["lambda/a.ts", 'import "../lib/sim/world.ts";', "may not import lib/sim/world.ts"],
    ["lambda/a.ts", 'import "../lib/cli/simulate.ts";', "may not import lib/cli/simulate.ts"],
    ["hook/a.ts", 'import "../lib/engine/look.ts";', "may not import lib/engine/look.ts"],
    ["hook/server.ts", 'import "../lib/sim/world.ts";', "may not import lib/sim/world.ts"],
    ["bin/a.ts", 'import "../test/one.test.ts";', "may not import test/one.test.ts"],
    ["scripts/a.ts", 'import "../test/one.test.ts";', "may not import test/one.test.ts"],
    ["lib/sim/a.ts", 'import "../../test/one.test.ts";', "may not import test/one.test.ts"],
    ["lib/sim/a.ts", 'import "./cluster";', "imports lib/sim/cluster, which is not there"],
    ["lib/sim/a.ts", 'import "./gone.ts";', "imports lib/sim/gone.ts, which is not there"],
    ["lib/other/a.ts", "export {};", "no rule says what it may import"],
    ["vite.config.ts", 'import "./lib/drain/time.ts";', "may not import lib/drain/time.ts"],
  ])("find in %s: %s", (path, text, breach) => {
    expect(findBreaches(project({ [path]: text }))).toEqual([`${path}: ${breach}`]);
  });

  it("let no part of lib but the CLI import a composition root", () => {
    for (const root of ["lambda/drain.ts", "hook/server.ts", "bin/ebs-drain.ts", "lib/cli/simulate.ts"]) {
      for (const part of ["drain", "engine", "kubernetes", "aws", "telemetry", "sim", "infra"]) {
        const text = `import "../../${root}";`;
        expect(findBreaches(project({ [`lib/${part}/a.ts`]: text }))).toHaveLength(1);
      }
    }
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    [
      "AWS code behind another file",
      { "hook/hold-loop.ts": 'export * from "../lib/aws/ec2.ts";' },
      "hook/server.ts → hook/hold-loop.ts loads ../lib/aws/ec2.ts",
    ],
    [
      "an AWS package",
      { "hook/hold-loop.ts": 'import { type X } from "@smithy/signature-v4";' },
      "hook/server.ts → hook/hold-loop.ts loads @smithy/signature-v4",
    ],
    [
      "client-node code behind a view",
      {
        "lib/kubernetes/views.ts": 'import { KubeConfig } from "@kubernetes/client-node"; new KubeConfig();',
      },
      "hook/server.ts → hook/hold-loop.ts → lib/kubernetes/views.ts loads @kubernetes/client-node",
    ],
    [
      "client-node code, even later",
      { "hook/hold-loop.ts": 'await import("@kubernetes/client-node");' },
      "hook/server.ts → hook/hold-loop.ts loads @kubernetes/client-node",
    ],
  ])("find in the hook's bundle: %s", (_, change, breach) => {
    expect(findHookBreaches(project(change))).toContain(breach);
  });
});

describe("the file rules", () => {
  it("find nothing in a project where all is well", () => {
    const good = project({ "lib/drain/full.ts": "x\n".repeat(250), "docs/index.md": "# Index\n" });
    for (const find of [findLongFiles, findEmptyNames, findUnfinished, findPlaces]) {
      expect(find(good)).toEqual([]);
    }
  });

  it("find a file of 251 lines in the product, and not in the tests", () => {
    const long = "x\n".repeat(251);
    expect(findLongFiles(project({ "hook/a.ts": long, "test/a.test.ts": long }))).toEqual([
      "hook/a.ts has 251 lines",
    ]);
  });

  it.each([
    "lib/drain/utils.ts",
    "test/helpers.ts",
    "hook/index.ts",
    "lib/aws/types.d.ts",
    "scripts/common.mjs",
  ])("find the empty name %s", (path) => {
    expect(findEmptyNames(project({ [path]: "" }))).toEqual([path]);
  });

  it.each(["lib/drain/workOrder.ts", "lib/drain/Work.ts", "lib/drain/work_order.ts"])(
    "find %s, which is not kebab-case",
    (path) => {
      expect(findEmptyNames(project({ [path]: "" }))).toEqual([path]);
    },
  );

  it.each([
    ["TO", "DO: later"],
    ["it.", "only(1)"],
    ["describe.", "skip(1)"],
    ["FIX", "ME"],
    ["test.", "todo(1)"],
  ])("find what is unfinished: %s%s", (...parts) => {
    const line = `// ${parts.join("")}`;
    expect(findUnfinished(project({ "lib/drain/a.ts": `x\n${line}\n` }))).toEqual([
      `lib/drain/a.ts:2: ${line}`,
    ]);
  });

  it.each([
    ["/wo", "rk/x"],
    ["/ro", "ot/x"],
    ["/ho", "me/kim"],
    ["/t", "mp/x/y"],
    ["registry.", "npmjs.org"],
    ["py", "pi.org"],
  ])("find a place: %s%s", (...parts) => {
    const line = `see ${parts.join("")}`;
    expect(findPlaces(project({ "docs/a.md": line, "test/go.sum": line }))).toEqual([`docs/a.md:1: ${line}`]);
  });
});
