/** What whoever deploys ebs-drain says. */
import type { IAutoScalingGroup } from "aws-cdk-lib/aws-autoscaling";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { Policy } from "../drain/policy.ts";

export interface DrainedCluster {
  /** The EKS cluster's name. Its authentication mode has to allow access entries (API or API_AND_CONFIG_MAP). */
  readonly name: string;
  /** Auto Scaling groups whose instances are its nodes: names, or constructs of the same app. Each gets the lifecycle hook. */
  readonly groups: readonly (string | IAutoScalingGroup)[];
  /** Of the API server, together with `certificateAuthority`; without them the functions ask EKS. */
  readonly endpoint?: string;
  /** PEM in base64, as EKS gives it. */
  readonly certificateAuthority?: string;
}

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
  /** Alarms and a dashboard. "off" is for those who watch by other means: a drain that gets nowhere is then silent. */
  readonly monitoring: Monitoring | "off";
}
