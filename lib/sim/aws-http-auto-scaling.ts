/** The Auto Scaling API (2011-01-01) of the simulated service: parameters in, the fields of the XML answer out. */
import type { HookSpec, LifecycleResult } from "./auto-scaling-actions.ts";
import type { GroupDescription, GroupMember } from "./auto-scaling-members.ts";
import type { SimulatedAutoScaling } from "./auto-scaling.ts";
import type { Form } from "./aws-http-form.ts";
import { listIn, pageOf } from "./aws-http-form.ts";
import type { Xml } from "./aws-http-xml.ts";
import { Ec2Fault } from "./seams.ts";

interface Context {
  readonly autoScaling: SimulatedAutoScaling;
  readonly pageSize: number;
  /** Who calls: the access key's id, or "unsigned". */
  readonly caller: string;
}

/** `undefined`: the answer has no result element. */
type Action = (form: Form, context: Context) => Readonly<Record<string, Xml>> | undefined;

const TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING";

export const AUTO_SCALING_ACTIONS: Readonly<Record<string, Action>> = {
  DescribeAutoScalingInstances: (form, { autoScaling, pageSize }) => {
    const ids = listIn(form, "InstanceIds.member");
    const members = autoScaling.describeMembers();
    const found = ids.length === 0 ? members : members.filter(({ instance }) => ids.includes(instance));
    const page = pageOf(found, pageLength(form, pageSize), form.get("NextToken"));
    return { AutoScalingInstances: page.items.map(instanceFields), NextToken: page.nextToken };
  },
  DescribeAutoScalingGroups: (form, { autoScaling, pageSize }) => {
    const names = listIn(form, "AutoScalingGroupNames.member");
    const groups = autoScaling.describeGroups();
    const found = names.length === 0 ? groups : groups.filter(({ name }) => names.includes(name));
    const page = pageOf(found, pageLength(form, pageSize), form.get("NextToken"));
    return { AutoScalingGroups: page.items.map(groupFields), NextToken: page.nextToken };
  },
  DescribeWarmPool: (form, { autoScaling, pageSize }) => {
    const group = groupNamed(form, autoScaling);
    const members = group.members.filter(isInWarmPool);
    const page = pageOf(members, pageLength(form, pageSize), form.get("NextToken"));
    return { Instances: page.items.map(memberFields), NextToken: page.nextToken };
  },
  DescribeLifecycleHooks: (form, { autoScaling }) => ({
    LifecycleHooks: groupNamed(form, autoScaling).hooks.map((hook) => hookFields(form, hook)),
  }),
  PutLifecycleHook: (form, { autoScaling }) => {
    autoScaling.putHook(required(form, "AutoScalingGroupName"), hookIn(form));
    return {};
  },
  DeleteLifecycleHook: (form, { autoScaling }) => {
    autoScaling.deleteHook(required(form, "AutoScalingGroupName"), required(form, "LifecycleHookName"));
    return {};
  },
  RecordLifecycleActionHeartbeat: (form, { autoScaling, caller }) => {
    autoScaling.heartbeat(actionIn(form), caller);
    return {};
  },
  CompleteLifecycleAction: (form, { autoScaling, caller }) => {
    autoScaling.complete(actionIn(form), resultIn(form), caller);
    return {};
  },
  SetDesiredCapacity: (form, { autoScaling }) => {
    autoScaling.setDesiredCapacity(
      required(form, "AutoScalingGroupName"),
      Number(required(form, "DesiredCapacity")),
    );
    return undefined;
  },
  TerminateInstanceInAutoScalingGroup: (form, { autoScaling }) => {
    const instance = required(form, "InstanceId");
    const group = autoScaling.member(instance)?.group;
    autoScaling.scaleIn(instance);
    if (form.get("ShouldDecrementDesiredCapacity") === "false" && group !== undefined)
      autoScaling.launch(group);
    return {};
  },
};

