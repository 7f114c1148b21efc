/** The functions' settings, made of what the deployment says and checked as they will check them. */
import { Token } from "aws-cdk-lib";
import type { Policy } from "../drain/policy.ts";
import type { ClusterSettings, Problem, Settings } from "../drain/settings.ts";
import { readSettings } from "../drain/settings.ts";
import type { NamedCluster } from "./group-names.ts";
import { NODE_GROUPS } from "./cluster-checks.ts";
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
/** Of a group whose name CloudFormation makes, or EKS: eks-, the node group's name of 63 at most, and a UUID. */
const MADE_NAME_LENGTH = 104;

/** Throws SettingsError. */
export function settingsOf(
  given: readonly NamedCluster[],
  { policy, retainOnAbandon }: Pick<EbsDrainProps, "policy" | "retainOnAbandon">,
): FunctionSettings {
  const clusters = given.map(ofTheFunctions);
  const text = { clusters, ...(policy === undefined ? {} : { policy }) };
  const reading = readSettings({ ...text, clusters: clusters.map(withStandIns) });
  if (reading.kind === "invalid") throw new SettingsError(reading.problems);
  const problems = [
    ...findTooLong(text),
    ...findTooMany(clusters.flatMap(({ groups }) => groups)),
    ...findIdleRetention(retainOnAbandon, reading.settings.policy),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  return { settings: { ...reading.settings, clusters }, text };
}

function ofTheFunctions({
  managedNodeGroups: _asked,
  hookCredentials: _ofTheHook,
  ...cluster
}: NamedCluster): ClusterSettings {
  return cluster;
}

/** A name that is refused would otherwise end deep in CDK, and a node group that is named twice as well. */
export function findNodeGroupProblems(clusters: readonly DrainedCluster[]): readonly Problem[] {
  return clusters.flatMap(({ managedNodeGroups = [] }, index) => {
    const problems: Problem[] = [];
    NODE_GROUPS(managedNodeGroups, `clusters[${index}].managedNodeGroups`, problems);
    return managedNodeGroups.length === 0 ? [] : problems;
  });
}

function findIdleRetention(retain: boolean | undefined, { onDeadline }: Policy): readonly Problem[] {
  if (retain !== true || onDeadline === "ABANDON") return [];
  return [
    {
      path: "retainOnAbandon",
      problem: `expected policy.onDeadline ABANDON with it, got ${onDeadline}: nothing would ever be abandoned. Set it, or leave retainOnAbandon out.`,
    },
  ];
}

/** What CloudFormation fills in later has no form yet that could be checked. */
function withStandIns(cluster: ClusterSettings, index: number): object {
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
