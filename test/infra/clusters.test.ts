import { describe, expect, it } from "vitest";
import type { EbsDrainProps } from "../../lib/infra/props.ts";
import type { Resource } from "./synthesized.ts";
import { resourcesOf, templateOf, theOne } from "./synthesized.ts";

const CLUSTERS: EbsDrainProps["clusters"] = [
  { name: "blue", groups: ["workers-a"], managedNodeGroups: ["general"] },
  { name: "green", managedNodeGroups: ["general"], hookCredentials: { instanceRoles: ["green-nodes"] } },
  {
    name: "red",
    groups: ["workers-r"],
    hookCredentials: { namespace: "storage", serviceAccount: "csi-node" },
  },
  { name: "grey", groups: ["workers-g"], hookCredentials: "none" },
];

const template = templateOf({
  clusters: CLUSTERS,
  policy: { onDeadline: "ABANDON" },
  retainOnAbandon: true,
});
const CALL = "Custom::AWS";
const HOOK = "AWS::AutoScaling::LifecycleHook";
const PATH = "nodegroup.resources.autoScalingGroups.0.name";
const asked = new Map(
  Object.entries(resourcesOf(template, CALL))
    .filter(([, { Properties }]) => JSON.stringify(Properties["Create"]).includes("describeNodegroup"))
    .map(([id, call]) => [String(requestOf(call).parameters["clusterName"]), { id, call }] as const),
);
const groupOf = (cluster: string): unknown => ({ "Fn::GetAtt": [asked.get(cluster)?.id, PATH] });

function policiesOf(role: string): readonly Resource["Properties"][] {
  return Object.values(resourcesOf(template, "AWS::IAM::Policy"))
    .map(({ Properties }) => Properties)
    .filter(({ Roles }) => JSON.stringify(Roles).includes(role));
}

