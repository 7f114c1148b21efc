/** Which part of the project may import which, and what the hook's bundle may reach. */
import type { SourceImport, Sources } from "./source-imports.ts";
import { importsOf } from "./source-imports.ts";

/** Reads like a sentence: `files` may import `files` of the project and `packages` of others. */
interface ImportRule {
  readonly from: RegExp;
  readonly files: readonly RegExp[];
  readonly packages: readonly RegExp[];
}

const ANY = /^/;
/** What adapters and simulations share with the engine: its ports and what belongs to them, never its doings. */
const PORTS = /^lib\/engine\/(ports|errors|permissions)\.ts$/;
const DOMAIN = /^lib\/drain\//;
/** What runs in production behind a composition root. */
const RUNTIME = /^lib\/(drain|engine|kubernetes|aws|telemetry)\//;

/** The first rule whose `from` matches holds. A file that none matches is a breach: nothing is outside the rules by accident. */
const RULES: readonly ImportRule[] = [
  { from: DOMAIN, files: [DOMAIN], packages: [] },
  // Names of VolumeAttachments are hashes.
  { from: /^lib\/engine\//, files: [DOMAIN, /^lib\/engine\//], packages: [/^node:crypto$/] },
  { from: /^lib\/kubernetes\//, files: [DOMAIN, PORTS, /^lib\/kubernetes\//], packages: [ANY] },
  { from: /^lib\/aws\//, files: [DOMAIN, PORTS, /^lib\/aws\//], packages: [ANY] },
  { from: /^lib\/telemetry\//, files: [DOMAIN, PORTS, /^lib\/telemetry\//], packages: [ANY] },
  { from: /^lib\/sim\//, files: [DOMAIN, PORTS, /^lib\/sim\//], packages: [ANY] },
  // Manifests, written and never applied.
  {
    from: /^lib\/install\//,
    files: [DOMAIN, PORTS, /^lib\/kubernetes\/rbac-manifests\.ts$/, /^lib\/install\//],
    packages: [/^yaml$/],
  },
  // IAM statements are made from the table of permissions.
  {
    from: /^lib\/infra\//,
    files: [DOMAIN, /^lib\/engine\/permissions\.ts$/, /^lib\/infra\//],
    packages: [/^aws-cdk-lib$/, /^constructs$/, /^cdk-nag$/, /^node:/],
  },
  // The simulation runs the deployed handlers' own code.
  { from: /^lib\/cli\//, files: [/^lib\//, /^lambda\//], packages: [ANY] },
  { from: /^lambda\//, files: [RUNTIME, /^lambda\//], packages: [ANY] },
  { from: /^hook\/server\.ts$/, files: [RUNTIME, /^hook\//], packages: [ANY] },
  { from: /^hook\//, files: [DOMAIN, PORTS, /^lib\/kubernetes\//, /^hook\//], packages: [ANY] },
  { from: /^bin\//, files: [/^lib\//, /^bin\//], packages: [ANY] },
  { from: /^scripts\//, files: [/^lib\//, /^scripts\//], packages: [ANY] },
  { from: /^test\//, files: [ANY], packages: [ANY] },
  // Configuration of tools.
  { from: /^[^/]+\.ts$/, files: [], packages: [ANY] },
];

/** One line for each import that breaks a rule. */
export function findBreaches(sources: Sources): readonly string[] {
  return [...sources].flatMap(([path, text]) => {
    const rule = RULES.find(({ from }) => from.test(path));
    if (rule === undefined) return [`${path}: no rule says what it may import`];
    return importsOf(path, text).flatMap((found) => {
      const breach = breachOf(found, rule, sources);
      return breach === undefined ? [] : [`${path}: ${breach}`];
    });
  });
}

function breachOf(found: SourceImport, rule: ImportRule, sources: Sources): string | undefined {
  const { specifier, file } = found;
  if (specifier === undefined) {
    return rule.packages.includes(ANY) && rule.files.includes(ANY)
      ? undefined
      : "imports what no reader can tell";
  }
  if (file === undefined) {
    const name = found.package ?? specifier;
    return rule.packages.some((allowed) => allowed.test(name)) ? undefined : `may not import ${name}`;
  }
  if (!rule.files.some((allowed) => allowed.test(file))) return `may not import ${file}`;
  return sources.has(file) || file.endsWith(".json") ? undefined : `imports ${file}, which is not there`;
}

const HOOK = "hook/server.ts";

/**
 * The hook has to start and answer in milliseconds in little memory: what is loaded with it holds no AWS code (dynamic imports
 * may), and no code of client-node at all, only its types.
 */
export function findHookBreaches(sources: Sources): readonly string[] {
  return [
    ...reachable(sources, ["value"]).filter(({ package: name, file }) =>
      name === undefined ? file?.startsWith("lib/aws/") : /^@(aws|aws-sdk|smithy)\//.test(name),
    ),
    ...reachable(sources, ["value", "dynamic"]).filter(
      ({ package: name }) => name === "@kubernetes/client-node",
    ),
  ].map(({ chain, specifier }) => `${chain.join(" → ")} loads ${specifier}`);
}

interface Reached extends SourceImport {
  /** The files that lead there, the hook's entry first. */
  readonly chain: readonly string[];
}

function reachable(sources: Sources, forms: readonly SourceImport["form"][]): readonly Reached[] {
  const reached: Reached[] = [];
  const waiting: (readonly string[])[] = [[HOOK]];
  const seen = new Set<string>();
  for (let chain = waiting.shift(); chain !== undefined; chain = waiting.shift()) {
    const path = chain.at(-1) ?? HOOK;
    const text = sources.get(path);
    if (seen.has(path) || text === undefined) continue;
    seen.add(path);
    for (const found of importsOf(path, text).filter(({ form }) => forms.includes(form))) {
      reached.push({ ...found, chain });
      if (found.file !== undefined) waiting.push([...chain, found.file]);
    }
  }
  return reached;
}
