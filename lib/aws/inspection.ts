/** What an operator's preflight asks of AWS. Nothing of it changes anything. */
import { type AutoScalingClient, DescribeLifecycleHooksCommand } from "@aws-sdk/client-auto-scaling";
import { DescribeInstancesCommand, DescribeVolumesCommand, type EC2Client } from "@aws-sdk/client-ec2";
import {
  DescribeAccessEntryCommand,
  DescribeClusterCommand,
  type EKSClient,
  paginateListAccessEntries,
} from "@aws-sdk/client-eks";
import { codeOf, toPortError, withPortErrors } from "./errors.ts";

export interface LifecycleHookView {
  readonly name: string;
  readonly transition: string;
  /** Seconds. */
  readonly heartbeatTimeout: number;
  readonly defaultResult: string;
}

/** Who may come to a cluster, and from where. */
export interface ClusterAccessView {
  /** API, API_AND_CONFIG_MAP or CONFIG_MAP. */
  readonly authenticationMode: string;
  readonly isPublic: boolean;
  readonly publicCidrs: readonly string[];
}

export interface AccessEntryView {
  readonly principal: string;
  readonly groups: readonly string[];
}

export interface AwsInspectionPort {
  /** Every hook of the group; rejects with `not-found` where there is no such group. */
  readonly listHooks: (group: string) => Promise<readonly LifecycleHookView[]>;
  readonly describeAccess: (cluster: string) => Promise<ClusterAccessView>;
  readonly listAccessEntries: (cluster: string) => Promise<readonly AccessEntryView[]>;
  /** EC2's own DryRun; rejects with `forbidden` where the right is missing. */
  readonly tryDescribeInstances: () => Promise<void>;
  readonly tryDescribeVolumes: () => Promise<void>;
}

export interface InspectionClients {
  readonly autoScaling: AutoScalingClient;
  readonly ec2: EC2Client;
  readonly eks: EKSClient;
}

/** Every method rejects with a PortError. */
export function createAwsInspection({ autoScaling, ec2, eks }: InspectionClients): AwsInspectionPort {
  return {
    listHooks: (group) =>
      withPortErrors("autoScaling.listHooks", async () => {
        const answer = await autoScaling.send(
          new DescribeLifecycleHooksCommand({ AutoScalingGroupName: group }),
        );
        return (answer.LifecycleHooks ?? []).map((hook) => ({
          name: hook.LifecycleHookName ?? "",
          transition: hook.LifecycleTransition ?? "",
          heartbeatTimeout: hook.HeartbeatTimeout ?? 0,
          defaultResult: hook.DefaultResult ?? "",
        }));
      }),
    describeAccess: (name) => withPortErrors("eks.describeAccess", () => describeAccess(eks, name)),
    listAccessEntries: (cluster) =>
      withPortErrors("eks.listAccessEntries", () => listAccessEntries(eks, cluster)),
    tryDescribeInstances: () =>
      dryRun("ec2.describeInstance", () =>
        ec2.send(new DescribeInstancesCommand({ DryRun: true, MaxResults: 5 })),
      ),
    tryDescribeVolumes: () =>
      dryRun("ec2.listAttachedVolumes", () =>
        ec2.send(new DescribeVolumesCommand({ DryRun: true, MaxResults: 5 })),
      ),
  };
}

async function describeAccess(eks: EKSClient, name: string): Promise<ClusterAccessView> {
  const { cluster } = await eks.send(new DescribeClusterCommand({ name }));
  return {
    authenticationMode: cluster?.accessConfig?.authenticationMode ?? "",
    isPublic: cluster?.resourcesVpcConfig?.endpointPublicAccess ?? false,
    publicCidrs: cluster?.resourcesVpcConfig?.publicAccessCidrs ?? [],
  };
}

async function listAccessEntries(
  client: EKSClient,
  clusterName: string,
): Promise<readonly AccessEntryView[]> {
  const entries: AccessEntryView[] = [];
  for await (const page of paginateListAccessEntries({ client }, { clusterName })) {
    for (const principalArn of page.accessEntries ?? []) {
      const answer = await client.send(new DescribeAccessEntryCommand({ clusterName, principalArn }));
      entries.push({ principal: principalArn, groups: answer.accessEntry?.kubernetesGroups ?? [] });
    }
  }
  return entries;
}

/** EC2 answers a dry run that would be allowed with an error of its own. */
async function dryRun(operation: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (codeOf(error) !== "DryRunOperation") throw toPortError(operation, error);
  }
}
