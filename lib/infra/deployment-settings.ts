/** What the app's configuration file says: the functions' settings, and what concerns the deployment only. */
import type { Policy } from "../drain/policy.ts";
import { isObject } from "../drain/raw-json.ts";
import type { Check, Checks, Problem } from "../drain/setting-checks.ts";
import { list, mismatch, readKeys, text } from "../drain/setting-checks.ts";
import type { ClusterSettings } from "../drain/settings.ts";
import { readSettings } from "../drain/settings.ts";
import type { FunctionsVpc } from "./props.ts";

export interface MonitoringSettings {
  readonly alarmTopicArn: string;
  readonly runbookUrl?: string;
}

interface OfTheDeployment {
  readonly stackName?: string;
  readonly vpc?: FunctionsVpc;
  readonly monitoring: MonitoringSettings | "off";
}

export interface DeploymentSettings extends OfTheDeployment {
  readonly clusters: readonly ClusterSettings[];
  /** As given: what is left out keeps its default. */
  readonly policy?: Partial<Policy>;
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
  const { stackName, vpc, monitoring, ...ofTheFunctions } = raw;
  const problems: Problem[] = [];
  const own = readKeys<OfTheDeployment>({ stackName, vpc, monitoring }, "", CHECKS, ["monitoring"], problems);
  const reading = readSettings(ofTheFunctions);
  if (reading.kind === "invalid") return { kind: "invalid", problems: [...reading.problems, ...problems] };
  if (problems.length > 0 || own.monitoring === undefined) return { kind: "invalid", problems };
  const { clusters, account, region } = reading.settings;
  const here = { ...(account === undefined ? {} : { account }), ...(region === undefined ? {} : { region }) };
  const policy = raw["policy"] === undefined ? {} : { policy: raw["policy"] as Partial<Policy> };
  return {
    kind: "valid",
    settings: { ...own, monitoring: own.monitoring, clusters, ...here, ...policy },
  };
}

const VPC: Checks<FunctionsVpc> = {
  subnetIds: list(
    "subnet ids",
    text("a subnet's id", (id) => /^subnet-[0-9a-f]{8,17}$/.test(id), "It is like subnet-0123456789abcdef0."),
    "Lambda needs one at least; take them in more than one zone.",
  ),
  securityGroupIds: list(
    "security group ids",
    text("a security group's id", (id) => /^sg-[0-9a-f]{8,17}$/.test(id), "It is like sg-0123456789abcdef0."),
    "Lambda needs one at least; it has to let HTTPS out.",
  ),
};

const MONITORING: Checks<MonitoringSettings> = {
  alarmTopicArn: text(
    "an SNS topic's ARN",
    (arn) => /^arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/.test(arn),
    "Every alarm is sent there; monitoring: off makes neither alarms nor dashboard.",
  ),
  runbookUrl: text(
    "an address",
    (url) => URL.canParse(url) && new URL(url).hash === "",
    "Give the address under which your people read docs/runbook.md, without an anchor, or leave it out.",
  ),
};

const vpc: Check<FunctionsVpc> = (value, path, problems) => {
  const { subnetIds, securityGroupIds } = readKeys<FunctionsVpc>(
    value,
    path,
    VPC,
    ["subnetIds", "securityGroupIds"],
    problems,
  );
  return subnetIds === undefined || securityGroupIds === undefined
    ? undefined
    : { subnetIds, securityGroupIds };
};

const monitoring: Check<MonitoringSettings | "off"> = (value, path, problems) => {
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
};

const CHECKS: Checks<OfTheDeployment> = {
  stackName: text(
    "a stack's name",
    (name) => /^[A-Za-z][A-Za-z0-9-]{0,127}$/.test(name),
    "CloudFormation takes letters, digits and hyphens; leave it out for ebs-drain.",
  ),
  vpc,
  monitoring,
};
