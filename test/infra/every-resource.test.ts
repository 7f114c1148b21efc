import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { EbsDrain } from "../../lib/infra/ebs-drain.ts";
import type { EbsDrainProps } from "../../lib/infra/props.ts";
import type { Resource } from "./synthesized.ts";
import { CLUSTERS, appWithoutBundles, onCall, resourcesOf, stackIn, templateOf } from "./synthesized.ts";

const VPC = { subnetIds: ["subnet-0a1b2c3d"], securityGroupIds: ["sg-0a1b2c3d"] };
const SHAPES: readonly (readonly [string, Partial<EbsDrainProps>])[] = [
  ["of two clusters in a VPC", { vpc: VPC }],
  ["of one cluster whose address is given", { clusters: [CLUSTERS[1]], policy: { maxDuration: 600 } }],
  [
    "that asks AWS for groups and changes them",
    {
      clusters: [{ name: "blue", groups: ["workers-a"], managedNodeGroups: ["general"] }],
      policy: { onDeadline: "ABANDON" },
      retainOnAbandon: true,
    },
  ],
];

/** CDK's own function, which makes calls at deployment. */
const isOwn = ({ Properties }: Resource): boolean => "Environment" in Properties;

function violationsOf(change: Partial<EbsDrainProps>): readonly string[] {
  const stack = stackIn(appWithoutBundles());
  const monitoring = { alarmTopic: onCall(stack) };
  new EbsDrain(stack, "EbsDrain", { clusters: CLUSTERS, monitoring, ...change });
  const found = new AwsSolutionsChecks().validateScope(stack).violations.map(({ ruleName }) => ruleName);
  // The topic is the test's.
  return found.filter((rule) => rule !== "AwsSolutions-SNS3");
}

describe.each(SHAPES)("every resource of a deployment %s", (_, change) => {
  const template = templateOf((stack) => ({ monitoring: { alarmTopic: onCall(stack) }, ...change }));
  const all = (type: string) => Object.values(resourcesOf(template, type));

  const functions = all("AWS::Lambda::Function");

  it("runs on Node 24 or later, ours on ARM", () => {
    expect(functions.filter(isOwn)).toHaveLength(2);
    for (const { Properties } of functions) {
      expect(Number(/^nodejs(\d+)\.x$/.exec(String(Properties["Runtime"]))?.[1])).toBeGreaterThanOrEqual(24);
    }
    for (const { Properties } of functions.filter(isOwn)) {
      expect(Properties["Architectures"]).toEqual(["arm64"]);
    }
  });

  it("logs into a group that forgets", () => {
    const groups = all("AWS::Logs::LogGroup");

    expect(groups).toHaveLength(functions.length);
    for (const { Properties } of groups) expect(Properties["RetentionInDays"]).toBe(30);
    for (const { Properties } of functions) {
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
    for (const { Properties } of functions.filter(isOwn)) {
      expect(Properties["DeadLetterConfig"]).toBeDefined();
    }
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
