import { describe, expect, test } from "vitest";
import type { LifecycleActionRef } from "../../lib/engine/ports.ts";
import type { GroupSpec } from "../../lib/sim/auto-scaling-members.ts";
import type { AwsHarness } from "./aws-harness.ts";
import { PAGE_SIZE, until } from "./aws-harness.ts";

const HOOK = { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" } as const;
const EKS_HOOK = { ...HOOK, name: "Terminate-LC-Hook" };

export async function inService(harness: AwsHarness, spec: Partial<GroupSpec> = {}): Promise<string> {
  const group = { name: "workers-a", hooks: [HOOK], ...spec };
  harness.autoScaling.createGroup(group);
  const instance = harness.autoScaling.launch(group.name);
  await untilState(harness, instance, "InService");
  return instance;
}

export async function waiting(
  harness: AwsHarness,
  spec: Partial<GroupSpec> = {},
): Promise<LifecycleActionRef & { readonly token: string }> {
  const instance = await inService(harness, spec);
  harness.autoScaling.scaleIn(instance);
  await untilState(harness, instance, "Terminating:Wait");
  const action = harness.autoScaling.activeActions(instance).find((each) => each.hook.name === HOOK.name);
  return { group: "workers-a", hook: HOOK.name, instance, token: action?.token ?? "" };
}

function untilState(harness: AwsHarness, instance: string, state: string | undefined): Promise<void> {
  return until(harness, () => harness.autoScaling.member(instance)?.lifecycleState === state);
}

function byInstance(action: LifecycleActionRef): LifecycleActionRef {
  return { group: action.group, hook: action.hook, instance: action.instance };
}

export function describeAutoScalingContract(harnessOf: () => AwsHarness): void {
  const inTime = (body: (harness: AwsHarness) => Promise<void>): Promise<void> =>
    harnessOf().run(() => body(harnessOf()));

  describe("group members", () => {
    test("a member is told with its group and lifecycle state, until it is terminated", () =>
      inTime(async (harness) => {
        const action = await waiting(harness);
        const { instance } = action;
        expect(await harness.ports.autoScaling.describeMember(instance)).toEqual({
          instance,
          group: "workers-a",
          lifecycleState: "Terminating:Wait",
        });
        await harness.ports.autoScaling.complete(action, "CONTINUE");
        await untilState(harness, instance, undefined);
        expect(await harness.ports.autoScaling.describeMember(instance)).toBeUndefined();
      }));

    test("an instance of no group is undefined", () =>
      inTime(async (harness) => {
        const instance = harness.ec2.runInstance();
        expect(await harness.ports.autoScaling.describeMember(instance)).toBeUndefined();
      }));

    test("the members of the asked groups come from every page, and of no other group", () =>
      inTime(async (harness) => {
        const names = Array.from({ length: PAGE_SIZE + 2 }, (_, index) => `workers-${index}`);
        const instances = names.map((name) => {
          harness.autoScaling.createGroup({ name, hooks: [HOOK] });
          return harness.autoScaling.launch(name);
        });
        for (const instance of instances) await untilState(harness, instance, "InService");
        const members = await harness.ports.autoScaling.listMembers([...names.slice(1), "unknown"]);
        expect(members).toHaveLength(PAGE_SIZE + 1);
        expect(members).toContainEqual({
          instance: instances[PAGE_SIZE + 1],
          group: `workers-${PAGE_SIZE + 1}`,
          lifecycleState: "InService",
        });
        expect(members.map(({ instance }) => instance)).not.toContain(instances[0]);
      }));

    test("more groups than one request takes are asked for in several", () =>
      inTime(async (harness) => {
        const instance = await inService(harness);
        const others = Array.from({ length: 120 }, (_, index) => `other-${index}`);
        const members = await harness.ports.autoScaling.listMembers([...others, "workers-a"]);
        expect(members.map((member) => member.instance)).toEqual([instance]);
      }));

    test("an instance on its way to the warm pool, and in it, is a member too", () =>
      inTime(async (harness) => {
        const instance = await inService(harness, { poolState: "Stopped" });
        harness.autoScaling.returnToWarmPool(instance);
        await untilState(harness, instance, "Warmed:Pending:Wait");
        const seen = { instance, group: "workers-a", lifecycleState: "Warmed:Pending:Wait" };
        expect(await harness.ports.autoScaling.describeMember(instance)).toEqual(seen);
        expect(await harness.ports.autoScaling.listMembers(["workers-a"])).toEqual([seen]);
        await harness.ports.autoScaling.complete(
          { group: "workers-a", hook: "ebs-drain", instance },
          "CONTINUE",
        );
        await untilState(harness, instance, "Warmed:Stopped");
        expect(await harness.ports.autoScaling.listMembers(["workers-a"])).toEqual([
          { ...seen, lifecycleState: "Warmed:Stopped" },
        ]);
      }));

    test("no groups, no members", () =>
      inTime(async (harness) => {
        await inService(harness);
        expect(await harness.ports.autoScaling.listMembers([])).toEqual([]);
      }));
  });

  describe("lifecycle actions", () => {
    test("a beat and a completion by token reach the action; afterwards it is over (C18)", () =>
      inTime(async (harness) => {
        const action = await waiting(harness);
        await harness.ports.autoScaling.heartbeat(action);
        await harness.ports.autoScaling.complete(action, "CONTINUE");
        const over = { name: "PortError", kind: "no-active-action" };
        await expect(harness.ports.autoScaling.heartbeat(action)).rejects.toMatchObject(over);
        await expect(harness.ports.autoScaling.complete(action, "CONTINUE")).rejects.toMatchObject(over);
        const history = harness.autoScaling.getHistory();
        expect(history).toMatchObject([
          { kind: "opened" },
          { kind: "heartbeat", by: "drain", outcome: "accepted", token: action.token },
          { kind: "complete", by: "drain", outcome: "accepted", named: "token", result: "CONTINUE" },
          { kind: "heartbeat", outcome: "refused" },
          { kind: "complete", outcome: "refused" },
        ]);
      }));

    test("without a token the instance id names the action (D2)", () =>
      inTime(async (harness) => {
        const action = await waiting(harness);
        await harness.ports.autoScaling.heartbeat(byInstance(action));
        await harness.ports.autoScaling.complete(byInstance(action), "ABANDON");
        expect(harness.autoScaling.getHistory().at(-1)).toMatchObject({
          named: "instance",
          result: "ABANDON",
        });
      }));

    test("a token that is not the action's completes nothing, although the instance has one (D2)", () =>
      inTime(async (harness) => {
        const action = await waiting(harness);
        const wrong = { ...action, token: "00000000-0000-4000-8000-000000000000" };
        await expect(harness.ports.autoScaling.complete(wrong, "CONTINUE")).rejects.toMatchObject({
          kind: "no-active-action",
          operation: "autoScaling.complete",
        });
        expect(harness.autoScaling.activeActions(action.instance)).toHaveLength(1);
      }));

    test("another hook's action is not touched (C22)", () =>
      inTime(async (harness) => {
        const action = await waiting(harness, { hooks: [HOOK, EKS_HOOK] });
        await harness.ports.autoScaling.complete(action, "CONTINUE");
        expect(harness.autoScaling.activeActions(action.instance)).toMatchObject([
          { hook: { name: EKS_HOOK.name } },
        ]);
      }));

    test("a group that does not exist is a fault of configuration, not an action that is over", () =>
      inTime(async (harness) => {
        const action = { ...(await waiting(harness)), group: "workers-z" };
        await expect(harness.ports.autoScaling.heartbeat(action)).rejects.toMatchObject({ kind: "rejected" });
      }));
  });
}
