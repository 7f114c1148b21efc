/** Instances that were abandoned are kept for a human. */
import { CfnOutput } from "aws-cdk-lib";
import type { AwsSdkCall } from "aws-cdk-lib/custom-resources";
import { PhysicalResourceId } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import { ApiCalls } from "./api-calls.ts";
import type { Grant } from "./grants.ts";
import { grantOnGroups } from "./grants.ts";
import { stableId } from "./stable-id.ts";

const SETTING = "AutoScalingGroups.0.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon";

/**
 * The instance lifecycle policy of groups that are there already, which CloudFormation changes for its own groups only. What was set
 * is read again: an SDK that does not know the setting sends the request without it and reports success.
 */
export class RetainOnAbandon extends Construct {
  constructor(scope: Construct, id: string, groups: readonly string[]) {
    super(scope, id);
    const change = grantOnGroups(this, ["autoscaling:UpdateAutoScalingGroup"], groups);
    const calls = new ApiCalls(this, "Calls", [change, READ]);
    for (const group of groups) {
      const name = stableId(this, group);
      const changed = calls.add(name, {
        make: setting(group, "retain"),
        undo: { ...setting(group, "terminate"), ignoreErrorCodesMatching: "ValidationError" },
      });
      const checked = calls.add(`${name}.Check`, { make: question(group) });
      checked.node.addDependency(changed);
      // Whoever asks for a field that is not there ends the deployment: hence somebody has to ask.
      new CfnOutput(changed, "AbandonedInstances", { value: checked.getResponseField(SETTING) });
    }
  }
}

const READ: Grant = {
  actions: ["autoscaling:DescribeAutoScalingGroups"],
  resources: ["*"],
  wildcard: "IAM can confine this Describe action to no resource.",
};

function setting(group: string, value: "retain" | "terminate"): AwsSdkCall {
  return {
    service: "auto-scaling",
    action: "updateAutoScalingGroup",
    parameters: {
      AutoScalingGroupName: group,
      InstanceLifecyclePolicy: { RetentionTriggers: { TerminateHookAbandon: value } },
    },
    physicalResourceId: PhysicalResourceId.of("retain-on-abandon"),
  };
}

function question(group: string): AwsSdkCall {
  return {
    service: "auto-scaling",
    action: "describeAutoScalingGroups",
    parameters: { AutoScalingGroupNames: [group] },
    physicalResourceId: PhysicalResourceId.of("retain-on-abandon"),
    outputPaths: [SETTING],
  };
}
