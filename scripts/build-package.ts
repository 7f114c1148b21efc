/**
 * What `npm pack` packs: compiled JavaScript with declarations, the functions bundled, and a manifest without what only the project
 * needs. npm reads package.json from the folder, so it is replaced while npm packs; `--restore` puts it back.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { BUNDLES, MAIN_FIELDS, REQUIRE_BANNER, TARGET, entryOf } from "../lib/infra/bundles.ts";

const project = path.join(import.meta.dirname, "..");
const at = (...parts: readonly string[]): string => path.join(project, ...parts);
/** Known to git as not to be kept. */
const kept = at("build", "package.json.kept");

if (process.argv.includes("--restore")) restore();
else await prepare();

async function prepare(): Promise<void> {
  rmSync(at("dist"), { recursive: true, force: true });
  execFileSync(
    process.execPath,
    [at("node_modules", "typescript", "bin", "tsc"), "-p", at("tsconfig.package.json")],
    {
      cwd: project,
      stdio: "inherit",
    },
  );
  for (const name of ["dispatch", "drain"] as const) await bundle(name);
  replaceManifest();
}

/** As NodejsFunction does it in the project (lib/infra/bundles.ts). */
async function bundle(name: "dispatch" | "drain"): Promise<void> {
  await build({
    entryPoints: [entryOf(name)],
    outfile: at("dist", BUNDLES, name, "index.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
    target: TARGET,
    mainFields: [...MAIN_FIELDS],
    minify: true,
    sourcemap: true,
    sourcesContent: false,
    banner: { js: REQUIRE_BANNER },
    absWorkingDir: project,
    logLevel: "warning",
  });
}

/** Whoever installs the package neither builds nor tests it, and has a Node of their own. */
function replaceManifest(): void {
  if (existsSync(kept))
    throw new Error(`${kept} is there already: npm did not come to its end; --restore first`);
  const text = readFileSync(at("package.json"), "utf8");
  const {
    devDependencies: _tools,
    optionalDependencies: _node,
    allowScripts: _builds,
    scripts: _scripts,
    ...manifest
  } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  mkdirSync(path.dirname(kept), { recursive: true });
  writeFileSync(kept, text);
  writeFileSync(at("package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
}

function restore(): void {
  if (existsSync(kept)) renameSync(kept, at("package.json"));
}
