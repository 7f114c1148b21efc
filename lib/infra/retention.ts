/** Instances that were abandoned are kept for a human. */
import { CfnOutput } from "aws-cdk-lib";
import { PhysicalResourceId } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import { ApiCall } from "./api-call.ts";
import { grantOnGroups } from "./grants.ts";
import { stableId } from "./stable-id.ts";

const STATE = "AutoScalingGroups.0.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon";

/**
 * The instance lifecycle policy of groups that are there already, which CloudFormation changes for its own groups only. What was set
 * is read again: an SDK that does not know the setting sends the request without it and reports success.
 */
export class RetainOnAbandon extends Construct {
  constructor(scope: Construct, id: string, groups: readonly string[]) {
    super(scope, id);
    for (const group of groups) this.#retain(group);
  }

  #retain(group: string): void {
    const id = stableId(this, group);
    const set = (value: "retain" | "terminate") => ({
      service: "auto-scaling",
      action: "updateAutoScalingGroup",
      parameters: {
        AutoScalingGroupName: group,
        InstanceLifecyclePolicy: { RetentionTriggers: { TerminateHookAbandon: value } },
      },
      physicalResourceId: PhysicalResourceId.of("retain-on-abandon"),
    });
    const change = new ApiCall(this, id, {
      read: set("retain"),
      undo: { ...set("terminate"), ignoreErrorCodesMatching: "ValidationError" },
      grant: grantOnGroups(this, ["autoscaling:UpdateAutoScalingGroup"], [group]),
    });
    const check = new ApiCall(this, `${id}.Check`, {
      read: {
        service: "auto-scaling",
        action: "describeAutoScalingGroups",
        parameters: { AutoScalingGroupNames: [group] },
        physicalResourceId: PhysicalResourceId.of("retain-on-abandon"),
        outputPaths: [STATE],
      },
      grant: {
        actions: ["autoscaling:DescribeAutoScalingGroups"],
        resources: ["*"],
        wildcard: "IAM can confine this Describe action to no resource.",
      },
    });
    check.node.addDependency(change);
    // Whoever asks for a field that is not there ends the deployment: hence somebody has to ask.
    new CfnOutput(change, "AbandonedInstances", { value: check.answer(STATE) });
  }
}
