import type { DurableLambdaHandler } from "@aws/durable-execution-sdk-js";
import { withDurableExecution } from "@aws/durable-execution-sdk-js";
import { describe, expect, test } from "vitest";
import type { GoneTask } from "../../lib/drain/task.ts";
import type { Clock } from "../../lib/sim/clock.ts";
import { RealClock, VirtualClock } from "../../lib/sim/clock.ts";
import type { Checkpoint, CheckpointFate } from "../../lib/sim/durable-backend.ts";
import { DurableBackend } from "../../lib/sim/durable-backend.ts";
import { SeededFaults } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";

const START = Date.parse("2026-11-02T09:30:00Z");

interface Input {
  readonly waits: readonly number[];
  readonly fail?: string;
}

/** Waits these seconds one after the other in one `waitForCondition`, counting on; then returns the count or fails. */
function waiting(seen: (count: number) => void = () => undefined): DurableLambdaHandler {
  return withDurableExecution(async (input: Input, context) => {
    const end = await context.waitForCondition<{ readonly count: number }>(
      "count",
      async ({ count }) => {
        seen(count);
        return { count: count + 1 };
      },
      {
        initialState: { count: 0 },
        waitStrategy: ({ count }) => {
          const seconds = input.waits[count - 1];
          return seconds === undefined
            ? { shouldContinue: false }
            : { shouldContinue: true, delay: { seconds } };
        },
      },
    );
    if (input.fail !== undefined) throw new Error(input.fail);
    return end.count;
  });
}

async function settle(clock: VirtualClock, backend: DurableBackend): Promise<void> {
  await clock.advance(clock.now() + 86_400_000, () => backend.listRunning().length === 0);
}

function service(
  options: { handler?: DurableLambdaHandler; onCheckpoint?: (checkpoint: Checkpoint) => CheckpointFate } = {},
): { clock: VirtualClock; backend: DurableBackend } {
  const clock = new VirtualClock(START);
  const { handler = waiting(), ...rest } = options;
  return { clock, backend: new DurableBackend({ clock, handler, ...rest }) };
}

describe("a durable execution in virtual time", () => {
  test("suspends for each wait, keeps its state, and ends with what the handler returns", async () => {
    const counts: number[] = [];
    const { clock, backend } = service({ handler: waiting((count) => counts.push(count)) });
    backend.start("one", { waits: [3_600, 60] });
    await settle(clock, backend);
    expect(counts).toEqual([0, 1, 2]);
    expect(backend.execution("one")).toMatchObject({
      status: "SUCCEEDED",
      result: 3,
      invocations: 3,
      startedAt: START,
    });
    const took = (backend.execution("one")?.endedAt ?? 0) - START;
    expect(took).toBeGreaterThanOrEqual(3_660_000);
    expect(took).toBeLessThan(3_661_000);
  });

  test("that fails is told with its error, and its input is a dead letter", async () => {
    const { clock, backend } = service();
    backend.start("bad", { waits: [], fail: "gave up" });
    await settle(clock, backend);
    expect(backend.execution("bad")).toMatchObject({ status: "FAILED", error: "gave up" });
    expect(backend.deadLetters()).toEqual([{ waits: [], fail: "gave up" }]);
  });

  test.each([0, 0.5, -1])(
    "fails at once when it waits %s seconds: the service takes whole seconds, at least 1",
    async (wait) => {
      const { clock, backend } = service();
      backend.start("short", { waits: [wait] });
      await settle(clock, backend);
      expect(backend.execution("short")).toMatchObject({
        status: "FAILED",
        error: expect.stringContaining("whole seconds"),
      });
    },
  );

  test("whose handler throws what the SDK cannot hold is invoked again", async () => {
    let calls = 0;
    const inner = waiting();
    const { clock, backend } = service({
      handler: async (event, context) => {
        calls++;
        if (calls < 3) throw new Error("no environment");
        return inner(event, context);
      },
    });
    backend.start("one", { waits: [] });
    await settle(clock, backend);
    expect(backend.execution("one")).toMatchObject({ status: "SUCCEEDED", invocations: 3 });
  });

  test("that suspends with nothing to wait for fails with the service's own words, not silently", async () => {
    const { clock, backend } = service({ handler: async () => ({ Status: "PENDING" }) as never });
    backend.start("stuck", {});
    await settle(clock, backend);
    expect(backend.execution("stuck")).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("nothing to wait for"),
    });
  });
});