interface Request {
  readonly action: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What a call asks, and of whom. */
function requestOf(of: Resource): Request {
  return JSON.parse(String(of.Properties["Create"])) as Request;
}

describe("a managed node group", () => {
  it("is asked of EKS at deployment for its Auto Scaling group, and asking is all that is allowed", () => {
    const [policy] = policiesOf("679f53fac002430cb0da5b7982bd2287").filter((each) =>
      JSON.stringify(each).includes("nodegroup/"),
    );

    expect([...asked.keys()]).toEqual(["blue", "green"]);
    for (const [clusterName, { call }] of asked) {
      const parameters = { clusterName, nodegroupName: "general" };
      expect(requestOf(call)).toMatchObject({ service: "eks", action: "describeNodegroup", parameters });
    }
    expect(JSON.stringify(policy?.["PolicyDocument"])).toMatch(
      /"Action":"eks:DescribeNodegroup".*nodegroup\/blue\/general\/\*.*nodegroup\/green\/general\/\*/,
    );
  });

  it("has the hook, the rule, the permissions and the functions' settings under the name that EKS answers", () => {
    const hooks = Object.values(resourcesOf(template, HOOK)).map(
      ({ Properties }) => Properties["AutoScalingGroupName"],
    );
    const [, rule] = theOne(template, "AWS::Events::Rule", "Lifecycle");
    const pattern = rule.Properties["EventPattern"] as { detail: { AutoScalingGroupName: unknown } };
    const named = ["workers-a", groupOf("blue"), groupOf("green"), "workers-r", "workers-g"];
    const variables = Object.values(resourcesOf(template, "AWS::Lambda::Function")).flatMap(
      ({ Properties }) => JSON.stringify(Properties["Environment"] ?? []),
    );

    expect(hooks).toEqual(named);
    expect(pattern.detail.AutoScalingGroupName).toEqual(named);
    for (const cluster of ["blue", "green"]) {
      const text = JSON.stringify(groupOf(cluster));
      expect(variables.filter((each) => each.includes(text))).toHaveLength(2);
      expect(policiesOf("EbsDrainRole").filter((each) => JSON.stringify(each).includes(text))).toHaveLength(
        1,
      );
    }
    expect(variables.join("")).not.toMatch(/managedNodeGroups|hookCredentials/);
  });

  it("is refused where its name is no name, or stands twice, or nothing is named at all", () => {
    const wrong = (): unknown =>
      templateOf({ clusters: [{ name: "blue", managedNodeGroups: ["a/b", "c", "c"] }, { name: "green" }] });

    expect(wrong).toThrow(
      /clusters\[0\]\.managedNodeGroups\[0\]: [\s\S]*clusters\[0\]\.managedNodeGroups: c stands/,
    );
    expect(() => templateOf({ clusters: [{ name: "green" }] })).toThrow(/clusters\[0\]\.groups: expected/);
  });
});

describe("the hook on the nodes", () => {
  const complete = (...groups: readonly RegExp[]) =>
    groups.map((group) => expect.stringMatching(group) as string);
  const grantsOf = (role: string): readonly string[] =>
    policiesOf(role).flatMap(({ PolicyDocument }) => {
      const { Statement } = PolicyDocument as {
        Statement: readonly { Action: unknown; Resource: unknown }[];
      };
      return Statement.flatMap(({ Action, Resource }) =>
        [Resource].flat().map((each) => `${JSON.stringify(Action)} ${JSON.stringify(each)}`),
      );
    });

  it("may complete lifecycle actions of its own cluster's groups, and nothing else", () => {
    expect(grantsOf("HookAccessblueRole")).toEqual(
      complete(
        /^"autoscaling:CompleteLifecycleAction" .*autoScalingGroupName\/workers-a"/,
        /^"autoscaling:CompleteLifecycleAction" .*autoScalingGroupName\/",.*NodeGroupsblue/,
      ),
    );
    expect(grantsOf("HookAccessredRole")).toEqual(complete(/autoScalingGroupName\/workers-r"/));
  });

  it("gets the right by Pod Identity where nothing else is said, for its own service account in its own cluster only", () => {
    const [, association] = theOne(template, "AWS::EKS::PodIdentityAssociation", "blue");
    const [, named] = theOne(template, "AWS::EKS::PodIdentityAssociation", "red");
    const [role, { Properties }] = theOne(template, "AWS::IAM::Role", "HookAccessblue");
    const trust = Properties["AssumeRolePolicyDocument"] as { Statement: readonly unknown[] };

    expect(association.Properties).toEqual({
      ClusterName: "blue",
      Namespace: "kube-system",
      ServiceAccount: "ebs-csi-node-sa",
      RoleArn: { "Fn::GetAtt": [role, "Arn"] },
    });
    expect(named.Properties).toMatchObject({ Namespace: "storage", ServiceAccount: "csi-node" });
    expect(trust.Statement).toHaveLength(1);
    expect(trust.Statement[0]).toMatchObject({
      Action: ["sts:AssumeRole", "sts:TagSession"],
      Principal: { Service: "pods.eks.amazonaws.com" },
      Condition: {
        StringEquals: {
          "aws:RequestTag/kubernetes-namespace": "kube-system",
          "aws:RequestTag/kubernetes-service-account": "ebs-csi-node-sa",
        },
      },
    });
    expect(JSON.stringify(trust)).toMatch(/"aws:RequestTag\/eks-cluster-arn":.*:cluster\/blue/);
  });

  it("has it of the nodes' own roles where these are named, and not at all where none is wished", () => {
    expect(grantsOf('"green-nodes"')).toEqual(complete(/CompleteLifecycleAction.*NodeGroupsgreen/));
    expect(Object.keys(resourcesOf(template, "AWS::EKS::PodIdentityAssociation"))).toHaveLength(2);
    expect(JSON.stringify(resourcesOf(template, "AWS::IAM::Policy"))).not.toMatch(/HookAccessgrey/);
  });
});

describe("what was abandoned", () => {
  it("is kept by a setting of each group, which is read again and goes with the stack", () => {
    const [, change] = theOne(template, CALL, "RetentionCallsworkersa9");
    const [check] = theOne(template, CALL, "RetentionCallsworkersaCheck");
    const set = (value: string) => ({ RetentionTriggers: { TerminateHookAbandon: value } });
    const undo = JSON.parse(String(change.Properties["Delete"])) as Readonly<Record<string, unknown>>;

    expect(requestOf(change)).toMatchObject({
      action: "updateAutoScalingGroup",
      parameters: { AutoScalingGroupName: "workers-a", InstanceLifecyclePolicy: set("retain") },
    });
    expect(undo).toMatchObject({ parameters: { InstanceLifecyclePolicy: set("terminate") } });
    // An output that asks for the setting ends a deployment which did not make it.
    expect(JSON.stringify(template.toJSON()["Outputs"])).toContain(
      `["${check}","AutoScalingGroups.0.InstanceLifecyclePolicy.RetentionTriggers.TerminateHookAbandon"]`,
    );
  });

  it("is refused as a wish where nothing is ever abandoned", () => {
    expect(() => templateOf({ retainOnAbandon: true })).toThrow(
      /retainOnAbandon: expected policy.onDeadline/,
    );
  });
});
