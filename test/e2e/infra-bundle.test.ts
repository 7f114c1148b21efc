import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { version } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const PROJECT = new URL("../../", import.meta.url);
const outdir = mkdtempSync(join(tmpdir(), "ebs-drain-synth-"));

afterAll(() => rmSync(outdir, { recursive: true, force: true }));

describe("the deployment's app", () => {
  it("synthesizes the sample configuration with real bundles, offline, and no rule finds anything in it", async () => {
    // Nothing but the app's own process: no credentials, no profile, and proxies that answer nobody.
    const context = JSON.stringify({ config: "examples/deployment.yaml" });
    const { stderr } = await run(process.execPath, ["bin/cdk.ts"], {
      cwd: PROJECT,
      env: {
        PATH: process.env["PATH"],
        CDK_OUTDIR: outdir,
        CDK_CONTEXT_JSON: context,
        HTTPS_PROXY: "http://127.0.0.1:9",
        HTTP_PROXY: "http://127.0.0.1:9",
      },
    });
    const report = JSON.parse(readFileSync(join(outdir, "validation-report.json"), "utf8")) as {
      pluginReports: readonly { violations: readonly unknown[] }[];
    };

    expect(report.pluginReports.flatMap(({ violations }) => violations)).toEqual([]);
    expect(stderr).not.toContain("AwsSolutions");
  });

  it(`bundles both functions with esbuild ${version}, and Node imports each as Lambda does`, async () => {
    const bundles = readdirSync(outdir).filter((name) => name.startsWith("asset."));

    expect(bundles).toHaveLength(2);
    for (const bundle of bundles) {
      const entry = pathToFileURL(join(outdir, bundle, "index.mjs")).href;
      const script = `import(${JSON.stringify(entry)}).then(({ handler }) => console.log(typeof handler))`;
      const { stdout } = await run(process.execPath, ["-e", script], { env: {} });
      expect(stdout.trim()).toBe("function");
    }
  });

  it("carries source maps without the sources", () => {
    for (const bundle of readdirSync(outdir).filter((name) => name.startsWith("asset."))) {
      const map = JSON.parse(readFileSync(join(outdir, bundle, "index.mjs.map"), "utf8")) as {
        sources: readonly string[];
        sourcesContent?: unknown;
      };
      expect(map.sources.some((source) => source.endsWith("lambda/composition.ts"))).toBe(true);
      expect(map.sourcesContent).toBeUndefined();
    }
  });
});
