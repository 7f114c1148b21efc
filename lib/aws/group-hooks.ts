/** Lifecycle hooks as groups have them. */
import type { AutoScalingClient } from "@aws-sdk/client-auto-scaling";
import { DescribeLifecycleHooksCommand } from "@aws-sdk/client-auto-scaling";
import type { GroupHooksPort, GroupHookView } from "../engine/ports.ts";
import { isUnknownGroup, withPortErrors } from "./errors.ts";

/** Rejects with a PortError. */
export function createGroupHooksPort(client: AutoScalingClient): GroupHooksPort {
  return {
    describeHook: (group, hook) =>
      withPortErrors("groupHooks.describeHook", () => describeHook(client, group, hook)).catch(whereNoGroup),
  };
}

async function describeHook(
  client: AutoScalingClient,
  group: string,
  hook: string,
): Promise<GroupHookView | undefined> {
  // By the group alone: a name that the group does not have would be an error like any other.
  const answer = await client.send(new DescribeLifecycleHooksCommand({ AutoScalingGroupName: group }));
  const found = answer.LifecycleHooks?.find(({ LifecycleHookName }) => LifecycleHookName === hook);
  return found === undefined
    ? undefined
    : { transition: found.LifecycleTransition ?? "", heartbeatTimeout: found.HeartbeatTimeout ?? 0 };
}

/** A group that is not there has no hook. */
function whereNoGroup(error: unknown): undefined {
  if (isUnknownGroup(error)) return undefined;
  throw error;
}
