import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { EbsDrain } from "../../lib/infra/ebs-drain.ts";
import type { EbsDrainProps } from "../../lib/infra/props.ts";
import { CLUSTERS, appWithoutBundles, onCall, resourcesOf, stackIn, templateOf } from "./synthesized.ts";

const VPC = { subnetIds: ["subnet-0a1b2c3d"], securityGroupIds: ["sg-0a1b2c3d"] };
const SHAPES: readonly (readonly [string, Partial<EbsDrainProps>])[] = [
  ["of two clusters in a VPC", { vpc: VPC }],
  ["of one cluster whose address is given", { clusters: [CLUSTERS[1]], policy: { maxDuration: 600 } }],
];

function violationsOf(change: Partial<EbsDrainProps>): readonly string[] {
  const stack = stackIn(appWithoutBundles());
  const monitoring = { alarmTopic: onCall(stack) };
  const drain = new EbsDrain(stack, "EbsDrain", { clusters: CLUSTERS, monitoring, ...change });
  return new AwsSolutionsChecks().validateScope(drain).violations.map(({ ruleName }) => ruleName);
}

describe.each(SHAPES)("every resource of a deployment %s", (_, change) => {
  const template = templateOf((stack) => ({ monitoring: { alarmTopic: onCall(stack) }, ...change }));
  const all = (type: string) => Object.values(resourcesOf(template, type));

  it("runs on Node 24 or later, on ARM", () => {
    const functions = all("AWS::Lambda::Function").map(({ Properties }) => Properties);

    expect(functions).toHaveLength(2);
    for (const { Runtime, Architectures } of functions) {
      expect(Number(/^nodejs(\d+)\.x$/.exec(String(Runtime))?.[1])).toBeGreaterThanOrEqual(24);
      expect(Architectures).toEqual(["arm64"]);
    }
  });

  it("logs into a group that forgets", () => {
    const groups = all("AWS::Logs::LogGroup");

    expect(groups).toHaveLength(2);
    for (const { Properties } of groups) expect(Properties["RetentionInDays"]).toBe(30);
    for (const { Properties } of all("AWS::Lambda::Function")) {
      expect(Properties["LoggingConfig"]).toMatchObject({ LogGroup: { Ref: expect.any(String) } });
    }
  });

  it("keeps what it could not handle, encrypted at rest and on the way", () => {
    const queues = all("AWS::SQS::Queue");
    const denials = all("AWS::SQS::QueuePolicy").filter((policy) =>
      JSON.stringify(policy).includes(`{"Bool":{"aws:SecureTransport":"false"}},"Effect":"Deny"`),
    );

    expect(queues).toHaveLength(2);
    for (const { Properties } of queues) expect(Properties["SqsManagedSseEnabled"]).toBe(true);
    expect(denials).toHaveLength(2);
    for (const { Properties } of all("AWS::Lambda::Function"))
      expect(Properties["DeadLetterConfig"]).toBeDefined();
  });

  it("is deleted with its stack, but for versions, which go with their function", () => {
    const kept = Object.values(
      template.toJSON()["Resources"] as Readonly<Record<string, { Type: string }>>,
    ).filter((resource) => "DeletionPolicy" in resource && resource.DeletionPolicy === "Retain");

    expect(kept.map(({ Type }) => Type)).toEqual(["AWS::Lambda::Version", "AWS::Lambda::Version"]);
  });

  it("passes AWS Solutions' rules, each exception with a reason", () => {
    expect(violationsOf(change)).toEqual([]);
  });
});

describe("the rules", () => {
  it("find what is not acknowledged: a queue, and a wildcard", () => {
    const stack = stackIn(appWithoutBundles());
    const drain = new EbsDrain(stack, "EbsDrain", { clusters: CLUSTERS, monitoring: "off" });
    new Queue(drain, "Plain");
    drain.drain.role.addToPolicy(new PolicyStatement({ actions: ["ec2:*"], resources: ["*"] }));

    const found = new AwsSolutionsChecks().validateScope(drain).violations.map(({ ruleName }) => ruleName);

    expect(found).toEqual(expect.arrayContaining(["AwsSolutions-SQS3", "AwsSolutions-IAM5[Action::ec2:*]"]));
  });
});
