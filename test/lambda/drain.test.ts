import { describe, expect, test } from "vitest";
import { SeededFaults } from "../../lib/sim/faults.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { Random } from "../../lib/sim/random.ts";
import { DrainWorld, START, lifecycleTask } from "./drain-world.ts";

describe("the drain function on the durable service", () => {
  test("suspends between its looks and ends with the look's outcome", async () => {
    const world = new DrainWorld({ busyFor: 60 });
    const report = await world.drain();
    expect(report).toMatchObject({
      status: "SUCCEEDED",
      result: { work: lifecycleTask().id, outcome: "completed", reason: "nothing blocks", looks: 7 },
      invocations: 7,
    });
    expect(world.results).toEqual(["CONTINUE"]);
    expect(report.endedAt).toBeGreaterThan(START + 60_000);
    expect(report.endedAt).toBeLessThan(START + 75_000);
  });

  test("costs at most 4 operations and less than 2 kB of state for 40 looks, and no more for more", async () => {
    const few = await new DrainWorld({ busyFor: 50 }).drain();
    const many = await new DrainWorld({ busyFor: 390 }).drain();
    expect(many).toMatchObject({ result: { looks: 40 }, invocations: 40 });
    expect(many.operations).toBeLessThanOrEqual(4);
    expect(many.operations).toBe(few.operations);
    expect(many.largestState).toBeLessThan(2_048);
    expect(many.largestState - few.largestState).toBeLessThan(64);
  });

  test("opens its ports anew at every invocation, and with them a fresh token", async () => {
    const world = new DrainWorld({ busyFor: 30 });
    const report = await world.drain();
    expect(world.opened).toHaveLength(report.invocations);
  });

  test("goes on for hours, over as many invocations as it takes (C4, C6)", async () => {
    const world = new DrainWorld({ busyFor: 5_400, interval: 75 });
    const report = await world.drain();
    expect(report).toMatchObject({ status: "SUCCEEDED", result: { outcome: "completed" } });
    expect(report.invocations).toBeGreaterThan(70);
    expect([...world.evicted.values()]).toEqual([START + 100 + 4 * 20]);
  });

  test("runs the machines of several executions side by side", async () => {
    const world = new DrainWorld();
    for (const number of [1, 2, 3]) {
      const task = lifecycleTask({ instance: `i-0000000000000000${number}`, token: `token-${number}` });
      world.backend.start(task.id, task);
    }
    await world.settle();
    expect(world.backend.executions().map((report) => report.status)).toEqual([
      "SUCCEEDED",
      "SUCCEEDED",
      "SUCCEEDED",
    ]);
    expect(world.evicted.size).toBe(3);
  });
});

describe("an invocation that dies", () => {
  test.each(["crash-before", "crash-after"] as const)(
    "at any checkpoint (%s) comes to the same end: one eviction, one result (I2)",
    async (fate) => {
      let crashes = 0;
      for (let at = 1; ; at++) {
        let crashed = false;
        const world = new DrainWorld({
          busyFor: 20,
          onCheckpoint: ({ number }) => {
            if (number !== at) return undefined;
            crashed = true;
            return fate;
          },
        });
        const report = await world.drain();
        expect(report, `${fate} ${at}`).toMatchObject({
          status: "SUCCEEDED",
          result: { outcome: "completed" },
        });
        expect(world.results, `${fate} ${at}`).toEqual(["CONTINUE"]);
        expect(world.evicted.size).toBe(1);
        expect(world.backend.deadLetters()).toEqual([]);
        if (!crashed) break;
        crashes++;
        expect(report.invocations).toBeGreaterThan(3);
      }
      // A start and an end of each of three looks.
      expect(crashes).toBeGreaterThanOrEqual(6);
    },
  );

  test("again and again still ends: a third of all checkpoints lost", async () => {
    const clock = new VirtualClock(START);
    const rates = [{ operations: "executions.checkpoint", fail: 0.2, lostAnswer: 0.15 }];
    for (const seed of [1, 2, 3]) {
      const world = new DrainWorld({ faults: new SeededFaults(clock, new Random(seed), { rates }) });
      const report = await world.drain();
      expect(report, `seed ${seed}`).toMatchObject({ status: "SUCCEEDED", result: { outcome: "completed" } });
      expect(world.results).toEqual(["CONTINUE"]);
    }
  });
});

describe("a look that throws", () => {
  test("does not end the execution: the next one goes on", async () => {
    const world = new DrainWorld({ hasBug: (look) => look === 1 || look === 3 });
    const report = await world.drain();
    expect(report).toMatchObject({ status: "SUCCEEDED", result: { outcome: "completed" } });
    expect(world.results).toEqual(["CONTINUE"]);
    expect(world.telemetry.lines.filter((line) => line["message"] === "a look threw")).toHaveLength(2);
  });

  test("for ever fails the execution out loud past its deadline, with the action's explicit result", async () => {
    const world = new DrainWorld({ hasBug: () => true, policy: { maxDuration: 600 } });
    const task = lifecycleTask();
    const report = await world.drain(task);
    expect(report).toMatchObject({ status: "FAILED", error: expect.stringContaining("a bug in the look") });
    expect(world.backend.deadLetters()).toEqual([task]);
    expect(world.results).toEqual(["CONTINUE"]);
    expect(world.telemetry.count("DrainDeadlines")).toBe(1);
  });
});

describe("an input that is no task", () => {
  test.each<[string, unknown, string]>([
    [
      "an unknown cluster",
      lifecycleTask({ cluster: "red" }),
      "group workers-a belongs to cluster blue, not red",
    ],
    [
      "an unknown group",
      lifecycleTask({ group: "others" }),
      "group others of cluster blue is not configured",
    ],
    [
      "an unknown kind",
      { ...lifecycleTask(), kind: "reboot" },
      'kind: expected lifecycle, spot or gone, got "reboot"',
    ],
    ["no instance", { ...lifecycleTask(), instance: undefined }, "instance: expected a string, got nothing"],
    ["no hook", { ...lifecycleTask(), hook: 7 }, "hook: expected a string, got the number 7"],
    ["a time as text", { ...lifecycleTask(), at: "today" }, 'at: expected a number, got "today"'],
    ["nothing at all", null, "the input is null, not a task"],
  ])("fails at once and reaches the dead-letter queue: %s", async (_what, input, message) => {
    const world = new DrainWorld();
    world.backend.start("by-hand", input);
    await world.settle();
    expect(world.backend.execution("by-hand")).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining(message),
      invocations: 1,
    });
    expect(world.backend.deadLetters()).toHaveLength(1);
    expect(world.telemetry.lines).toEqual([
      expect.objectContaining({ message: "no task", error: expect.stringContaining(message) }),
    ]);
    expect(world.looks).toBe(0);
  });
});
