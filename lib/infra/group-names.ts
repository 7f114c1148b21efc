/** The Auto Scaling groups of each cluster: those given, and those that EKS says its managed node groups have. */
import type { IAutoScalingGroup } from "aws-cdk-lib/aws-autoscaling";
import { ArnFormat, Stack } from "aws-cdk-lib";
import type { AwsSdkCall } from "aws-cdk-lib/custom-resources";
import { PhysicalResourceId } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import { ApiCalls } from "./api-calls.ts";
import type { Grant } from "./grants.ts";
import type { DrainedCluster } from "./props.ts";
import { stableId } from "./stable-id.ts";

/** A cluster whose groups are known by name, or by the token of a name. */
export type NamedCluster = Omit<DrainedCluster, "groups"> & { readonly groups: readonly string[] };

/** EKS makes one group for each managed node group. */
const GROUP_NAME = "nodegroup.resources.autoScalingGroups.0.name";

/**
 * Asks EKS when it is deployed, so that synth needs no account. A node group that is replaced under its own name has another Auto
 * Scaling group afterwards, which no deployment notices by itself: the alarm for groups without the hook does.
 */
export class GroupNames extends Construct {
  readonly clusters: readonly NamedCluster[];

  constructor(scope: Construct, id: string, clusters: readonly DrainedCluster[]) {
    super(scope, id);
    const calls = new ApiCalls(this, "NodeGroups", [grantFor(this, clusters)]);
    this.clusters = clusters.map((cluster) => {
      const { name, groups = [], managedNodeGroups = [] } = cluster;
      const asked = managedNodeGroups.map((nodeGroup) =>
        calls
          .add(`${stableId(this, name)}.${nodeGroup}`, { make: question(name, nodeGroup) })
          .getResponseField(GROUP_NAME),
      );
      return { ...cluster, groups: [...groups.map(nameOf), ...asked] };
    });
  }
}

function question(clusterName: string, nodegroupName: string): AwsSdkCall {
  return {
    service: "eks",
    action: "describeNodegroup",
    parameters: { clusterName, nodegroupName },
    physicalResourceId: PhysicalResourceId.of("managed-node-group"),
    outputPaths: [GROUP_NAME],
  };
}

function grantFor(scope: Construct, clusters: readonly DrainedCluster[]): Grant {
  return {
    actions: ["eks:DescribeNodegroup"],
    resources: clusters.flatMap(({ name, managedNodeGroups = [] }) =>
      managedNodeGroups.map((nodeGroup) => nodeGroupArn(scope, name, nodeGroup)),
    ),
    wildcard: "A node group's ARN ends in an id that only EKS knows; the names before it are exact.",
  };
}

/** The group's name; a token where the group is made by the same app. */
function nameOf(group: string | IAutoScalingGroup): string {
  return typeof group === "string" ? group : group.autoScalingGroupName;
}

function nodeGroupArn(scope: Construct, cluster: string, nodeGroup: string): string {
  return Stack.of(scope).formatArn({
    service: "eks",
    resource: "nodegroup",
    resourceName: `${cluster}/${nodeGroup}/*`,
    arnFormat: ArnFormat.SLASH_RESOURCE_NAME,
  });
}
