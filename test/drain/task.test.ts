import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSignal } from "../../lib/drain/signal.ts";
import type { Task } from "../../lib/drain/task.ts";
import { isForMachine, machineOf, shortHash, sweepExecutionName, workId } from "../../lib/drain/task.ts";

const LAUNCH = Date.parse("2026-11-02T08:00:00Z");
const INSTANCE = "i-0f3a9c1d2b4e5f607";

const kinds = fc.constantFrom<Task["kind"]>("lifecycle", "spot", "gone");
const instances = fc
  .string({ unit: fc.constantFrom(...Array.from("0123456789abcdef")), minLength: 8, maxLength: 17 })
  .map((digits) => `i-${digits}`);
/** EC2's LaunchTime: whole seconds, between 2006 and 2100. */
const launchTimes = fc.integer({ min: 1_136_073_600, max: 4_102_444_800 }).map((second) => second * 1_000);
const works = fc.record(
  {
    kind: kinds,
    instance: instances,
    launchTime: launchTimes,
    token: fc.string({ minLength: 1, maxLength: 80 }),
  },
  { requiredKeys: ["kind", "instance"] },
);

describe("work ids", () => {
  it("say kind, machine and, for a lifecycle action, a hash of its token", () => {
    expect(workId({ kind: "gone", instance: INSTANCE, launchTime: LAUNCH })).toBe(
      "gone-i-0f3a9c1d2b4e5f607-tnv7k0",
    );
    expect(workId({ kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCH, token: "token-1" })).toBe(
      `lifecycle-i-0f3a9c1d2b4e5f607-tnv7k0-${shortHash("token-1")}`,
    );
    expect(workId({ kind: "spot", instance: INSTANCE })).toBe("spot-i-0f3a9c1d2b4e5f607-0");
  });

  it("fit a taint's value, and with the sweep's slot a durable execution's name", () => {
    fc.assert(
      fc.property(works, launchTimes, (of, at) => {
        const id = workId(of);
        expect(id.length).toBeLessThanOrEqual(46);
        expect(id).toMatch(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/);
        expect(sweepExecutionName(id, at, "AutoScalingGroup")).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it("fit for every instance id that an event may carry (S7)", () => {
    const longest = `i-${"f".repeat(17)}`;
    const event = {
      source: "aws.ec2",
      "detail-type": "EC2 Instance State-change Notification",
      time: "2026-11-02T09:30:00Z",
      detail: { "instance-id": longest, state: "stopped" },
    };
    expect(parseSignal(event, {})).toMatchObject({ instance: longest });
    const detail = { ...event.detail, "instance-id": `${longest}f` };
    expect(() => parseSignal({ ...event, detail }, {})).toThrow("instance-id");
    const id = workId({ kind: "lifecycle", instance: longest, launchTime: 4_102_444_800_000, token: "t" });
    expect(sweepExecutionName(id, 4_102_444_800_000, "WarmPool").length).toBeLessThanOrEqual(64);
  });

  it("are the same for every delivery and differ by kind, machine and token (C5)", () => {
    const of = { kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCH, token: "token-1" } as const;
    const ids = [
      workId(of),
      workId({ ...of, kind: "gone" }),
      workId({ ...of, instance: "i-0f3a9c1d2b4e5f608" }),
      workId({ ...of, launchTime: LAUNCH + 1_000 }),
      workId({ ...of, token: "token-2" }),
      workId({ ...of, token: undefined }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(workId({ ...of })).toBe(ids[0]);
  });

  it("hash as FNV-1a does", () => {
    expect(shortHash("")).toBe("811c9dc5");
    expect(shortHash("a")).toBe("e40c292c");
    expect(shortHash("foobar")).toBe("bf9cf968");
  });
});

describe("the sweep's execution names", () => {
  it("are the same within ten minutes and another afterwards, so that failed work can be followed", () => {
    const slot = Math.ceil(LAUNCH / 600_000) * 600_000;
    const name = sweepExecutionName("gone-i-0f3a9c1d2b4e5f607-tnv7k0", slot);
    expect(sweepExecutionName("gone-i-0f3a9c1d2b4e5f607-tnv7k0", slot + 599_999)).toBe(name);
    expect(sweepExecutionName("gone-i-0f3a9c1d2b4e5f607-tnv7k0", slot + 600_000)).not.toBe(name);
  });

  it("tell apart two actions of one machine in the same ten minutes, whose events were both lost (I2)", () => {
    const id = "lifecycle-i-0f3a9c1d2b4e5f607-tnv7k0";
    const names = (["EC2", "WarmPool", "AutoScalingGroup"] as const).map((to) =>
      sweepExecutionName(id, LAUNCH, to),
    );
    expect(new Set(names).size).toBe(3);
    expect(names.map((name) => machineOf(name)?.instance)).toEqual(Array(3).fill("i-0f3a9c1d2b4e5f607"));
  });
});

describe("isForMachine", () => {
  it("is true for exactly the machine of the id: instance and LaunchTime, whatever kind and token", () => {
    const machines = fc.record({
      instance: fc.oneof(fc.constantFrom(INSTANCE, INSTANCE.slice(0, -1), "i-0f3a9c1d"), instances),
      launchTime: fc.oneof(fc.constantFrom(LAUNCH, LAUNCH + 1_000, undefined), launchTimes),
    });
    fc.assert(
      fc.property(
        kinds,
        fc.option(fc.string(), { nil: undefined }),
        machines,
        machines,
        (kind, token, own, other) => {
          const id = workId({ kind, ...own, token });
          const same = own.instance === other.instance && own.launchTime === other.launchTime;
          expect(isForMachine(id, own.instance, own.launchTime)).toBe(true);
          expect(isForMachine(sweepExecutionName(id, LAUNCH), own.instance, own.launchTime)).toBe(true);
          expect(isForMachine(id, other.instance, other.launchTime)).toBe(same);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ["text of others", "my-own-taint"],
    ["nothing", ""],
    ["another instance that begins alike", `gone-${INSTANCE}0-tnv7k0`],
    ["another LaunchTime that begins alike", `gone-${INSTANCE}-tnv7k00`],
    ["a LaunchTime that is cut off", `gone-${INSTANCE}-tnv7k`],
    ["text after the LaunchTime", `gone-${INSTANCE}-tnv7k0.example`],
    ["no LaunchTime at all", `gone-${INSTANCE}`],
    ["a kind that is not ours", `drain-${INSTANCE}-tnv7k0`],
    ["text before the kind", `x-gone-${INSTANCE}-tnv7k0`],
  ])("is false for %s", (_, id) => {
    expect(isForMachine(id, INSTANCE, LAUNCH)).toBe(false);
  });
});

describe("machineOf", () => {
  it("reads the machine out of ids and execution names, and nothing out of others'", () => {
    const id = workId({ kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCH, token: "t" });
    const machine = { instance: INSTANCE, launch: "tnv7k0" };
    expect(machineOf(id)).toEqual(machine);
    expect(machineOf(sweepExecutionName(id, LAUNCH))).toEqual(machine);
    expect(machineOf("nightly-report")).toBeUndefined();
  });
});
