import { AutoScalingGroup } from "aws-cdk-lib/aws-autoscaling";
import { Template } from "aws-cdk-lib/assertions";
import { InstanceType, LaunchTemplate, MachineImage, Vpc } from "aws-cdk-lib/aws-ec2";
import { describe, expect, it } from "vitest";
import { readDispatchEnvironment, readDrainEnvironment } from "../../lambda/environment.ts";
import { HANDLED_EVENTS } from "../../lib/drain/handled-events.ts";
import { parseSignal } from "../../lib/drain/signal.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import type { Resource } from "./synthesized.ts";
import { CLUSTERS, appWithoutBundles, resourcesOf, stackIn, templateOf, theOne } from "./synthesized.ts";
import { EbsDrain } from "../../lib/infra/ebs-drain.ts";

const template = templateOf();
const FUNCTION = "AWS::Lambda::Function";
const RULE = "AWS::Events::Rule";
const [dispatchAlias] = theOne(template, "AWS::Lambda::Alias", "Dispatch");
const [drainAlias] = Object.keys(resourcesOf(template, "AWS::Lambda::Alias")).filter(
  (id) => id !== dispatchAlias,
);

/** The function that has a durable configuration, or the other one. */
function functionOf(from: Template, isDurable: boolean): Resource["Properties"] {
  const found = Object.values(resourcesOf(from, FUNCTION)).find(
    ({ Properties }) => "DurableConfig" in Properties === isDurable,
  );
  if (found === undefined) throw new RangeError("there is no such function");
  return found.Properties;
}

function variablesOf(from: Template, isDurable: boolean): Readonly<Record<string, unknown>> {
  return (functionOf(from, isDurable)["Environment"] as { Variables: Record<string, unknown> }).Variables;
}

function durableConfigOf(policy: Partial<Policy>): unknown {
  return functionOf(templateOf({ policy }), true)["DurableConfig"];
}

describe("the functions", () => {
  it("find every variable that they read, in a form that they accept (C34)", () => {
    const drain = variablesOf(template, true);
    const dispatch = variablesOf(template, false);
    const lambda = { AWS_REGION: "eu-west-1" };

    const read = readDrainEnvironment({ ...lambda, ...(drain as Record<string, string>) });
    // What CloudFormation makes of the alias's reference.
    const arn = "arn:aws:lambda:eu-west-1:111122223333:function:drain:live";
    const variables = { ...lambda, ...(dispatch as Record<string, string>), EBS_DRAIN_FUNCTION: arn };

    expect(read.settings.clusters).toEqual(CLUSTERS);
    expect(readDispatchEnvironment(variables).settings).toEqual(read.settings);
    expect(dispatch["EBS_DRAIN_FUNCTION"]).toEqual({ Ref: drainAlias });
  });

  it("last as long as the policy's deadline and an hour, and are remembered for two weeks", () => {
    expect(functionOf(template, true)["DurableConfig"]).toEqual({
      ExecutionTimeout: 7_200 + 3_600,
      RetentionPeriodInDays: 14,
    });
    expect(durableConfigOf({ maxDuration: 36_000, heartbeatTimeout: 600 })).toMatchObject({
      ExecutionTimeout: 36_000 + 3_600,
    });
  });

  it("outlive the fifteen minutes of a machine that is gone, however short the policy (D14)", () => {
    expect(durableConfigOf({ maxDuration: 120 })).toMatchObject({ ExecutionTimeout: 900 + 3_600 });
  });

  it("leave their running executions the version they began on", () => {
    const versions = Object.values(resourcesOf(template, "AWS::Lambda::Version"));

    expect(versions).toHaveLength(2);
    for (const version of versions) expect(version).toMatchObject({ DeletionPolicy: "Retain" });
  });

  it("have retries configured on their aliases, and the drain's are left to the sweep", () => {
    const configs = Object.values(resourcesOf(template, "AWS::Lambda::EventInvokeConfig")).map(
      ({ Properties }) => [
        JSON.stringify(Properties["Qualifier"]).includes(dispatchAlias) ? "dispatch" : "drain",
        Properties["MaximumRetryAttempts"],
      ],
    );

    expect(Object.fromEntries(configs)).toEqual({ dispatch: 2, drain: 0 });
    expect(configs).toHaveLength(2);
  });

  it("are in the VPC that is named by plain ids, with the right to be there, and else in none", () => {
    const vpc = { subnetIds: ["subnet-0a1b2c3d"], securityGroupIds: ["sg-0a1b2c3d"] };
    const inVpc = templateOf({ vpc });

    for (const isDurable of [true, false]) {
      expect(functionOf(inVpc, isDurable)["VpcConfig"]).toEqual({
        SubnetIds: vpc.subnetIds,
        SecurityGroupIds: vpc.securityGroupIds,
      });
      expect(functionOf(template, isDurable)["VpcConfig"]).toBeUndefined();
    }
    const policies = Object.values(resourcesOf(inVpc, "AWS::IAM::Policy"));
    const allowing = policies.filter((policy) =>
      JSON.stringify(policy).includes("ec2:CreateNetworkInterface"),
    );
    expect(allowing).toHaveLength(2);
  });
});

