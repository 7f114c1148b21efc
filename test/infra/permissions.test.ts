import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { DispatchHandlerDeps } from "../../lambda/dispatch-handler.ts";
import type { Ports } from "../../lib/engine/ports.ts";
import {
  AUTO_SCALING_PERMISSIONS,
  EC2_PERMISSIONS,
  ENDPOINT_PERMISSIONS,
  EXECUTIONS_PERMISSIONS,
  GROUP_HOOKS_PERMISSIONS,
} from "../../lib/engine/permissions.ts";
import { DISPATCH_CALLS, DRAIN_CALLS } from "../../lib/infra/grants.ts";
import { resourcesOf, templateOf } from "./synthesized.ts";

interface Statement {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}

const template = templateOf();
const roles = Object.keys(resourcesOf(template, "AWS::IAM::Role"));
const dispatchRole = roles.find((id) => id.includes("Dispatch")) ?? "";
const sweepRole = roles.find((id) => id.includes("Sweep")) ?? "";
const drainRole = roles.find((id) => id !== dispatchRole && id !== sweepRole) ?? "";

/** Each action with what it is allowed on, over all policies of a role. */
function allowed(role: string, from = template): ReadonlyMap<string, readonly unknown[]> {
  const policies = Object.values(resourcesOf(from, "AWS::IAM::Policy")).filter(({ Properties }) =>
    (Properties["Roles"] as readonly { Ref: string }[]).some(({ Ref }) => Ref === role),
  );
  const statements = policies.flatMap(
    ({ Properties }) => (Properties["PolicyDocument"] as { Statement: readonly Statement[] }).Statement,
  );
  return new Map(
    statements.flatMap(({ Action, Resource }) =>
      [Action].flat().map((action) => [action, [Resource].flat()] as const),
    ),
  );
}

function actionsOf(rules: readonly (readonly { readonly action: string }[])[]): readonly string[] {
  return [...new Set(rules.flat().map(({ action }) => action))];
}

/** What Lambda itself does with a function's role. */
const OF_LAMBDA = ["logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage"];
const CHECKPOINTS = ["lambda:CheckpointDurableExecution", "lambda:GetDurableExecutionState"];

const KEYS = <Key extends string>(keys: Readonly<Record<Key, true>>): readonly string[] =>
  Object.keys(keys).toSorted();

describe("the permissions of the functions (C34)", () => {
  it("are for the calls that the dispatcher's ports have, and no other", () => {
    // A port method that the dispatcher gets or loses does not compile here.
    expect(DISPATCH_CALLS.ec2.toSorted()).toEqual(
      KEYS<keyof DispatchHandlerDeps["ec2"]>({ describeInstance: true, describeInstances: true }),
    );
    expect(DISPATCH_CALLS.autoScaling.toSorted()).toEqual(
      KEYS<keyof DispatchHandlerDeps["autoScaling"]>({ listMembers: true }),
    );
    expect(DISPATCH_CALLS.groupHooks.toSorted()).toEqual(
      KEYS<keyof NonNullable<DispatchHandlerDeps["groupHooks"]>>({ describeHook: true }),
    );
    expect(DISPATCH_CALLS.executions.toSorted()).toEqual(
      KEYS<keyof DispatchHandlerDeps["executions"]>({ start: true, listRunning: true }),
    );
  });

  it("are for what the drain calls, which is every port method but the sweep's lists", () => {
    expect(DRAIN_CALLS.ec2.toSorted()).toEqual(
      KEYS<Exclude<keyof Ports["ec2"], "describeInstances">>({
        describeInstance: true,
        listAttachedVolumes: true,
        describeVolumes: true,
      }),
    );
    expect([...DRAIN_CALLS.groupHooks, ...DRAIN_CALLS.executions]).toEqual([]);
    expect(DRAIN_CALLS.autoScaling.toSorted()).toEqual(
      KEYS<Exclude<keyof Ports["autoScaling"], "listMembers">>({
        describeMember: true,
        heartbeat: true,
        complete: true,
      }),
    );
  });

  it("leave out no method that the engine's looks call, and allow none that they do not", () => {
    const calls = sourcesOf("observe", "act", "look", "drain-loop").matchAll(/\b(ec2|autoScaling)\.(\w+)\(/g);
    const called = new Set([...calls].map(([, port, method]) => `${port}.${method}`));

    expect([...called].toSorted()).toEqual(
      [
        ...DRAIN_CALLS.ec2.map((method) => `ec2.${method}`),
        ...DRAIN_CALLS.autoScaling.map((method) => `autoScaling.${method}`),
      ].toSorted(),
    );
  });

  it("are exactly those of the table, and what Lambda itself does", () => {
    const drain = [
      ...DRAIN_CALLS.ec2.map((method) => EC2_PERMISSIONS[method]),
      ...DRAIN_CALLS.autoScaling.map((method) => AUTO_SCALING_PERMISSIONS[method]),
      ENDPOINT_PERMISSIONS,
    ];
    const dispatch = [
      ...DISPATCH_CALLS.ec2.map((method) => EC2_PERMISSIONS[method]),
      ...DISPATCH_CALLS.autoScaling.map((method) => AUTO_SCALING_PERMISSIONS[method]),
      ...DISPATCH_CALLS.groupHooks.map((method) => GROUP_HOOKS_PERMISSIONS[method]),
      ...DISPATCH_CALLS.executions.map((method) => EXECUTIONS_PERMISSIONS[method]),
      ENDPOINT_PERMISSIONS,
    ];

    expect([...allowed(drainRole).keys()].toSorted()).toEqual(
      [...actionsOf(drain), ...OF_LAMBDA, ...CHECKPOINTS].toSorted(),
    );
    expect([...allowed(dispatchRole).keys()].toSorted()).toEqual(
      [...actionsOf(dispatch), ...OF_LAMBDA].toSorted(),
    );
  });

  it("cover every request that the adapters make of AWS, and no request that they do not", () => {
    const requested = new Set(adaptersOfTheFunctions().flatMap(requestsIn));
    const granted = [...allowed(drainRole).keys(), ...allowed(dispatchRole).keys()].filter(
      (action) => ![...OF_LAMBDA, ...CHECKPOINTS].includes(action),
    );

    // Lambda calls the request Invoke and the permission InvokeFunction.
    const names = granted.map((action) => action.replace(/^\w+:/, "").replace("InvokeFunction", "Invoke"));
    expect([...requested].toSorted()).toEqual([...new Set(names)].toSorted());
  });
});

function sourcesOf(...names: readonly string[]): string {
  return names
    .map((name) => readFileSync(new URL(`../../lib/engine/${name}.ts`, import.meta.url), "utf8"))
    .join("\n");
}

/** Those that the functions are composed of; others of the folder are the operator's, with the operator's rights. */
function adaptersOfTheFunctions(): readonly string[] {
  const folder = new URL("../../lambda/", import.meta.url);
  const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), "utf8"));
  return [...new Set(sources.flatMap((text) => text.match(/lib\/aws\/[\w-]+\.ts/g) ?? []))];
}

