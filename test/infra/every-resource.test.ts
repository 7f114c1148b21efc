import { readFileSync } from "node:fs";
import { Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { AwsSolutionsChecks } from "cdk-nag";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { readDispatchEnvironment } from "../../lambda/environment.ts";
import { readDeployment } from "../../lib/infra/deployment-settings.ts";
import { EbsDrain } from "../../lib/infra/ebs-drain.ts";
import { EbsDrainStack } from "../../lib/infra/ebs-drain-stack.ts";
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

/** Names of services in policies; they are the same in every partition. */
const PRINCIPALS = ["events", "lambda", "pods.eks", "scheduler", "sns"].map(
  (name) => `${name}.amazonaws.com`,
);

describe.each([
  ["aws", "eu-west-1"],
  ["aws-cn", "cn-north-1"],
  ["aws-us-gov", "us-gov-west-1"],
])("a deployment in partition %s", (partition, region) => {
  const stack = new Stack(appWithoutBundles(), "Stack", { env: { account: "111122223333", region } });
  new EbsDrain(stack, "EbsDrain", {
    clusters: [{ name: "blue", groups: ["workers-a"], managedNodeGroups: ["general"] }],
    policy: { onDeadline: "ABANDON" },
    retainOnAbandon: true,
    monitoring: { alarmTopic: onCall(stack) },
  });
  const template = Template.fromStack(stack);
  const text = JSON.stringify(template.toJSON());

  it("writes out no partition in any ARN, and no host but the names of services", () => {
    expect(text).toContain('"arn:",{"Ref":"AWS::Partition"}');
    expect(text).not.toMatch(/arn:aws/);
    const hosts = [...text.matchAll(/[a-z0-9.-]+\.amazonaws\.com(?:\.cn)?/g)].map(([host]) => host);
    expect(hosts.filter((host) => !PRINCIPALS.includes(host))).toEqual([]);
  });

  it("runs on Node 24 there too", () => {
    const functions = Object.values(resourcesOf(template, "AWS::Lambda::Function"));

    expect(functions.map(({ Properties }) => Properties["Runtime"])).toEqual(Array(3).fill("nodejs24.x"));
  });

  it("takes the partition's ARNs, from people and from CloudFormation", () => {
    const clusters = [{ name: "blue", groups: ["workers-a"] }];
    const alarmTopicArn = `arn:${partition}:sns:${region}:111122223333:on-call`;
    const variables = {
      AWS_REGION: region,
      EBS_DRAIN_SETTINGS: JSON.stringify({ clusters }),
      EBS_DRAIN_FUNCTION: `arn:${partition}:lambda:${region}:111122223333:function:drain:live`,
    };

    expect(readDeployment({ clusters, monitoring: { alarmTopicArn }, region }).kind).toBe("valid");
    expect(readDispatchEnvironment(variables)).toMatchObject({ account: "111122223333" });
  });
});

/** What differs with every line of the functions' code: names of assets, and of the versions made for them. */
function withoutHashes(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{64}(?=\.zip|$)/gm, "HASH")
    .replaceAll(/(CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, "$1HASH");
}

it("the sample configuration becomes the template that was reviewed last (`vitest -u` takes a new one)", async () => {
  const sample: unknown = parse(
    readFileSync(new URL("../../examples/deployment.yaml", import.meta.url), "utf8"),
  );
  const reading = readDeployment(sample);
  if (reading.kind === "invalid") throw new RangeError(JSON.stringify(reading.problems));

  const template = Template.fromStack(new EbsDrainStack(appWithoutBundles(), reading.settings)).toJSON();

  await expect(withoutHashes(stringify(template, { lineWidth: 110 }))).toMatchFileSnapshot(
    "sample-template.snap",
  );
});
