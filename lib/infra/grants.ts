/** IAM statements made from the permission table. A statement with a wildcard says why, and the reason is also cdk-nag's. */
import { ArnFormat, Stack, Validations } from "aws-cdk-lib";
import type { Policy } from "aws-cdk-lib/aws-iam";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { Settings } from "../drain/settings.ts";
import type { IamRule, IamScope } from "../engine/permissions.ts";
import {
  AUTO_SCALING_PERMISSIONS,
  EC2_PERMISSIONS,
  ENDPOINT_PERMISSIONS,
  EXECUTIONS_PERMISSIONS,
  GROUP_HOOKS_PERMISSIONS,
} from "../engine/permissions.ts";

export interface Grant {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  /** Why a resource has a `*`; absent where none has. */
  readonly wildcard?: string;
}

/** Port methods that one of the functions calls. */
interface Calls {
  readonly ec2: readonly (keyof typeof EC2_PERMISSIONS)[];
  readonly autoScaling: readonly (keyof typeof AUTO_SCALING_PERMISSIONS)[];
  readonly groupHooks: readonly (keyof typeof GROUP_HOOKS_PERMISSIONS)[];
  readonly executions: readonly (keyof typeof EXECUTIONS_PERMISSIONS)[];
}

export const DRAIN_CALLS: Calls = {
  ec2: ["describeInstance", "listAttachedVolumes", "describeVolumes"],
  autoScaling: ["describeMember", "heartbeat", "complete"],
  groupHooks: [],
  executions: [],
};

export const DISPATCH_CALLS: Calls = {
  ec2: ["describeInstance", "describeInstances"],
  autoScaling: ["listMembers"],
  groupHooks: ["describeHook"],
  executions: ["start", "listRunning"],
};

/** What the table's scopes stand for in this deployment. */
export interface Scopes {
  readonly settings: Settings;
  /** ARNs of the drain function and its alias; for the drain function itself none. */
  readonly drainFunction: { readonly functionArn: string; readonly aliasArn: string } | undefined;
}

/** The grants for these calls: one for all actions that have the same resources, because a role's policies have 10,240 characters. */
export function grantsFor(scope: Construct, calls: Calls, scopes: Scopes): readonly Grant[] {
  const rules: readonly IamRule[] = [
    ...calls.ec2.flatMap((method) => EC2_PERMISSIONS[method]),
    ...calls.autoScaling.flatMap((method) => AUTO_SCALING_PERMISSIONS[method]),
    ...calls.groupHooks.flatMap((method) => GROUP_HOOKS_PERMISSIONS[method]),
    ...calls.executions.flatMap((method) => EXECUTIONS_PERMISSIONS[method]),
    ...(unlocated(scopes.settings).length > 0 ? ENDPOINT_PERMISSIONS : []),
  ];
  const kinds = new Set(rules.map(({ scope: kind }) => kind));
  return [...kinds].flatMap((kind) => {
    const actions = new Set(rules.filter((rule) => rule.scope === kind).map(({ action }) => action));
    return grantsOn(scope, kind, [...actions], scopes);
  });
}

/** Adds the statement, with its wildcards acknowledged. */
export function allow(policy: Policy, grant: Grant): void {
  policy.addStatements(new PolicyStatement({ actions: [...grant.actions], resources: [...grant.resources] }));
  acknowledgeWildcards(policy, grant);
}

/** Says why each wildcard is there. Throws RangeError for one without a reason. */
export function acknowledgeWildcards(policy: Policy, grant: Grant): void {
  for (const resource of grant.resources.map((each) => flatten(Stack.of(policy).resolve(each)))) {
    if (!resource.includes("*")) continue;
    if (grant.wildcard === undefined) throw new RangeError(`no reason for ${resource}`);
    Validations.of(policy).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${resource}]`,
      reason: grant.wildcard,
    });
  }
}

function grantsOn(
  scope: Construct,
  kind: IamScope,
  actions: readonly string[],
  { settings, drainFunction }: Scopes,
): readonly Grant[] {
  switch (kind) {
    case "any":
      // Each of them reads and changes nothing.
      return [
        { actions, resources: ["*"], wildcard: "IAM can confine these Describe actions to no resource." },
      ];
    case "groups": {
      const names = settings.clusters.flatMap(({ groups }) => groups);
      return [grantOnGroups(scope, actions, names)];
    }
    case "clusters":
      return [{ actions, resources: unlocated(settings).map((name) => clusterArn(scope, name)) }];
    case "drain-function": {
      if (drainFunction === undefined) throw new RangeError("there is no drain function yet");
      const { functionArn, aliasArn } = drainFunction;
      // Executions are started through the alias only, and listed of all versions.
      return actions.map((action) => ({
        actions: [action],
        resources: action === "lambda:InvokeFunction" ? [aliasArn] : [functionArn, aliasArn],
      }));
    }
    default:
      return kind satisfies never;
  }
}

/** Leave for these actions on groups, by their names. */
export function grantOnGroups(scope: Construct, actions: readonly string[], names: readonly string[]): Grant {
  return {
    actions,
    resources: names.map((name) => groupArn(scope, name)),
    wildcard: "A group's ARN has an id that only Auto Scaling knows; the name beside it is exact.",
  };
}

/** Clusters whose API server has to be asked of EKS. */
function unlocated({ clusters }: Settings): readonly string[] {
  return clusters.filter(({ endpoint }) => endpoint === undefined).map(({ name }) => name);
}

function groupArn(scope: Construct, group: string): string {
  return Stack.of(scope).formatArn({
    service: "autoscaling",
    resource: "autoScalingGroup",
    resourceName: `*:autoScalingGroupName/${group}`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}

export function clusterArn(scope: Construct, name: string): string {
  return Stack.of(scope).formatArn({ service: "eks", resource: "cluster", resourceName: name });
}

/** A resolved resource as cdk-nag writes it: references in angle brackets. */
function flatten(resolved: unknown): string {
  if (typeof resolved === "string") return resolved;
  const { Ref, ...functions } = resolved as Readonly<Record<string, unknown>>;
  if (typeof Ref === "string") return `<${Ref}>`;
  const attribute = functions["Fn::GetAtt"];
  if (Array.isArray(attribute)) return `<${attribute.join(".")}>`;
  const join = functions["Fn::Join"];
  if (!Array.isArray(join)) throw new RangeError(`not a resource: ${JSON.stringify(resolved)}`);
  const [delimiter, parts] = join as [string, readonly unknown[]];
  return parts.map(flatten).join(delimiter);
}
