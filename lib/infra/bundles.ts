/** How the functions' code is bundled; docs/decisions/0010-bundles-of-the-functions.md has the measurements. */
import { fileURLToPath } from "node:url";
import type { BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { OutputFormat, SourceMapMode } from "aws-cdk-lib/aws-lambda-nodejs";

/** Of the project, with the lock file beside it. */
export const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** The bundles hold CommonJS packages that call `require` for Node's own modules; an ES module has none. */
export const REQUIRE_BANNER =
  "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);";

export const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  target: "node24",
  mainFields: ["module", "main"],
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

/** Path of a function's source. */
export function entryOf(name: "dispatch" | "drain"): string {
  return `${PROJECT}lambda/${name}.ts`;
}
