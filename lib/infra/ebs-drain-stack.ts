/** The stack of the app in bin/cdk.ts. It only wires. */
import { CfnOutput, Stack } from "aws-cdk-lib";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { Construct } from "constructs";
import { PRODUCT } from "../drain/names.ts";
import type { DeploymentSettings } from "./deployment-settings.ts";
import { EbsDrain } from "./ebs-drain.ts";
import type { Monitoring } from "./props.ts";

export class EbsDrainStack extends Stack {
  constructor(scope: Construct, settings: DeploymentSettings) {
    const { account, region, stackName, clusters, policy, vpc, retainOnAbandon } = settings;
    super(scope, stackName ?? PRODUCT, {
      description:
        "Drains EC2 instances of EKS clusters and lets them go only when their EBS volumes are free",
      env: { ...(account === undefined ? {} : { account }), ...(region === undefined ? {} : { region }) },
    });
    const made = new EbsDrain(this, "EbsDrain", {
      clusters,
      monitoring: this.#monitoringOf(settings),
      ...(policy === undefined ? {} : { policy }),
      ...(vpc === undefined ? {} : { vpc }),
      ...(retainOnAbandon === undefined ? {} : { retainOnAbandon }),
    });
    this.#tell({
      DrainFunction: made.drain.code.functionName,
      DrainLogs: made.drain.code.logGroup.logGroupName,
      DispatchLogs: made.dispatch.code.logGroup.logGroupName,
      Unhandled: made.unhandled.queueUrl,
      Undelivered: made.undelivered.queueUrl,
    });
  }

  /** Names that the runbook's commands need. */
  #tell(outputs: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }

  #monitoringOf({ monitoring }: DeploymentSettings): Monitoring | "off" {
    if (monitoring === "off") return "off";
    const { alarmTopicArn, ...others } = monitoring;
    return { ...others, alarmTopic: Topic.fromTopicArn(this, "AlarmTopic", alarmTopicArn) };
  }
}
