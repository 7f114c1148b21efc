/** A deployment's settings: read once, checked whole, frozen. */
import type { Policy } from "./policy.ts";
import { policySchema, readPolicy } from "./policy-settings.ts";
import { isObject, shorten } from "./raw-json.ts";
import type { Checks, Problem } from "./setting-checks.ts";
import { checked, list, readKeys, schemaOf, text } from "./setting-checks.ts";

export type { Problem } from "./setting-checks.ts";

/** One EKS cluster and the Auto Scaling groups whose instances are its nodes. */
export interface ClusterSettings {
  readonly name: string;
  readonly groups: readonly string[];
  /** Of the API server; without it and its certificate authority EKS is asked. */
  readonly endpoint?: string;
  /** PEM in base64, as EKS gives it. */
  readonly certificateAuthority?: string;
}

export interface Settings {
  readonly policy: Policy;
  readonly clusters: readonly ClusterSettings[];
  /** Events of another account or region are ignored (S8). */
  readonly account?: string;
  readonly region?: string;
}

export type SettingsReading =
  | { readonly kind: "valid"; readonly settings: Settings }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** Reads settings from parsed JSON. Never throws; all problems at once; what is left out of `policy` keeps its default. */
export function readSettings(raw: unknown): SettingsReading {
  const problems: Problem[] = [];
  const read = readKeys<Settings>(raw, "", SETTINGS_CHECKS, ["clusters", "policy"], problems);
  const { policy, clusters, ...here } = read;
  if (problems.length > 0 || policy === undefined || clusters === undefined)
    return { kind: "invalid", problems };
  return { kind: "valid", settings: deepFreeze({ policy, clusters, ...here }) };
}

/** The cluster that a group belongs to; undefined for a group that is not ours (D1). */
export function clusterOfGroup(settings: Settings, group: string): ClusterSettings | undefined {
  return settings.clusters.find((cluster) => cluster.groups.includes(group));
}

const groupName = text(
  "an Auto Scaling group's name",
  /^[!-9;-~]{1,255}$/,
  "Give the group's name, not its ARN: no spaces, no colon, at most 255 characters.",
);

const endpoint = text(
  "an address such as https://ABC123.gr7.eu-west-1.eks.amazonaws.com",
  isApiAddress,
  "It is what `aws eks describe-cluster` prints as endpoint; without both endpoint and certificateAuthority EKS is asked.",
);

const certificateAuthority = text(
  "a PEM certificate in base64",
  isBase64Certificate,
  "It is what `aws eks describe-cluster` prints as certificateAuthority.data; without both endpoint and certificateAuthority EKS is asked.",
);

/** Of one cluster's fields; what only a comparison of them finds, `readSettings` finds. */
export const CLUSTER_CHECKS: Checks<ClusterSettings> = {
  name: text(
    "an EKS cluster's name",
    /^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/,
    "EKS takes 1 to 100 letters, digits, hyphens and underscores, the first one a letter or digit.",
  ),
  groups: list(
    "Auto Scaling group names",
    groupName,
    "Nothing of the cluster is drained without its groups.",
  ),
  endpoint,
  certificateAuthority,
};

const REQUIRED = ["name", "groups"] as const;

const cluster = checked<ClusterSettings>(schemaOf(CLUSTER_CHECKS, REQUIRED), (value, path, problems) => {
  const { name, groups, ...address } = readKeys<ClusterSettings>(
    value,
    path,
    CLUSTER_CHECKS,
    REQUIRED,
    problems,
  );
  const given = (key: "endpoint" | "certificateAuthority") => isObject(value) && value[key] !== undefined;
  if (given("endpoint") !== given("certificateAuthority")) {
    const missing = given("endpoint") ? "certificateAuthority" : "endpoint";
    problems.push({
      path: `${path}.${missing}`,
      problem:
        "expected endpoint and certificateAuthority together, or neither. Add it, or remove the other one to have EKS asked.",
    });
  }
  return name === undefined || groups === undefined ? undefined : { name, groups, ...address };
});

const clusters = list("clusters", cluster, "Each is an EKS cluster's name and its Auto Scaling groups.");

export const SETTINGS_CHECKS: Checks<Settings> = {
  policy: checked(policySchema(), (value, path, problems) =>
    readPolicy(value === undefined ? {} : value, path, problems),
  ),
  clusters: checked(clusters.schema, (value, path, problems) => {
    problems.push(...findRepeated(value, path));
    return clusters(value, path, problems);
  }),
  account: text(
    "an AWS account id",
    /^\d{12}$/,
    "It is a string of 12 digits, leading zeros included; leave it out to compare none.",
  ),
  region: text(
    "a region such as eu-west-1",
    /^[a-z]{2,5}(?:-[a-z]+)+-\d+$/,
    "Give the region's code; leave it out to compare none.",
  ),
};

/** An instance's Node is looked for in one cluster only, so neither a cluster nor a group may stand in the list twice. */
function findRepeated(clusters: unknown, path: string): readonly Problem[] {
  if (!Array.isArray(clusters)) return [];
  const entries: readonly unknown[] = clusters;
  const names = new Map<unknown, string>();
  const groups = new Map<unknown, string>();
  return entries.flatMap((entry, index) => {
    if (!isObject(entry)) return [];
    const own: readonly unknown[] = Array.isArray(entry["groups"]) ? entry["groups"] : [];
    return [
      ...seeAgain(names, entry["name"], `${path}[${index}].name`, "List its groups in one entry."),
      ...own.flatMap((group, at) =>
        seeAgain(groups, group, `${path}[${index}].groups[${at}]`, "Leave it where its nodes are."),
      ),
    ];
  });
}

function seeAgain(seen: Map<unknown, string>, value: unknown, path: string, fix: string): readonly Problem[] {
  if (typeof value !== "string") return [];
  const first = seen.get(value);
  if (first !== undefined) return [{ path, problem: `${shorten(value)} stands at ${first} already. ${fix}` }];
  seen.set(value, path);
  return [];
}

function isApiAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return url.protocol === "https:" && url.username === "" && url.search === "" && url.hash === "";
}

function isBase64Certificate(value: string): boolean {
  try {
    return atob(value).includes("-----BEGIN CERTIFICATE-----");
  } catch {
    return false;
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) deepFreeze<unknown>(inner);
  return Object.freeze(value);
}
