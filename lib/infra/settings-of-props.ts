/** The functions' settings, made of what the deployment says and checked as they will check them. */
import { Token } from "aws-cdk-lib";
import type { Problem, Settings } from "../drain/settings.ts";
import { readSettings } from "../drain/settings.ts";
import type { DrainedCluster, EbsDrainProps } from "./props.ts";

/** Everything that is wrong with the settings, each problem with its path. */
export class SettingsError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(`the settings are not usable:\n${problems.map(lineOf).join("\n")}`);
    this.name = "SettingsError";
    this.problems = problems;
  }
}

export interface FunctionSettings {
  readonly settings: Settings;
  /** For the environment: as given, so that defaults stay in one place. May hold tokens. */
  readonly text: object;
}

/** Lambda takes 4 KB for all of a function's variables, and ours are not alone. */
const LONGEST_TEXT = 3_584;
/** All policies of a role have 10,240 characters together; this many are for the groups' ARNs … */
const LONGEST_ARNS = 8_000;
/** … each of which takes these beside the name. */
const ARN_LENGTH = 100;
/** Of a group whose name CloudFormation makes. */
const MADE_NAME_LENGTH = 64;

/** Throws SettingsError. */
export function settingsOf(props: Pick<EbsDrainProps, "clusters" | "policy">): FunctionSettings {
  const clusters = props.clusters.map((cluster) => ({ ...cluster, groups: cluster.groups.map(groupName) }));
  const text = { clusters, ...(props.policy === undefined ? {} : { policy: props.policy }) };
  const reading = readSettings({ ...text, clusters: clusters.map(withStandIns) });
  if (reading.kind === "invalid") throw new SettingsError(reading.problems);
  const problems = [...findTooLong(text), ...findTooMany(clusters.flatMap(({ groups }) => groups))];
  if (problems.length > 0) throw new SettingsError(problems);
  return { settings: { ...reading.settings, clusters }, text };
}

/** The group's name; a token where the group is made by the same app. */
function groupName(group: DrainedCluster["groups"][number]): string {
  return typeof group === "string" ? group : group.autoScalingGroupName;
}

/** What CloudFormation fills in later has no form yet that could be checked. */
function withStandIns(cluster: DrainedCluster, index: number): object {
  const { name, endpoint, certificateAuthority, ...others } = cluster;
  const isLater = Token.isUnresolved(endpoint) || Token.isUnresolved(certificateAuthority);
  return {
    ...others,
    name: Token.isUnresolved(name) ? `token-${index}` : name,
    ...(isLater ? {} : { endpoint, certificateAuthority }),
  };
}

function findTooLong(text: object): readonly Problem[] {
  const length = Buffer.byteLength(JSON.stringify(text));
  if (length <= LONGEST_TEXT) return [];
  return [
    {
      path: "clusters",
      problem: `expected at most ${LONGEST_TEXT} bytes of JSON in all, because Lambda takes no longer environment, got ${length}. Leave out endpoint and certificateAuthority to have EKS asked, or divide the clusters among deployments.`,
    },
  ];
}

function findTooMany(groups: readonly string[]): readonly Problem[] {
  const lengths = groups.map((name) => (Token.isUnresolved(name) ? MADE_NAME_LENGTH : name.length));
  const length = lengths.reduce((sum, each) => sum + each + ARN_LENGTH, 0);
  if (length <= LONGEST_ARNS) return [];
  return [
    {
      path: "clusters",
      problem: `expected fewer than these ${groups.length} groups: IAM takes about ${LONGEST_ARNS} characters of their ARNs in a role, and they have ${length}. Divide the clusters among deployments.`,
    },
  ];
}

export function lineOf({ path, problem }: Problem): string {
  return `- ${path === "" ? "" : `${path}: `}${problem}`;
}