/** The port's name of the call, as faults know it. */
export function autoScalingOperationOf(form: Form): string {
  const action = form.get("Action") ?? "";
  switch (action) {
    case "DescribeAutoScalingInstances":
      return "autoScaling.describeMember";
    case "DescribeAutoScalingGroups":
    case "DescribeWarmPool":
      return "autoScaling.listMembers";
    case "RecordLifecycleActionHeartbeat":
      return "autoScaling.heartbeat";
    case "CompleteLifecycleAction":
      return "autoScaling.complete";
    default:
      return `autoScaling.${action.charAt(0).toLowerCase()}${action.slice(1)}`;
  }
}

function required(form: Form, name: string): string {
  const value = form.get(name);
  if (value === null || value === "") {
    throw new Ec2Fault(
      "ValidationError",
      `1 validation error detected: Value null at '${name}' failed to satisfy constraint: Member must not be null`,
    );
  }
  return value;
}

function actionIn(form: Form): {
  group: string;
  hook: string;
  instance?: string | undefined;
  token?: string | undefined;
} {
  const token = form.get("LifecycleActionToken") ?? undefined;
  const instance = form.get("InstanceId") ?? undefined;
  if (token === undefined && instance === undefined) {
    throw new Ec2Fault("ValidationError", "Either InstanceId or LifecycleActionToken is required");
  }
  return {
    group: required(form, "AutoScalingGroupName"),
    hook: required(form, "LifecycleHookName"),
    instance,
    token,
  };
}

/** Auto Scaling's defaults: an hour, and ABANDON. */
function hookIn(form: Form): HookSpec {
  const transition = required(form, "LifecycleTransition");
  if (transition !== TERMINATING) {
    throw new Ec2Fault("ValidationError", `Lifecycle transition ${transition} is not simulated`);
  }
  const metadata = form.get("NotificationMetadata");
  return {
    name: required(form, "LifecycleHookName"),
    heartbeatTimeout: Number(form.get("HeartbeatTimeout") ?? 3_600),
    defaultResult: lifecycleResult(form.get("DefaultResult") ?? "ABANDON"),
    ...(metadata === null ? {} : { metadata }),
  };
}

function hookFields(form: Form, hook: HookSpec): Xml {
  return {
    LifecycleHookName: hook.name,
    AutoScalingGroupName: required(form, "AutoScalingGroupName"),
    LifecycleTransition: TERMINATING,
    NotificationMetadata: hook.metadata,
    HeartbeatTimeout: hook.heartbeatTimeout,
    GlobalTimeout: Math.min(172_800, 100 * hook.heartbeatTimeout),
    DefaultResult: hook.defaultResult,
  };
}

function resultIn(form: Form): LifecycleResult {
  return lifecycleResult(required(form, "LifecycleActionResult"));
}

function lifecycleResult(result: string): LifecycleResult {
  if (result === "CONTINUE" || result === "ABANDON") return result;
  throw new Ec2Fault("ValidationError", `Lifecycle action result ${result} is not valid`);
}

function groupNamed(form: Form, autoScaling: SimulatedAutoScaling): GroupDescription {
  const name = required(form, "AutoScalingGroupName");
  const group = autoScaling.describeGroups().find((each) => each.name === name);
  if (group !== undefined) return group;
  throw new Ec2Fault(
    "ValidationError",
    `AutoScalingGroup name not found - AutoScalingGroup ${name} not found`,
  );
}

function pageLength(form: Form, pageSize: number): number {
  return Math.min(pageSize, Number(form.get("MaxRecords") ?? 50));
}

function isInWarmPool(member: GroupMember): boolean {
  return member.lifecycleState.startsWith("Warmed:");
}

function instanceFields(member: GroupMember): Xml {
  return { ...memberFields(member), AutoScalingGroupName: member.group };
}

function memberFields(member: GroupMember): Readonly<Record<string, Xml>> {
  return {
    InstanceId: member.instance,
    LifecycleState: member.lifecycleState,
    HealthStatus: member.healthy ? "Healthy" : "Unhealthy",
    ProtectedFromScaleIn: false,
  };
}

/** The group's list leaves its warm pool out, as the real one does. */
function groupFields(group: GroupDescription): Xml {
  return {
    AutoScalingGroupName: group.name,
    DesiredCapacity: group.desired,
    Instances: group.members.filter((member) => !isInWarmPool(member)).map(memberFields),
    WarmPoolConfiguration: group.poolState === undefined ? undefined : { PoolState: group.poolState },
  };
}
