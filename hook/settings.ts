/** The hook's settings: its environment, read in one place, checked whole, told with all problems at once. */
import { DRAIN_TAINTS } from "../lib/drain/going-away.ts";
import { nearest } from "../lib/drain/near-miss.ts";
import { DEFAULT_POLICY } from "../lib/drain/policy.ts";
import { describe } from "../lib/drain/raw-json.ts";

export interface HookSettings {
  readonly node: string;
  /** The pod that this process runs in, by the downward API. */
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Where to listen. */
  readonly host: string;
  readonly port: number;
  /** `https://host:port`. */
  readonly apiServer: string;
  /** Folder with the files `token` and `ca.crt`. */
  readonly serviceAccount: string;
  /** How many containers of the pod have a preStop to this server (H4). */
  readonly containers: number;
  /** The pod's terminationGracePeriodSeconds, for when the pod cannot be read (H8). */
  readonly graceSeconds: number;
  /** The kubelet's shutdownGracePeriodCriticalPods in seconds (H8). */
  readonly criticalBudgetSeconds: number;
  readonly drivers: readonly string[];
  readonly drainTaints: readonly string[];
  /** The driver's socket (H12); absent: the driver is not watched. */
  readonly csiSocket?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "EBS_DRAIN_HOOK_";

/** Variables of our own, without the prefix. */
const OWN = [
  "HOST",
  "PORT",
  "SERVICE_ACCOUNT",
  "CONTAINERS",
  "GRACE_SECONDS",
  "CRITICAL_BUDGET_SECONDS",
  "DRIVERS",
  "DRAIN_TAINTS",
  "CSI_SOCKET",
] as const;

/** As every install sets it: driver, registrar and the hook's own container. */
const CONTAINERS = 3;
/** The EBS CSI chart's default for its node pods. */
const GRACE_SECONDS = 30;
const PORT = 9810;
const DAY_SECONDS = 86_400;

export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the environment does not fit: ${problems.join(" ")}`);
    this.problems = problems;
  }
}

/** @throws SettingsError that names every problem */
export function readSettings(environment: Environment): HookSettings {
  const problems = unknownVariables(environment);
  const required = (name: string, fix: string): string => {
    const value = environment[name] ?? "";
    if (value === "") problems.push(`${name} is missing. ${fix}`);
    return value;
  };
  const downward = (field: string): string => `Set it by the downward API from ${field}.`;
  const whole = (name: (typeof OWN)[number], otherwise: number, least: number, most: number): number => {
    const text = environment[PREFIX + name] ?? "";
    if (text === "") return otherwise;
    const value = /^\d+$/u.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    problems.push(
      `${PREFIX}${name}: expected a whole number from ${least} to ${most}, got ${describe(text)}.`,
    );
    return otherwise;
  };
  const words = (name: (typeof OWN)[number], otherwise: readonly string[]): readonly string[] => {
    const text = environment[PREFIX + name];
    if (text === undefined) return otherwise;
    const found = text.split(",").map((word) => word.trim());
    if (!found.includes("")) return found;
    problems.push(`${PREFIX}${name}: expected names with commas between them, got ${describe(text)}.`);
    return otherwise;
  };
  const inCluster = "The kubelet sets it in every container; enableServiceLinks does not matter.";
  const host = required("KUBERNETES_SERVICE_HOST", inCluster);
  const apiPort = required("KUBERNETES_SERVICE_PORT", inCluster);
  const csiSocket = environment[`${PREFIX}CSI_SOCKET`] ?? "";
  const settings: HookSettings = {
    node: required("NODE_NAME", downward("spec.nodeName")),
    pod: {
      namespace: required("POD_NAMESPACE", downward("metadata.namespace")),
      name: required("POD_NAME", downward("metadata.name")),
      uid: required("POD_UID", downward("metadata.uid")),
    },
    // Pods of every address family are reached by it; 127.0.0.1 is for a pod with hostNetwork.
    host: environment[`${PREFIX}HOST`] ?? "::",
    port: whole("PORT", PORT, 0, 65_535),
    apiServer: `https://${host.includes(":") ? `[${host}]` : host}:${apiPort}`,
    serviceAccount:
      environment[`${PREFIX}SERVICE_ACCOUNT`] ?? "/var/run/secrets/kubernetes.io/serviceaccount",
    containers: whole("CONTAINERS", CONTAINERS, 1, 20),
    graceSeconds: whole("GRACE_SECONDS", GRACE_SECONDS, 0, DAY_SECONDS),
    criticalBudgetSeconds: whole("CRITICAL_BUDGET_SECONDS", DEFAULT_POLICY.criticalBudget, 0, DAY_SECONDS),
    drivers: words("DRIVERS", DEFAULT_POLICY.drivers),
    drainTaints: words("DRAIN_TAINTS", DRAIN_TAINTS),
    ...(csiSocket === "" ? {} : { csiSocket }),
  };
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.freeze(settings);
}

/** A variable that is set and ignored misleads whoever set it. */
function unknownVariables(environment: Environment): string[] {
  const known = OWN.map((name) => PREFIX + name);
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => {
      const meant = nearest(name, known);
      return `${name} is not known. ${meant === undefined ? `Known are ${known.join(", ")}.` : `Did you mean ${meant}?`}`;
    });
}
