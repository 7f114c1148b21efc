import { beforeEach, describe, expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import type { HookSpec, LifecycleAction } from "../../lib/sim/auto-scaling-actions.ts";
import type { GroupSpec } from "../../lib/sim/auto-scaling-members.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import { Ec2Fault } from "../../lib/sim/seams.ts";

const START = Date.parse("2026-11-02T09:30:00Z");
const OURS: HookSpec = { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" };
const EKS: HookSpec = { name: "Terminate-LC-Hook", heartbeatTimeout: 1_800, defaultResult: "CONTINUE" };

let clock: VirtualClock;
let ec2: SimulatedEc2;
let autoScaling: SimulatedAutoScaling;

beforeEach(() => {
  clock = new VirtualClock(START);
  ec2 = new SimulatedEc2({ clock, random: new Random(1) });
  autoScaling = new SimulatedAutoScaling({ clock, random: new Random(2), ec2 });
});

const pass = (milliseconds: number): Promise<void> => clock.advance(clock.now() + milliseconds);
const stateOf = (instance: string): string | undefined => autoScaling.member(instance)?.lifecycleState;

async function inService(spec: Partial<GroupSpec> = {}): Promise<string> {
  autoScaling.createGroup({ name: "workers-a", hooks: [OURS], ...spec });
  const instance = autoScaling.launch("workers-a");
  await pass(MINUTE);
  expect(stateOf(instance)).toBe("InService");
  return instance;
}

/** Scaled in and waiting in its hooks. */
async function waiting(spec: Partial<GroupSpec> = {}): Promise<string> {
  const instance = await inService(spec);
  autoScaling.scaleIn(instance);
  expect(stateOf(instance)).toBe("Terminating");
  await pass(10 * SECOND);
  expect(stateOf(instance)).toBe("Terminating:Wait");
  return instance;
}

function actionOf(instance: string, hook = "ebs-drain"): LifecycleAction {
  const action = autoScaling.activeActions(instance).find((each) => each.hook.name === hook);
  if (action === undefined) throw new Error(`no active action of ${hook}`);
  return action;
}

const byToken = (action: LifecycleAction): { group: string; hook: string; token: string } => ({
  group: action.group,
  hook: action.hook.name,
  token: action.token,
});

function messageOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Ec2Fault) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "none";
}

