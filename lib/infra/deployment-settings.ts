/** What the app's configuration file says: the functions' settings, and what concerns the deployment only. */
import { PRODUCT } from "../drain/names.ts";
import type { Policy } from "../drain/policy.ts";
import { isObject } from "../drain/raw-json.ts";
import type { Checks, JsonSchema, Problem } from "../drain/setting-checks.ts";
import { checked, flag, list, mismatch, readKeys, schemaOf, text } from "../drain/setting-checks.ts";
import { SETTINGS_CHECKS, readSettings } from "../drain/settings.ts";
import type { DeployedCluster } from "./cluster-checks.ts";
import { CLUSTERS } from "./cluster-checks.ts";
import type { FunctionsVpc } from "./props.ts";

export interface MonitoringSettings {
  readonly alarmTopicArn: string;
  readonly runbookUrl?: string;
}

export interface DeploymentSettings {
  readonly stackName?: string;
  readonly clusters: readonly DeployedCluster[];
  /** As given: what is left out keeps its default. */
  readonly policy?: Partial<Policy>;
  readonly vpc?: FunctionsVpc;
  readonly retainOnAbandon?: boolean;
  readonly monitoring: MonitoringSettings | "off";
  readonly account?: string;
  readonly region?: string;
}

export type DeploymentReading =
  | { readonly kind: "valid"; readonly settings: DeploymentSettings }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** Reads the configuration from parsed JSON or YAML. Never throws; all problems at once. */
export function readDeployment(raw: unknown): DeploymentReading {
  if (!isObject(raw)) {
    const fix = "Name a file with -c config=FILE, or give the settings in the context of cdk.json.";
    return { kind: "invalid", problems: [mismatch("", "an object", raw, fix)] };
  }
  const found: Problem[] = [];
  const read = readKeys<DeploymentSettings>(raw, "", CHECKS, REQUIRED, found);
  const ofTheFunctions = readSettings(settingsIn(raw));
  // What fields have to do with each other only the functions' own reading finds.
  const problems = unique([...found, ...(ofTheFunctions.kind === "invalid" ? ofTheFunctions.problems : [])]);
  const { clusters, monitoring, policy: _complete, ...others } = read;
  if (problems.length > 0 || clusters === undefined || monitoring === undefined) {
    return { kind: "invalid", problems };
  }
  const policy = raw["policy"] === undefined ? {} : { policy: raw["policy"] as Partial<Policy> };
  return { kind: "valid", settings: { ...others, clusters, monitoring, ...policy } };
}

/** What `readDeployment` accepts, for editors. */
export function deploymentSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `A deployment of ${PRODUCT}`,
    ...schemaOf(CHECKS, REQUIRED),
  };
}

/** The functions' part, as they will get it; a group that is asked of EKS later has a stand-in. */
function settingsIn(raw: Readonly<Record<string, unknown>>): object {
  const { clusters, policy, account, region } = raw;
  const own = Array.isArray(clusters) ? clusters.map(clusterIn) : clusters;
  return { clusters: own, policy, account, region };
}

function clusterIn(cluster: unknown, index: number): unknown {
  if (!isObject(cluster)) return cluster;
  const { name, groups = [`of-node-groups-${index}`], endpoint, certificateAuthority } = cluster;
  return { name, groups, endpoint, certificateAuthority };
}

/** Both readings check most fields, in the same words. */
function unique(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((each) => [`${each.path} ${each.problem}`, each])).values()];
}

const VPC: Checks<FunctionsVpc> = {
  subnetIds: list(
    "subnet ids",
    text("a subnet's id", /^subnet-[0-9a-f]{8,17}$/, "It is like subnet-0123456789abcdef0."),
    "Lambda needs one at least; take them in more than one zone.",
  ),
  securityGroupIds: list(
    "security group ids",
    text("a security group's id", /^sg-[0-9a-f]{8,17}$/, "It is like sg-0123456789abcdef0."),
    "Lambda needs one at least; it has to let HTTPS out.",
  ),
};

const MONITORING: Checks<MonitoringSettings> = {
  alarmTopicArn: text(
    "an SNS topic's ARN",
    /^arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/,
    "Every alarm is sent there; monitoring: off makes neither alarms nor dashboard.",
  ),
  runbookUrl: text(
    "an address",
    (url) => URL.canParse(url) && new URL(url).hash === "",
    "Give the address under which your people read docs/runbook.md, without an anchor, or leave it out.",
  ),
};

const VPC_KEYS = ["subnetIds", "securityGroupIds"] as const;

const vpc = checked<FunctionsVpc>(schemaOf(VPC, VPC_KEYS), (value, path, problems) => {
  const { subnetIds, securityGroupIds } = readKeys<FunctionsVpc>(value, path, VPC, VPC_KEYS, problems);
  return subnetIds === undefined || securityGroupIds === undefined
    ? undefined
    : { subnetIds, securityGroupIds };
});

const MONITORING_SCHEMA: JsonSchema = {
  anyOf: [schemaOf(MONITORING, ["alarmTopicArn"]), { enum: ["off", false] }],
  description: "Alarms and a dashboard; off is for those who watch by other means.",
};

const monitoring = checked<MonitoringSettings | "off">(MONITORING_SCHEMA, (value, path, problems) => {
  // YAML 1.1 readers take an unquoted off for false; whoever wrote it meant the same.
  if (value === "off" || value === false) return "off";
  if (!isObject(value)) {
    problems.push(
      mismatch(
        path,
        "an object with alarmTopicArn, or off",
        value,
        "A drain that gets nowhere has to be seen.",
      ),
    );
    return undefined;
  }
  const { alarmTopicArn, ...others } = readKeys<MonitoringSettings>(
    value,
    path,
    MONITORING,
    ["alarmTopicArn"],
    problems,
  );
  return alarmTopicArn === undefined ? undefined : { alarmTopicArn, ...others };
});

const REQUIRED = ["clusters", "monitoring"] as const;

const CHECKS: Checks<DeploymentSettings> = {
  stackName: text(
    "a stack's name",
    /^[A-Za-z][A-Za-z0-9-]{0,127}$/,
    "CloudFormation takes letters, digits and hyphens; leave it out for ebs-drain.",
  ),
  clusters: CLUSTERS,
  policy: SETTINGS_CHECKS.policy,
  vpc,
  retainOnAbandon: flag(
    "With true, and policy.onDeadline ABANDON, an instance whose drain was not done in time is kept for a human.",
  ),
  monitoring,
  account: SETTINGS_CHECKS.account,
  region: SETTINGS_CHECKS.region,
};
