/** Auto Scaling's port: group members, and our lifecycle actions. */
import type { AutoScalingClient, AutoScalingGroup } from "@aws-sdk/client-auto-scaling";
import {
  CompleteLifecycleActionCommand,
  DescribeAutoScalingInstancesCommand,
  RecordLifecycleActionHeartbeatCommand,
  paginateDescribeAutoScalingGroups,
  paginateDescribeWarmPool,
} from "@aws-sdk/client-auto-scaling";
import type { GroupMemberView } from "../drain/machine.ts";
import type { AutoScalingPort, LifecycleActionRef } from "../engine/ports.ts";
import { chunksOf } from "./chunks.ts";
import { withPortErrors } from "./errors.ts";

/** Group names that Auto Scaling takes in one request. */
const NAMES = 50;
const GROUPS_PAGE = 100;
const WARM_POOL_PAGE = 50;

/** Every method rejects with a PortError. */
export function createAutoScalingPort(client: AutoScalingClient): AutoScalingPort {
  return {
    describeMember: (instance) =>
      withPortErrors("autoScaling.describeMember", () => describeMember(client, instance)),
    listMembers: (groups) => withPortErrors("autoScaling.listMembers", () => listMembers(client, groups)),
    heartbeat: (action) =>
      withPortErrors("autoScaling.heartbeat", async () => {
        await client.send(new RecordLifecycleActionHeartbeatCommand(nameOf(action)));
      }),
    complete: (action, result) =>
      withPortErrors("autoScaling.complete", async () => {
        await client.send(
          new CompleteLifecycleActionCommand({ ...nameOf(action), LifecycleActionResult: result }),
        );
      }),
  };
}

async function describeMember(
  client: AutoScalingClient,
  instance: string,
): Promise<GroupMemberView | undefined> {
  const answer = await client.send(new DescribeAutoScalingInstancesCommand({ InstanceIds: [instance] }));
  const member = answer.AutoScalingInstances?.find((each) => each.InstanceId === instance);
  if (member === undefined) return undefined;
  return {
    instance,
    group: member.AutoScalingGroupName ?? "",
    lifecycleState: member.LifecycleState ?? "",
  };
}

/**
 * By the groups' own lists, whose length the configured groups bound; DescribeAutoScalingInstances would page through the whole
 * account. A group's list leaves out its warm pool, which is asked for only where there is one.
 */
async function listMembers(
  client: AutoScalingClient,
  groups: readonly string[],
): Promise<readonly GroupMemberView[]> {
  const members = new Map<string, GroupMemberView>();
  for (const names of chunksOf(groups, NAMES)) {
    const pages = paginateDescribeAutoScalingGroups(
      { client, pageSize: GROUPS_PAGE },
      { AutoScalingGroupNames: [...names] },
    );
    for await (const page of pages) {
      for (const group of page.AutoScalingGroups ?? []) {
        for (const member of await membersOf(client, group)) members.set(member.instance, member);
      }
    }
  }
  return [...members.values()];
}

async function membersOf(
  client: AutoScalingClient,
  group: AutoScalingGroup,
): Promise<readonly GroupMemberView[]> {
  const name = group.AutoScalingGroupName ?? "";
  const instances = [...(group.Instances ?? [])];
  if (group.WarmPoolConfiguration !== undefined) {
    const pages = paginateDescribeWarmPool(
      { client, pageSize: WARM_POOL_PAGE },
      { AutoScalingGroupName: name },
    );
    for await (const page of pages) instances.push(...(page.Instances ?? []));
  }
  return instances.flatMap(({ InstanceId, LifecycleState }) =>
    InstanceId === undefined
      ? []
      : [{ instance: InstanceId, group: name, lifecycleState: LifecycleState ?? "" }],
  );
}

/** By token where one is known, else by instance id (D2); both together would let the id widen what the token names. */
function nameOf(action: LifecycleActionRef): {
  readonly AutoScalingGroupName: string;
  readonly LifecycleHookName: string;
  readonly LifecycleActionToken?: string;
  readonly InstanceId?: string;
} {
  const hook = { AutoScalingGroupName: action.group, LifecycleHookName: action.hook };
  return action.token === undefined
    ? { ...hook, InstanceId: action.instance }
    : { ...hook, LifecycleActionToken: action.token };
}
