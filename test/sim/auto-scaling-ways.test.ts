import { beforeEach, describe, expect, test } from "vitest";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import type { LifecycleAction } from "../../lib/sim/auto-scaling-actions.ts";
import { AutoScalingWorld, byToken, messageOf } from "./auto-scaling-world.ts";

let world: AutoScalingWorld;

beforeEach(() => {
  world = new AutoScalingWorld();
});

describe("other ways out of service", () => {
  test("back to the warm pool: the event says so, the instance is stopped, and comes back as another machine", async () => {
    const instance = await world.inService({ poolState: "Stopped" });
    const opened: LifecycleAction[] = [];
    world.autoScaling.onLifecycleAction((action) => opened.push(action));
    const launchTime = world.ec2.instance(instance)?.launchTime ?? 0;
    world.autoScaling.returnToWarmPool(instance);
    await world.pass(10 * SECOND);
    expect(world.stateOf(instance)).toBe("Warmed:Pending:Wait");
    expect(opened).toMatchObject([{ origin: "AutoScalingGroup", destination: "WarmPool" }]);
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(MINUTE);
    expect(world.stateOf(instance)).toBe("Warmed:Stopped");
    expect(world.ec2.instance(instance)?.state).toBe("stopped");
    world.autoScaling.takeFromWarmPool(instance);
    await world.pass(MINUTE);
    expect(world.stateOf(instance)).toBe("InService");
    expect(world.ec2.instance(instance)?.launchTime).toBeGreaterThan(launchTime);
  });

  test("a pool of hibernated instances hibernates", async () => {
    const instance = await world.inService({ hooks: [], poolState: "Hibernated" });
    world.autoScaling.returnToWarmPool(instance);
    await world.pass(2 * MINUTE);
    expect(world.stateOf(instance)).toBe("Warmed:Hibernated");
    expect(world.ec2.instance(instance)?.stateReason?.code).toBe("Client.UserInitiatedHibernate");
  });

  test("scale-in from the warm pool goes through the hooks in its own states", async () => {
    const instance = await world.inService({ poolState: "Stopped" });
    world.autoScaling.returnToWarmPool(instance);
    await world.pass(10 * SECOND);
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(MINUTE);
    world.autoScaling.scaleIn(instance);
    await world.pass(10 * SECOND);
    expect(world.stateOf(instance)).toBe("Warmed:Terminating:Wait");
    expect(world.actionOf(instance)).toMatchObject({ origin: "WarmPool", destination: "EC2" });
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    await world.pass(2 * MINUTE);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
  });

  test("an action by instance id completes whatever is open now; one by token only its own (D2)", async () => {
    const instance = await world.inService({ poolState: "Stopped" });
    world.autoScaling.returnToWarmPool(instance);
    await world.pass(10 * SECOND);
    const first = world.actionOf(instance);
    world.autoScaling.callOff(instance);
    world.autoScaling.scaleIn(instance);
    await world.pass(10 * SECOND);
    expect(messageOf(() => world.autoScaling.complete(byToken(first), "CONTINUE", "drain"))).toContain(
      "No active",
    );
    expect(
      messageOf(() =>
        world.autoScaling.complete({ group: "workers-a", hook: "ebs-drain", instance }, "CONTINUE", "drain"),
      ),
    ).toBe("none");
  });

  test("another root volume: same machine, back in service afterwards", async () => {
    const instance = await world.inService();
    const launchTime = world.ec2.instance(instance)?.launchTime;
    const reboots: string[] = [];
    world.ec2.onReboot((each) => reboots.push(each));
    world.autoScaling.replaceRootVolume(instance);
    await world.pass(10 * SECOND);
    expect(world.stateOf(instance)).toBe("ReplacingRootVolume:Wait");
    expect(world.actionOf(instance)).toMatchObject({
      destination: "AutoScalingGroup",
      replacesRootVolume: true,
    });
    world.autoScaling.complete(byToken(world.actionOf(instance)), "CONTINUE", "drain");
    expect(world.stateOf(instance)).toBe("ReplacingRootVolume:Proceed");
    await world.pass(2 * MINUTE);
    expect(world.stateOf(instance)).toBe("InService");
    expect(reboots).toEqual([instance]);
    expect(world.ec2.instance(instance)?.launchTime).toBe(launchTime);
  });

  test("an instance that dies while it waits for another root volume is terminated through the hooks", async () => {
    const instance = await world.inService();
    world.autoScaling.replaceRootVolume(instance);
    await world.pass(10 * SECOND);
    world.ec2.terminateInstance(instance);
    await world.pass(3 * MINUTE);
    expect(world.stateOf(instance)).toBe("Terminating:Wait");
    expect(world.actionOf(instance).destination).toBe("EC2");
  });
});