/** Names of the requests whose commands or paginators a file of the AWS adapters imports. */
function requestsIn(path: string): readonly string[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  return [...text.matchAll(/\b(?:new (\w+)Command|paginate(\w+))\(/g)].map(
    ([, command, paged]) => command ?? paged ?? "",
  );
}

describe("what the permissions are confined to", () => {
  it("is for lifecycle actions each configured group by its name, in any partition", () => {
    const arn = (group: string): unknown => ({
      "Fn::Join": [
        "",
        [
          "arn:",
          { Ref: "AWS::Partition" },
          `:autoscaling:eu-west-1:111122223333:autoScalingGroup:*:autoScalingGroupName/${group}`,
        ],
      ],
    });

    for (const action of ["CompleteLifecycleAction", "RecordLifecycleActionHeartbeat"]) {
      expect(allowed(drainRole).get(`autoscaling:${action}`)).toEqual(
        ["workers-a", "workers-b", "workers-c"].map(arn),
      );
      expect(allowed(dispatchRole).has(`autoscaling:${action}`)).toBe(false);
    }
  });

  it("is everything only for actions that change nothing", () => {
    const everywhere = [drainRole, dispatchRole, sweepRole].flatMap((role) =>
      [...allowed(role)].flatMap(([action, resources]) => (resources.includes("*") ? [action] : [])),
    );

    expect(everywhere).toContain("ec2:DescribeVolumes");
    expect(everywhere.filter((action) => !/:Describe/.test(action))).toEqual([]);
  });

  it("is the drain's alias for starting executions", () => {
    const [alias] = Object.keys(resourcesOf(template, "AWS::Lambda::Alias")).filter(
      (id) => !id.includes("Dispatch"),
    );

    expect(allowed(dispatchRole).get("lambda:InvokeFunction")).toEqual([{ Ref: alias }]);
  });

  it("is for asking EKS only the clusters whose endpoint is not configured", () => {
    const located = templateOf({ clusters: [greenCluster()] });

    expect(JSON.stringify(allowed(drainRole).get("eks:DescribeCluster"))).toContain("cluster/blue");
    expect(JSON.stringify(allowed(drainRole).get("eks:DescribeCluster"))).not.toContain("cluster/green");
    expect(allowed(drainRole, located).has("eks:DescribeCluster")).toBe(false);
    expect(allowed(dispatchRole, located).has("eks:DescribeCluster")).toBe(false);
  });

  it("is nothing of another partition, region or account written out", () => {
    expect(JSON.stringify(template.toJSON())).not.toMatch(/"arn:aws[a-z-]*:/);
  });
});

function greenCluster() {
  return {
    name: "green",
    groups: ["workers-c"],
    endpoint: "https://ABC123.gr7.eu-west-1.eks.amazonaws.com",
    certificateAuthority: btoa("-----BEGIN CERTIFICATE-----\n"),
  };
}
