import { beforeEach, describe, expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import type { GroupSpec } from "../../lib/sim/auto-scaling-members.ts";
import { AutoScalingWorld, EKS, OURS, byToken, messageOf } from "./auto-scaling-world.ts";

let world: AutoScalingWorld;

beforeEach(() => {
  world = new AutoScalingWorld();
});

/** Scaled in and waiting in its hooks. */
async function waiting(spec: Partial<GroupSpec> = {}): Promise<string> {
  const instance = await world.inService(spec);
  world.autoScaling.scaleIn(instance);
  expect(world.stateOf(instance)).toBe("Terminating");
  await world.pass(10 * SECOND);
  expect(world.stateOf(instance)).toBe("Terminating:Wait");
  return instance;
}

describe("termination in simulated Auto Scaling", () => {
  test("the instance runs until its only hook is completed, then it is terminated and gone from the group", async () => {
    const instance = await waiting();
    await world.pass(4 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("running");
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    expect(world.stateOf(instance)).toBe("Terminating:Proceed");
    await world.pass(10 * SECOND);
    expect(world.ec2.instance(instance)?.state).toBe("shutting-down");
    await world.pass(2 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
    expect(world.autoScaling.describeMembers()).toEqual([]);
  });

  test("a group without hooks terminates without waiting", async () => {
    const instance = await world.inService({ hooks: [] });
    world.autoScaling.scaleIn(instance);
    await world.pass(2 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
  });

  test("CONTINUE of one hook waits for the others (C22)", async () => {
    const instance = await waiting({ hooks: [OURS, EKS] });
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(MINUTE);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    world.autoScaling.complete(byToken(world.actionOf(instance, EKS.name)), "CONTINUE", "eks");
    expect(world.stateOf(instance)).toBe("Terminating:Proceed");
  });

  test("ABANDON ends the group's other hooks at once, and terminates all the same", async () => {
    const instance = await waiting({ hooks: [OURS, EKS] });
    const eks = world.actionOf(instance, EKS.name);
    world.autoScaling.complete(byToken(world.actionOf(instance)), "ABANDON", "drain");
    expect(world.stateOf(instance)).toBe("Terminating:Proceed");
    expect(messageOf(() => world.autoScaling.complete(byToken(eks), "CONTINUE", "eks"))).toBe(
      `ValidationError: No active Lifecycle Action found with token ${eks.token}`,
    );
    await world.pass(2 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
  });

  test("ABANDON in a group that retains keeps the instance running for a human", async () => {
    const instance = await waiting({ retainOnAbandon: true });
    world.autoScaling.complete(byToken(world.actionOf(instance)), "ABANDON", "drain");
    await world.pass(HOUR);
    expect(world.stateOf(instance)).toBe("Terminating:Retained");
    expect(world.ec2.instance(instance)?.state).toBe("running");
  });

  test("without a heartbeat the action ends at its timeout with the default result (C16)", async () => {
    const instance = await waiting({ hooks: [{ ...OURS, defaultResult: "ABANDON" }], retainOnAbandon: true });
    const { openedAt } = world.actionOf(instance);
    await world.clock.advance(openedAt + 300 * SECOND - 1);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    await world.pass(1);
    expect(world.stateOf(instance)).toBe("Terminating:Retained");
    expect(world.autoScaling.getHistory().at(-1)).toMatchObject({ kind: "expired", result: "ABANDON" });
  });

  test("heartbeats keep the action open, but not beyond 100 times the timeout (C4)", async () => {
    const instance = await waiting();
    const action = world.actionOf(instance);
    for (let beat = 0; beat < 199; beat++) {
      await world.pass(150 * SECOND);
      world.autoScaling.heartbeat(byToken(action), "drain");
    }
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    await world.clock.advance(action.openedAt + 100 * 300 * SECOND);
    expect(world.stateOf(instance)).not.toBe("Terminating:Wait");
    expect(messageOf(() => world.autoScaling.heartbeat(byToken(action), "drain"))).toContain(
      "No active Lifecycle Action",
    );
  });

  test("no wait is longer than 48 hours", async () => {
    const instance = await waiting({ hooks: [{ ...OURS, heartbeatTimeout: 7_200 }] });
    const action = world.actionOf(instance);
    expect(action.limit - action.openedAt).toBe(48 * HOUR);
  });

  test("done, wrong and unknown are told apart by nothing but the name in the message (C18)", async () => {
    const instance = await waiting();
    const name = { group: "workers-a", hook: "ebs-drain" };
    expect(messageOf(() => world.autoScaling.heartbeat({ ...name, token: "other" }, "drain"))).toBe(
      "ValidationError: No active Lifecycle Action found with token other",
    );
    expect(
      messageOf(() => world.autoScaling.complete({ ...name, hook: "x", instance }, "CONTINUE", "drain")),
    ).toBe(`ValidationError: No active Lifecycle Action found with instance ID ${instance}`);
    expect(
      messageOf(() => world.autoScaling.heartbeat({ ...name, group: "none", instance }, "drain")),
    ).toContain("ValidationError: AutoScalingGroup name not found");
    world.autoScaling.complete({ ...name, instance }, "CONTINUE", "drain");
    expect(messageOf(() => world.autoScaling.complete({ ...name, instance }, "CONTINUE", "drain"))).toContain(
      "No active Lifecycle Action found with instance ID",
    );
  });

  test("the history tells who did what to which action, refused calls too (I2)", async () => {
    const instance = await waiting();
    const action = world.actionOf(instance);
    world.autoScaling.heartbeat(byToken(action), "drain");
    world.autoScaling.complete(byToken(action), "CONTINUE", "hook");
    messageOf(() => world.autoScaling.complete(byToken(action), "CONTINUE", "drain"));
    const story = world.autoScaling
      .getHistory()
      .map((record) =>
        [record.kind, "by" in record ? `${record.by} ${record.outcome}` : ""].join(" ").trim(),
      );
    expect(story).toEqual([
      "opened",
      "heartbeat drain accepted",
      "complete hook accepted",
      "complete drain refused",
    ]);
    expect(world.autoScaling.getHistory()[2]).toMatchObject({ named: "token", result: "CONTINUE", instance });
  });

  test("a direct termination is not held: EC2 goes first, the hook runs later on a dead instance (C11)", async () => {
    const instance = await world.inService();
    world.ec2.terminateInstance(instance);
    await world.pass(MINUTE + 1);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
    await world.pass(2 * MINUTE);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    expect(world.autoScaling.member(instance)?.healthy).toBe(false);
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(10 * SECOND);
    expect(world.stateOf(instance)).toBeUndefined();
  });

  test("a spot interruption is not held either", async () => {
    const instance = await world.inService();
    world.ec2.interruptSpot(instance);
    await world.pass(2 * MINUTE + 1);
    expect(world.ec2.instance(instance)?.state).toBe("shutting-down");
    expect(world.stateOf(instance)).toBe("InService");
  });

  test("an instance stopped by hand is terminated through the hooks once noticed, and replaced where the group does so", async () => {
    const instance = await world.inService({ replacesDead: true });
    world.ec2.stopInstance(instance);
    await world.pass(3 * MINUTE);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    expect(world.autoScaling.describeGroups()).toMatchObject([
      { desired: 1, members: [{}, { lifecycleState: "InService" }] },
    ]);
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(2 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
  });

  test("an instance that runs again before the group looks stays in service, until it dies once more", async () => {
    world = new AutoScalingWorld({ healthCheck: [5 * MINUTE, 5 * MINUTE] });
    const instance = await world.inService();
    world.ec2.stopInstance(instance);
    await world.pass(MINUTE);
    world.ec2.startInstance(instance);
    await world.pass(HOUR);
    expect(world.stateOf(instance)).toBe("InService");
    expect(world.autoScaling.getHistory()).toEqual([]);
    world.ec2.terminateInstance(instance);
    await world.pass(6 * MINUTE);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
  });

  test("a termination that is called off ends its actions without a result", async () => {
    const instance = await waiting();
    const action = world.actionOf(instance);
    world.autoScaling.callOff(instance);
    expect(world.stateOf(instance)).toBe("InService");
    expect(messageOf(() => world.autoScaling.heartbeat(byToken(action), "drain"))).toContain(
      "No active Lifecycle Action",
    );
    await world.pass(HOUR);
    expect(world.stateOf(instance)).toBe("InService");
  });

  test("the desired capacity launches and scales in", async () => {
    world.autoScaling.createGroup({ name: "workers-a", hooks: [] });
    world.autoScaling.setDesiredCapacity("workers-a", 3);
    await world.pass(MINUTE);
    expect(world.autoScaling.describeMembers().map((member) => member.lifecycleState)).toEqual(
      Array(3).fill("InService"),
    );
    world.autoScaling.setDesiredCapacity("workers-a", 1);
    await world.pass(3 * MINUTE);
    expect(world.autoScaling.describeMembers()).toHaveLength(1);
  });
});