describe("the events", () => {
  it("all reach the dispatcher's alias, and its dead-letter queue where they cannot", () => {
    const targets = Object.values(resourcesOf(template, RULE)).flatMap(
      ({ Properties }) => Properties["Targets"] as readonly Readonly<Record<string, unknown>>[],
    );

    expect(targets).toHaveLength(3);
    for (const target of targets) {
      expect(target["Arn"]).toEqual({ Ref: dispatchAlias });
      expect(target["DeadLetterConfig"]).toBeDefined();
    }
  });

  it("are those of the table, and of lifecycle actions only our groups' and our hook's (D1, D2)", () => {
    const patterns = Object.values(resourcesOf(template, RULE)).map(
      ({ Properties }) => Properties["EventPattern"],
    );
    const handled = HANDLED_EVENTS.filter(({ kind }) => kind !== "sweep");

    expect(patterns).toHaveLength(handled.length);
    for (const { source, detailType, kind, states } of handled) {
      const detail = {
        lifecycle: {
          AutoScalingGroupName: ["workers-a", "workers-b", "workers-c"],
          LifecycleHookName: ["ebs-drain"],
        },
        spot: undefined,
        gone: { state: states },
        sweep: undefined,
      }[kind];
      const filter = detail === undefined ? {} : { detail };
      expect(patterns).toContainEqual({ source: [source], "detail-type": [detailType], ...filter });
    }
  });

  it("of many groups are divided among patterns that EventBridge takes, and no group is left out", () => {
    const groups = Array.from({ length: 28 }, (_, index) => `${"workers-of-a-long-name-".repeat(5)}${index}`);
    const many = templateOf({ clusters: [{ name: "blue", groups }] });
    const patterns = Object.values(resourcesOf(many, RULE)).map(
      ({ Properties }) => Properties["EventPattern"],
    );
    const named = patterns.flatMap(
      (pattern) =>
        (pattern as { detail?: { AutoScalingGroupName?: string[] } }).detail?.AutoScalingGroupName ?? [],
    );

    expect(named.toSorted()).toEqual(groups.toSorted());
    for (const pattern of patterns) expect(JSON.stringify(pattern).length).toBeLessThanOrEqual(2_048);
  });

  it("include a sweep every minute that the dispatcher reads as one (S5)", () => {
    const [, schedule] = theOne(template, "AWS::Scheduler::Schedule", "");
    const target = schedule.Properties["Target"] as Readonly<Record<string, unknown>>;
    const input = filledIn(target["Input"]).replace("<aws.scheduler.scheduled-time>", "2026-11-02T09:30:00Z");
    const here = { account: "111122223333", region: "eu-west-1" };

    expect(schedule.Properties["ScheduleExpression"]).toBe("rate(1 minute)");
    expect(target["Arn"]).toEqual({ Ref: dispatchAlias });
    expect(parseSignal(JSON.parse(input), here)).toMatchObject({ kind: "sweep" });
  });
});

/** A joined text with CloudFormation's pseudo parameters filled in. */
function filledIn(joined: unknown): string {
  const values: Readonly<Record<string, string>> = {
    "AWS::AccountId": "111122223333",
    "AWS::Region": "eu-west-1",
  };
  const [delimiter, parts] = (joined as { "Fn::Join": [string, readonly (string | { Ref: string })[]] })[
    "Fn::Join"
  ];
  return parts.map((part) => (typeof part === "string" ? part : values[part.Ref])).join(delimiter);
}

