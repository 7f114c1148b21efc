/** Where the functions' code comes from, and how it is bundled; docs/decisions/0010-bundles-of-the-functions.md has the measurements. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { OutputFormat, SourceMapMode } from "aws-cdk-lib/aws-lambda-nodejs";

/** Of the project, with the lock file beside it; of the compiled package, with its bundles. */
export const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** The package's folder of bundles; Node strips no types from what is under node_modules, and its users need no esbuild. */
export const BUNDLES = "functions";

/** The bundles hold CommonJS packages that call `require` for Node's own modules; an ES module has none. */
export const REQUIRE_BANNER =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

export const MAIN_FIELDS = ["module", "main"] as const;
export const TARGET = "node24";

export const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  target: TARGET,
  mainFields: [...MAIN_FIELDS],
  // The runtime's own SDK is another version than the one that was tested.
  bundleAwsSDK: true,
  minify: true,
  sourceMap: true,
  sourceMapMode: SourceMapMode.DEFAULT,
  sourcesContent: false,
  banner: REQUIRE_BANNER,
  // The same esbuild for everybody, from the lock file; no image is pulled.
  forceDockerBundling: false,
};

/** Of the package: a function's bundle, made when it was packed; undefined in the project, where synth bundles the sources. */
export function bundleOf(name: "dispatch" | "drain"): string | undefined {
  const folder = `${PROJECT}${BUNDLES}/${name}`;
  return existsSync(folder) ? folder : undefined;
}

/** Path of a function's source. */
export function entryOf(name: "dispatch" | "drain"): string {
  return `${PROJECT}lambda/${name}.ts`;
}
