/** Our lifecycle hook on groups that are there already. */
import { CfnLifecycleHook } from "aws-cdk-lib/aws-autoscaling";
import { Construct } from "constructs";
import type { Settings } from "../drain/settings.ts";
import { stableId } from "./stable-id.ts";

/** One on each group, beside whatever hooks it has; that of a managed node group included. */
export class LifecycleHooks extends Construct {
  constructor(scope: Construct, id: string, { clusters, policy }: Settings) {
    super(scope, id);
    for (const group of clusters.flatMap(({ groups }) => groups)) {
      new CfnLifecycleHook(this, stableId(this, group), {
        autoScalingGroupName: group,
        lifecycleHookName: policy.hookName,
        lifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING",
        heartbeatTimeout: policy.heartbeatTimeout,
        // What the deadline would give (D13), should nobody be left to give it. Auto Scaling's own default is ABANDON (C36).
        defaultResult: policy.onDeadline,
      });
    }
  }
}