describe("termination in simulated Auto Scaling", () => {
  test("the instance runs until its only hook is completed, then it is terminated and gone from the group", async () => {
    const instance = await waiting();
    await pass(4 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("running");
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    expect(stateOf(instance)).toBe("Terminating:Proceed");
    await pass(10 * SECOND);
    expect(ec2.instance(instance)?.state).toBe("shutting-down");
    await pass(2 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("terminated");
    expect(autoScaling.describeMembers()).toEqual([]);
  });

  test("a group without hooks terminates without waiting", async () => {
    const instance = await inService({ hooks: [] });
    autoScaling.scaleIn(instance);
    await pass(2 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("terminated");
  });

  test("CONTINUE of one hook waits for the others (C22)", async () => {
    const instance = await waiting({ hooks: [OURS, EKS] });
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(MINUTE);
    expect(stateOf(instance)).toBe("Terminating:Wait");
    autoScaling.complete(byToken(actionOf(instance, EKS.name)), "CONTINUE", "eks");
    expect(stateOf(instance)).toBe("Terminating:Proceed");
  });

  test("ABANDON ends the group's other hooks at once, and terminates all the same", async () => {
    const instance = await waiting({ hooks: [OURS, EKS] });
    const eks = actionOf(instance, EKS.name);
    autoScaling.complete(byToken(actionOf(instance)), "ABANDON", "drain");
    expect(stateOf(instance)).toBe("Terminating:Proceed");
    expect(messageOf(() => autoScaling.complete(byToken(eks), "CONTINUE", "eks"))).toBe(
      `ValidationError: No active Lifecycle Action found with token ${eks.token}`,
    );
    await pass(2 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("terminated");
  });

  test("ABANDON in a group that retains keeps the instance running for a human", async () => {
    const instance = await waiting({ retainOnAbandon: true });
    autoScaling.complete(byToken(actionOf(instance)), "ABANDON", "drain");
    await pass(HOUR);
    expect(stateOf(instance)).toBe("Terminating:Retained");
    expect(ec2.instance(instance)?.state).toBe("running");
  });

  test("without a heartbeat the action ends at its timeout with the default result (C16)", async () => {
    const instance = await waiting({ hooks: [{ ...OURS, defaultResult: "ABANDON" }], retainOnAbandon: true });
    const { openedAt } = actionOf(instance);
    await clock.advance(openedAt + 300 * SECOND - 1);
    expect(stateOf(instance)).toBe("Terminating:Wait");
    await pass(1);
    expect(stateOf(instance)).toBe("Terminating:Retained");
    expect(autoScaling.getHistory().at(-1)).toMatchObject({ kind: "expired", result: "ABANDON" });
  });

  test("heartbeats keep the action open, but not beyond 100 times the timeout (C4)", async () => {
    const instance = await waiting();
    const action = actionOf(instance);
    for (let beat = 0; beat < 199; beat++) {
      await pass(150 * SECOND);
      autoScaling.heartbeat(byToken(action), "drain");
    }
    expect(stateOf(instance)).toBe("Terminating:Wait");
    await clock.advance(action.openedAt + 100 * 300 * SECOND);
    expect(stateOf(instance)).not.toBe("Terminating:Wait");
    expect(messageOf(() => autoScaling.heartbeat(byToken(action), "drain"))).toContain(
      "No active Lifecycle Action",
    );
  });

  test("no wait is longer than 48 hours", async () => {
    const instance = await waiting({ hooks: [{ ...OURS, heartbeatTimeout: 7_200 }] });
    const action = actionOf(instance);
    expect(action.limit - action.openedAt).toBe(48 * HOUR);
  });

  test("done, wrong and unknown are told apart by nothing but the name in the message (C18)", async () => {
    const instance = await waiting();
    const name = { group: "workers-a", hook: "ebs-drain" };
    expect(messageOf(() => autoScaling.heartbeat({ ...name, token: "other" }, "drain"))).toBe(
      "ValidationError: No active Lifecycle Action found with token other",
    );
    expect(messageOf(() => autoScaling.complete({ ...name, hook: "x", instance }, "CONTINUE", "drain"))).toBe(
      `ValidationError: No active Lifecycle Action found with instance ID ${instance}`,
    );
    expect(messageOf(() => autoScaling.heartbeat({ ...name, group: "none", instance }, "drain"))).toContain(
      "ValidationError: AutoScalingGroup name not found",
    );
    autoScaling.complete({ ...name, instance }, "CONTINUE", "drain");
    expect(messageOf(() => autoScaling.complete({ ...name, instance }, "CONTINUE", "drain"))).toContain(
      "No active Lifecycle Action found with instance ID",
    );
  });

  test("the history tells who did what to which action, refused calls too (I2)", async () => {
    const instance = await waiting();
    const action = actionOf(instance);
    autoScaling.heartbeat(byToken(action), "drain");
    autoScaling.complete(byToken(action), "CONTINUE", "hook");
    messageOf(() => autoScaling.complete(byToken(action), "CONTINUE", "drain"));
    const story = autoScaling
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
    expect(autoScaling.getHistory()[2]).toMatchObject({ named: "token", result: "CONTINUE", instance });
  });

  test("a direct termination is not held: EC2 goes first, the hook runs later on a dead instance (C11)", async () => {
    const instance = await inService();
    ec2.terminateInstance(instance);
    await pass(MINUTE + 1);
    expect(ec2.instance(instance)?.state).toBe("terminated");
    await pass(2 * MINUTE);
    expect(stateOf(instance)).toBe("Terminating:Wait");
    expect(autoScaling.member(instance)?.healthy).toBe(false);
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(10 * SECOND);
    expect(stateOf(instance)).toBeUndefined();
  });

  test("a spot interruption is not held either", async () => {
    const instance = await inService();
    ec2.interruptSpot(instance);
    await pass(2 * MINUTE + 1);
    expect(ec2.instance(instance)?.state).toBe("shutting-down");
    expect(stateOf(instance)).toBe("InService");
  });

  test("an instance stopped by hand is terminated through the hooks once noticed, and replaced where the group does so", async () => {
    const instance = await inService({ replacesDead: true });
    ec2.stopInstance(instance);
    await pass(3 * MINUTE);
    expect(stateOf(instance)).toBe("Terminating:Wait");
    expect(autoScaling.describeGroups()).toMatchObject([
      { desired: 1, members: [{}, { lifecycleState: "InService" }] },
    ]);
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(2 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("terminated");
  });

  test("an instance that runs again before the group looks stays in service, until it dies once more", async () => {
    autoScaling = new SimulatedAutoScaling({
      clock,
      random: new Random(2),
      ec2,
      delays: { healthCheck: [5 * MINUTE, 5 * MINUTE] },
    });
    const instance = await inService();
    ec2.stopInstance(instance);
    await pass(MINUTE);
    ec2.startInstance(instance);
    await pass(HOUR);
    expect(stateOf(instance)).toBe("InService");
    expect(autoScaling.getHistory()).toEqual([]);
    ec2.terminateInstance(instance);
    await pass(6 * MINUTE);
    expect(stateOf(instance)).toBe("Terminating:Wait");
  });

  test("a termination that is called off ends its actions without a result", async () => {
    const instance = await waiting();
    const action = actionOf(instance);
    autoScaling.callOff(instance);
    expect(stateOf(instance)).toBe("InService");
    expect(messageOf(() => autoScaling.heartbeat(byToken(action), "drain"))).toContain(
      "No active Lifecycle Action",
    );
    await pass(HOUR);
    expect(stateOf(instance)).toBe("InService");
  });

  test("the desired capacity launches and scales in", async () => {
    autoScaling.createGroup({ name: "workers-a", hooks: [] });
    autoScaling.setDesiredCapacity("workers-a", 3);
    await pass(MINUTE);
    expect(autoScaling.describeMembers().map((member) => member.lifecycleState)).toEqual(
      Array(3).fill("InService"),
    );
    autoScaling.setDesiredCapacity("workers-a", 1);
    await pass(3 * MINUTE);
    expect(autoScaling.describeMembers()).toHaveLength(1);
  });
});

describe("other ways out of service", () => {
  test("back to the warm pool: the event says so, the instance is stopped, and comes back as another machine", async () => {
    const instance = await inService({ poolState: "Stopped" });
    const opened: LifecycleAction[] = [];
    autoScaling.onLifecycleAction((action) => opened.push(action));
    const launchTime = ec2.instance(instance)?.launchTime ?? 0;
    autoScaling.returnToWarmPool(instance);
    await pass(10 * SECOND);
    expect(stateOf(instance)).toBe("Warmed:Pending:Wait");
    expect(opened).toMatchObject([{ origin: "AutoScalingGroup", destination: "WarmPool" }]);
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(MINUTE);
    expect(stateOf(instance)).toBe("Warmed:Stopped");
    expect(ec2.instance(instance)?.state).toBe("stopped");
    autoScaling.takeFromWarmPool(instance);
    await pass(MINUTE);
    expect(stateOf(instance)).toBe("InService");
    expect(ec2.instance(instance)?.launchTime).toBeGreaterThan(launchTime);
  });

  test("a pool of hibernated instances hibernates", async () => {
    const instance = await inService({ hooks: [], poolState: "Hibernated" });
    autoScaling.returnToWarmPool(instance);
    await pass(2 * MINUTE);
    expect(stateOf(instance)).toBe("Warmed:Hibernated");
    expect(ec2.instance(instance)?.stateReason?.code).toBe("Client.UserInitiatedHibernate");
  });

  test("scale-in from the warm pool goes through the hooks in its own states", async () => {
    const instance = await inService({ poolState: "Stopped" });
    autoScaling.returnToWarmPool(instance);
    await pass(10 * SECOND);
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(MINUTE);
    autoScaling.scaleIn(instance);
    await pass(10 * SECOND);
    expect(stateOf(instance)).toBe("Warmed:Terminating:Wait");
    expect(actionOf(instance)).toMatchObject({ origin: "WarmPool", destination: "EC2" });
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    await pass(2 * MINUTE);
    expect(ec2.instance(instance)?.state).toBe("terminated");
  });

  test("an action by instance id completes whatever is open now; one by token only its own (D2)", async () => {
    const instance = await inService({ poolState: "Stopped" });
    autoScaling.returnToWarmPool(instance);
    await pass(10 * SECOND);
    const first = actionOf(instance);
    autoScaling.callOff(instance);
    autoScaling.scaleIn(instance);
    await pass(10 * SECOND);
    expect(messageOf(() => autoScaling.complete(byToken(first), "CONTINUE", "drain"))).toContain("No active");
    expect(
      messageOf(() =>
        autoScaling.complete({ group: "workers-a", hook: "ebs-drain", instance }, "CONTINUE", "drain"),
      ),
    ).toBe("none");
  });

  test("another root volume: same machine, back in service afterwards", async () => {
    const instance = await inService();
    const launchTime = ec2.instance(instance)?.launchTime;
    const reboots: string[] = [];
    ec2.onReboot((each) => reboots.push(each));
    autoScaling.replaceRootVolume(instance);
    await pass(10 * SECOND);
    expect(stateOf(instance)).toBe("ReplacingRootVolume:Wait");
    expect(actionOf(instance)).toMatchObject({ destination: "AutoScalingGroup", replacesRootVolume: true });
    autoScaling.complete(byToken(actionOf(instance)), "CONTINUE", "drain");
    expect(stateOf(instance)).toBe("ReplacingRootVolume:Proceed");
    await pass(2 * MINUTE);
    expect(stateOf(instance)).toBe("InService");
    expect(reboots).toEqual([instance]);
    expect(ec2.instance(instance)?.launchTime).toBe(launchTime);
  });

  test("an instance that dies while it waits for another root volume is terminated through the hooks", async () => {
    const instance = await inService();
    autoScaling.replaceRootVolume(instance);
    await pass(10 * SECOND);
    ec2.terminateInstance(instance);
    await pass(3 * MINUTE);
    expect(stateOf(instance)).toBe("Terminating:Wait");
    expect(actionOf(instance).destination).toBe("EC2");
  });
});
