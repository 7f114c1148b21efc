/** The hook as plain JavaScript. */
import path from "node:path";
import { build } from "esbuild";

const repository = path.join(import.meta.dirname, "..", "..");

/**
 * Writes `server.mjs`, and in files of their own what it loads only to complete a lifecycle action: source text that is loaded and never
 * run takes memory all the same (docs/decisions/0015-two-part-bundle.md).
 * @returns names of the packages that are in it
 */
export async function bundleHook(folder: string): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [path.join(repository, "hook", "server.ts")],
    absWorkingDir: repository,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // Of two forms of a package the one with named exports: from CommonJS a part of its own has only a default one.
    mainFields: ["module", "main"],
    // Some of the AWS client's packages are CommonJS.
    banner: {
      js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
    },
    metafile: true,
    logLevel: "warning",
  });
  const packages = Object.keys(metafile.inputs).flatMap(
    (input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(input)?.[1] ?? [],
  );
  return [...new Set(packages)].toSorted();
}