describe("an invocation that dies at a checkpoint", () => {
  test("before it repeats the check with the old state, after it goes on with the new one", async () => {
    const seenBy = async (fate: CheckpointFate): Promise<number[]> => {
      const counts: number[] = [];
      let crashes = 0;
      const { clock, backend } = service({
        handler: waiting((count) => counts.push(count)),
        onCheckpoint: ({ actions }) => (actions.includes("RETRY") && crashes++ === 0 ? fate : undefined),
      });
      backend.start("one", { waits: [5, 5] });
      await settle(clock, backend);
      expect(backend.execution("one")).toMatchObject({ status: "SUCCEEDED", result: 3 });
      return counts;
    };
    expect(await seenBy("crash-before")).toEqual([0, 0, 1, 2]);
    expect(await seenBy("crash-after")).toEqual([0, 1, 2]);
  });

  test("tells which execution it was, and counts over all of them", async () => {
    const seen: Checkpoint[] = [];
    const { clock, backend } = service({
      onCheckpoint: (checkpoint) => {
        seen.push(checkpoint);
        return undefined;
      },
    });
    backend.start("one", { waits: [] });
    backend.start("two", { waits: [] });
    await settle(clock, backend);
    expect(new Set(seen.map(({ execution }) => execution))).toEqual(new Set(["one", "two"]));
    expect(seen.map(({ number }) => number)).toEqual(seen.map((_, index) => index + 1));
  });
});

describe("names of executions", () => {
  test("with the same input are one execution, with another input already started, also after the end", async () => {
    const { clock, backend } = service();
    expect(backend.start("one", { waits: [60] })).toBe("started");
    expect(backend.start("one", { waits: [60] })).toBe("same");
    expect(backend.start("one", { waits: [61] })).toBe("already-started");
    expect(backend.listRunning()).toEqual(["one"]);
    await settle(clock, backend);
    expect(backend.listRunning()).toEqual([]);
    expect(backend.start("one", { waits: [60] })).toBe("same");
    expect(backend.start("one", { waits: [61] })).toBe("already-started");
    expect(backend.executions()).toHaveLength(1);
  });

  test.each(["", "a b", "x".repeat(65), "i-1/2"])("cannot be %j", (name) => {
    expect(() => service().backend.start(name, {})).toThrow(RangeError);
  });
});

describe("the port to the service", () => {
  const task: GoneTask = {
    kind: "gone",
    id: "gone-i-0a-1",
    cluster: "blue",
    group: "workers-a",
    instance: "i-0a",
    at: START,
    by: "event",
    state: "terminated",
  };

  test("starts and lists as Lambda does, through the faults", async () => {
    const clock = new VirtualClock(START);
    const faults = new SeededFaults(clock, new Random(1));
    const backend = new DurableBackend({
      clock,
      handler: async () => ({ Status: "PENDING" }) as never,
      faults,
    });
    const port = backend.executionsPort();
    faults.plan("executions.start", { kind: "fail", failure: "throttled" });
    faults.plan("executions.start", { kind: "lost-answer" });
    const seen = clock.actor("test", async () => {
      const kindOf = (error: unknown): unknown => (error as { kind?: unknown }).kind;
      return [
        await port.start(task.id, task).catch(kindOf),
        await port.start(task.id, task).catch(kindOf),
        await port.start(task.id, task),
        await port.start(task.id, { ...task, at: START + 1 }),
        await port.start("no name", task).catch(kindOf),
      ];
    });
    await clock.advance(START + 60_000);
    // The lost answer's start had its effect, and Lambda does not tell the same start from a new one.
    expect(await seen).toEqual(["throttled", "network", "started", "already-started", "rejected"]);
    expect(backend.executions().map(({ name }) => name)).toEqual([task.id]);
  });

  test("works on a real clock, and so does the service", async () => {
    const clock: Clock = new RealClock();
    const backend = new DurableBackend({ clock, handler: waiting() });
    const port = backend.executionsPort();
    expect(await port.start("one", { waits: [1] } as never)).toBe("started");
    expect(await port.listRunning()).toEqual(["one"]);
    while (backend.listRunning().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(backend.execution("one")).toMatchObject({ status: "SUCCEEDED", result: 2, invocations: 2 });
  });
});
