/** What whoever deploys ebs-drain says. */
import type { IAutoScalingGroup } from "aws-cdk-lib/aws-autoscaling";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { Policy } from "../drain/policy.ts";

export interface DrainedCluster {
  /** The EKS cluster's name. Its authentication mode has to allow access entries (API or API_AND_CONFIG_MAP). */
  readonly name: string;
  /** Auto Scaling groups whose instances are its nodes: names, or constructs of the same app. Each gets the lifecycle hook. */
  readonly groups?: readonly (string | IAutoScalingGroup)[];
  /**
   * Managed node groups by their names. EKS is asked at deployment which Auto Scaling group each one has; the hook stands beside EKS's
   * own. One of `groups` and `managedNodeGroups` is needed at least.
   */
  readonly managedNodeGroups?: readonly string[];
  /** How the hook on the nodes gets at completing lifecycle actions. Default: "pod-identity". */
  readonly hookCredentials?: HookCredentials;
  /** Of the API server, together with `certificateAuthority`; without them the functions ask EKS. */
  readonly endpoint?: string;
  /** PEM in base64, as EKS gives it. */
  readonly certificateAuthority?: string;
}

/** Kubernetes' name of whoever the CSI node pods run as. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * What the hook has, to complete lifecycle actions of the cluster's groups, and nothing else:
 * - "pod-identity": a role of its own, for the service account of the EBS CSI driver's node pods as chart and add-on name it; needs the
 *   EKS Pod Identity Agent on the nodes. A ServiceAccount in its place: the same for a driver that has other names.
 * - instanceRoles: names of the nodes' own roles, which get the right; needs instance metadata that pods reach (hop limit 2).
 * - "none": the drain completes after the hook has let go, some seconds later.
 */
export type HookCredentials =
  | "pod-identity"
  | "none"
  | ServiceAccount
  | { readonly instanceRoles: readonly string[] };

/**
 * Subnets and security groups by plain ids, so that nothing is looked up. From there the functions must reach the API servers, and
 * Auto Scaling, EC2, Lambda and, for clusters without `endpoint`, EKS: by NAT or by interface endpoints.
 */
export interface FunctionsVpc {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

export interface Monitoring {
  /** Told by every alarm. */
  readonly alarmTopic: ITopic;
  /** Where docs/runbook.md is read; alarms link to its articles. Default: its path in this project. */
  readonly runbookUrl?: string;
}

export interface EbsDrainProps {
  readonly clusters: readonly DrainedCluster[];
  /** What is left out keeps its default. */
  readonly policy?: Partial<Policy>;
  /** For private API servers. A function is in one VPC: clusters that no single one reaches need an EbsDrain each. */
  readonly vpc?: FunctionsVpc;
  /**
   * With policy onDeadline ABANDON: an instance whose drain was not done by its deadline is kept for a human (Terminating:Retained)
   * until somebody terminates it. It is the groups' own setting, made at deployment and undone with the stack. Default: false.
   */
  readonly retainOnAbandon?: boolean;
  /** Alarms and a dashboard. "off" is for those who watch by other means: a drain that gets nowhere is then silent. */
  readonly monitoring: Monitoring | "off";
}
