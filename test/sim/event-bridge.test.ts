import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { MINUTE } from "../../lib/drain/time.ts";
import type { GroupSpec } from "../../lib/sim/auto-scaling-members.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import type { BusEvent, EventDelivery } from "../../lib/sim/event-bridge.ts";
import { SimulatedEventBridge } from "../../lib/sim/event-bridge.ts";
import { Random } from "../../lib/sim/random.ts";

const START = Date.parse("2026-11-02T09:30:00Z");
const GROUP: GroupSpec = {
  name: "workers-a",
  poolState: "Stopped",
  hooks: [
    { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE", metadata: '{"cluster":"prod-1"}' },
    { name: "Terminate-LC-Hook", heartbeatTimeout: 300, defaultResult: "CONTINUE" },
  ],
};

interface Delivered {
  readonly event: BusEvent;
  readonly at: number;
}

function startWorld(delivery: Partial<EventDelivery> = {}, seed = 1) {
  const clock = new VirtualClock(START);
  const ec2 = new SimulatedEc2({ clock, random: new Random(seed) });
  const autoScaling = new SimulatedAutoScaling({ clock, random: new Random(seed), ec2 });
  const delivered: Delivered[] = [];
  const bridge = new SimulatedEventBridge({
    clock,
    random: new Random(seed),
    delivery,
    deliver: (event) => delivered.push({ event, at: clock.now() - START }),
  });
  bridge.connect(ec2, autoScaling);
  autoScaling.createGroup(GROUP);
  const pass = (milliseconds: number): Promise<void> => clock.advance(clock.now() + milliseconds);
  return { ec2, autoScaling, bridge, delivered, pass };
}

/** The paths of all fields, and the values of those that do not differ from instance to instance. */
function shapeOf(event: unknown): Record<string, unknown> {
  const { detail, ...rest } = event as Record<string, unknown>;
  // The metadata is the operator's text and may be absent.
  const { NotificationMetadata: _, ...fields } = detail as Record<string, unknown>;
  return {
    envelope: Object.keys(rest).sort(),
    source: rest["source"],
    type: rest["detail-type"],
    detail: Object.keys(fields).sort(),
    way: [fields["LifecycleTransition"], fields["Origin"], fields["Destination"], fields["Action"]],
  };
}

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/events/${name}.json`, import.meta.url), "utf8"));
}

describe("simulated EventBridge", () => {
  test.each([
    "state-change-running",
    "state-change-terminated",
    "spot-interruption",
    "schedule-sweep",
    "lifecycle-terminate",
    "lifecycle-terminate-foreign-hook",
    "lifecycle-terminate-to-warm-pool",
    "lifecycle-terminate-replace-root-volume",
  ])("its events have the services' own shapes: %s", async (name) => {
    const { ec2, autoScaling, bridge, delivered, pass } = startWorld();
    const [first, second, third] = [0, 1, 2].map(() => autoScaling.launch("workers-a"));
    await pass(MINUTE);
    bridge.startSweep();
    ec2.interruptSpot(first ?? "");
    autoScaling.scaleIn(first ?? "");
    autoScaling.returnToWarmPool(second ?? "");
    autoScaling.replaceRootVolume(third ?? "");
    await pass(4 * MINUTE);
    expect(delivered.map(({ event }) => shapeOf(event))).toContainEqual(shapeOf(fixture(name)));
  });

  test("the spot warning names the zone where its ARN should have the region", async () => {
    const { ec2, delivered, pass } = startWorld();
    const instance = ec2.runInstance({ zone: "eu-west-1b" });
    await pass(MINUTE);
    ec2.interruptSpot(instance);
    await pass(10_000);
    const warning = delivered.find(({ event }) => event["detail-type"].includes("Spot"));
    expect(warning?.event.resources).toEqual([`arn:aws:ec2:eu-west-1b:instance/${instance}`]);
  });

  test("an event's time is that of the happening, however late it comes", async () => {
    const { ec2, delivered, pass } = startWorld({ lateness: 1, lateDelay: [MINUTE, MINUTE] });
    ec2.runInstance();
    await pass(MINUTE);
    expect(delivered).toMatchObject([{ at: MINUTE }]);
    expect(Date.parse(delivered[0]?.event.time ?? "")).toBe(START);
  });

  test("a duplicate is the same event again, and a lost event never comes (C5)", async () => {
    const twice = startWorld({ duplication: 1 });
    twice.ec2.runInstance();
    await twice.pass(6 * MINUTE);
    const ids = twice.delivered.map(({ event }) => event.id);
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(2);
    const never = startWorld({ loss: 1 });
    never.ec2.runInstance();
    await never.pass(6 * MINUTE);
    expect(never.delivered).toEqual([]);
  });

  test("the schedule comes every minute until it is ended", async () => {
    const { bridge, delivered, pass } = startWorld({ loss: 1 });
    const end = bridge.startSweep();
    await pass(3 * MINUTE);
    end();
    await pass(3 * MINUTE);
    expect(delivered.map(({ at }) => at)).toEqual([MINUTE, 2 * MINUTE, 3 * MINUTE]);
  });

  test("the same seed gives the same deliveries", async () => {
    const run = async (seed: number): Promise<readonly Delivered[]> => {
      const world = startWorld({ loss: 0.2, duplication: 0.3, lateness: 0.2 }, seed);
      const instance = world.autoScaling.launch("workers-a");
      await world.pass(MINUTE);
      world.autoScaling.scaleIn(instance);
      await world.pass(30 * MINUTE);
      return world.delivered;
    };
    expect(await run(5)).toEqual(await run(5));
    expect(await run(5)).not.toEqual(await run(6));
  });
});