describe("the groups and clusters", () => {
  it("each get a hook with an explicit default result and timeout (C36)", () => {
    const hooks = Object.values(resourcesOf(template, "AWS::AutoScaling::LifecycleHook")).map(
      ({ Properties }) => Properties,
    );

    expect(hooks.map((hook) => String(hook["AutoScalingGroupName"])).toSorted()).toEqual([
      "workers-a",
      "workers-b",
      "workers-c",
    ]);
    for (const hook of hooks) {
      expect(hook).toMatchObject({
        LifecycleHookName: "ebs-drain",
        LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING",
        DefaultResult: "CONTINUE",
        HeartbeatTimeout: 300,
      });
    }
  });

  it("have the hook that the policy says, with the deadline's result as default (D13)", () => {
    const chosen = templateOf({
      policy: { hookName: "volumes", heartbeatTimeout: 600, onDeadline: "ABANDON" },
    });

    for (const { Properties } of Object.values(resourcesOf(chosen, "AWS::AutoScaling::LifecycleHook"))) {
      expect(Properties).toMatchObject({
        LifecycleHookName: "volumes",
        DefaultResult: "ABANDON",
        HeartbeatTimeout: 600,
      });
    }
  });

  it("keep their hooks' logical ids when the list is put into another order", () => {
    const idsOf = (groups: readonly string[]): readonly (readonly [unknown, string])[] =>
      Object.entries(
        resourcesOf(templateOf({ clusters: [{ name: "blue", groups }] }), "AWS::AutoScaling::LifecycleHook"),
      ).map(([id, { Properties }]) => [Properties["AutoScalingGroupName"], id]);

    expect(Object.fromEntries(idsOf(["workers-b", "workers-a"]))).toEqual(
      Object.fromEntries(idsOf(["workers-a", "workers-b"])),
    );
  });

  it("let both functions into each cluster as members of the drain's Kubernetes group", () => {
    const entries = Object.values(resourcesOf(template, "AWS::EKS::AccessEntry")).map(
      ({ Properties }) => Properties,
    );
    const clusters = entries.map((entry) => String(entry["ClusterName"]));

    expect(clusters.toSorted()).toEqual(["blue", "blue", "green", "green"]);
    expect(new Set(entries.map((entry) => JSON.stringify(entry["PrincipalArn"]))).size).toBe(2);
    for (const entry of entries) {
      expect(entry["KubernetesGroups"]).toEqual(["ebs-drain"]);
      expect(entry["AccessPolicies"]).toBeUndefined();
    }
  });

  it("may be constructs of the same app, whose names only CloudFormation knows", () => {
    const stack = stackIn(appWithoutBundles());
    const vpc = Vpc.fromVpcAttributes(stack, "Vpc", {
      vpcId: "vpc-0a1b2c3d",
      availabilityZones: ["eu-west-1a"],
      privateSubnetIds: ["subnet-0a1b2c3d"],
    });
    const launchTemplate = new LaunchTemplate(stack, "Template", {
      instanceType: new InstanceType("m7g.large"),
      machineImage: MachineImage.genericLinux({ "eu-west-1": "ami-0a1b2c3d" }),
    });
    const group = new AutoScalingGroup(stack, "Workers", { vpc, launchTemplate });

    new EbsDrain(stack, "EbsDrain", { clusters: [{ name: "blue", groups: [group] }], monitoring: "off" });
    const made = Template.fromStack(stack);

    const [id] = theOne(made, "AWS::AutoScaling::AutoScalingGroup", "Workers");
    made.hasResourceProperties("AWS::AutoScaling::LifecycleHook", { AutoScalingGroupName: { Ref: id } });
    made.hasResourceProperties(RULE, { EventPattern: { detail: { AutoScalingGroupName: [{ Ref: id }] } } });
    expect(JSON.stringify(variablesOf(made, true)["EBS_DRAIN_SETTINGS"])).toContain(`{"Ref":"${id}"}`);
  });
});

describe("settings that the functions would refuse", () => {
  it("are refused at synth, all of them at once with their paths", () => {
    const wrong = (): unknown =>
      templateOf({
        clusters: [{ name: "blue", groups: [] }],
        policy: { hookName: "Terminate-LC-Hook", heartbeatTimeout: 30 },
      });

    expect(wrong).toThrow(
      /policy\.hookName: .*D2[\s\S]*policy\.heartbeatTimeout: [\s\S]*clusters\[0\]\.groups: /,
    );
  });

  it("include more than a Lambda's environment holds", () => {
    const certificateAuthority = btoa(`-----BEGIN CERTIFICATE-----\n${"x".repeat(1_500)}`);
    const clusters = ["blue", "green"].map((name) => ({
      name,
      groups: [name],
      endpoint: "https://ABC123.gr7.eu-west-1.eks.amazonaws.com",
      certificateAuthority,
    }));

    expect(() => templateOf({ clusters })).toThrow("Leave out endpoint and certificateAuthority");
  });

  it("include more groups than a role's policies can name", () => {
    const groups = Array.from({ length: 90 }, (_, index) => `workers-${index}`);

    expect(() => templateOf({ clusters: [{ name: "blue", groups }] })).toThrow(
      "expected fewer than these 90 groups",
    );
  });

  it("do not include as many groups as a role's policies can name", () => {
    const groups = Array.from({ length: 70 }, (_, index) => `workers-${index}`);
    const policies = Object.values(
      resourcesOf(templateOf({ clusters: [{ name: "blue", groups }] }), "AWS::IAM::Policy"),
    ).map(({ Properties }) => JSON.stringify(textOf(Properties["PolicyDocument"])).length);

    expect(Math.max(...policies)).toBeGreaterThan(6_000);
    expect(Math.max(...policies)).toBeLessThan(9_500);
  });
});

/** A document as CloudFormation makes it: references joined into text of their longest. */
function textOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(textOf);
  const join = (value as Record<string, unknown>)["Fn::Join"];
  if (Array.isArray(join)) return (join[1] as readonly unknown[]).map(textOf).join("");
  if ("Ref" in value) return "aws-us-gov";
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, textOf(inner)]));
}
