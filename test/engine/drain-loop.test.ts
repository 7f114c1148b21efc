import { describe, expect, test } from "vitest";
import { ownDeadline } from "../../lib/drain/deadline.ts";
import type { Next } from "../../lib/drain/decision.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { LifecycleTask, Task } from "../../lib/drain/task.ts";
import type { DrainLoop, DrainState } from "../../lib/engine/drain-loop.ts";
import {
  GaveUp,
  MOST_TURNS,
  initialState,
  resultOf,
  secondsToNext,
  turn,
} from "../../lib/engine/drain-loop.ts";
import type { FailureKind } from "../../lib/engine/errors.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type { LifecycleActionRef } from "../../lib/engine/ports.ts";
import { quietDecision } from "../telemetry/quiet-look.ts";
import { Recorder } from "./recorder.ts";

const START = Date.parse("2026-11-02T09:30:00Z");
const BUG = new TypeError("pod.spec is undefined");

const LIFECYCLE: LifecycleTask = {
  kind: "lifecycle",
  id: "lifecycle-i-0a-t5x2y0-00c0ffee",
  cluster: "blue",
  group: "workers-a",
  instance: "i-0a",
  at: START,
  by: "event",
  hook: "ebs-drain",
  token: "token",
  destination: "EC2",
  replacesRootVolume: false,
};
const SPOT: Task = {
  kind: "spot",
  id: "spot-i-0a-t5x2y0",
  cluster: "blue",
  group: "workers-a",
  instance: "i-0a",
  at: START,
  by: "event",
  action: "terminate",
  until: START + 120_000,
};

/** A loop whose looks the test scripts; the lifecycle action remembers its beats and results. */
class Script {
  now = START + 1_000;
  readonly looks: Memory[] = [];
  readonly beats: number[] = [];
  readonly actions: LifecycleActionRef[] = [];
  readonly results: string[] = [];
  readonly telemetry = new Recorder();
  next: Next | Error = { kind: "again", inSeconds: 10 };
  action: FailureKind | undefined;
  memory: Partial<Memory> = {};
  readonly loop: DrainLoop;

  constructor(task: Task = LIFECYCLE) {
    this.loop = {
      task,
      policy: DEFAULT_POLICY,
      look: async (_task, memory) => {
        this.looks.push(memory);
        if (this.next instanceof Error) throw this.next;
        return {
          memory: { ...memory, looks: memory.looks + 1, ...this.memory },
          next: this.next,
          decision: quietDecision(this.now),
        };
      },
      autoScaling: {
        heartbeat: async (action) => {
          this.fail("autoScaling.heartbeat");
          this.actions.push(action);
          this.beats.push(this.now);
        },
        complete: async (action, result) => {
          this.fail("autoScaling.complete");
          this.results.push(`${action.token} ${result}`);
        },
      },
      telemetry: this.telemetry,
      now: () => this.now,
    };
  }

  fail(operation: string): void {
    if (this.action !== undefined) throw new PortError(this.action, operation, this.action);
  }

  /** Turns until the end, or this many; the clock follows the waits. */
  async run(turns: number, state: DrainState = initialState(this.loop.task)): Promise<DrainState> {
    let current = state;
    for (let count = 0; count < turns && current.next.kind === "again"; count++) {
      current = await turn(current, this.loop);
      this.now += (secondsToNext(current) ?? 0) * 1_000;
    }
    return current;
  }
}

describe("a turn", () => {
  test("hands the look what the look before remembered, and takes what comes next from it", async () => {
    const script = new Script();
    const state = await script.run(3);
    expect(script.looks.map((memory) => memory.looks)).toEqual([0, 1, 2]);
    expect(state).toMatchObject({
      turns: 3,
      failures: 0,
      memory: { looks: 3 },
      next: { kind: "again", inSeconds: 10 },
    });
  });

  test("ends with the look's own outcome", async () => {
    const script = new Script();
    script.next = { kind: "done", outcome: "completed", reason: "nothing blocks" };
    const state = await script.run(5);
    expect(script.looks).toHaveLength(1);
    expect(resultOf(state, LIFECYCLE)).toEqual({
      work: LIFECYCLE.id,
      outcome: "completed",
      reason: "nothing blocks",
      looks: 1,
    });
  });

  test("has state that survives JSON unchanged: it is the durable state", async () => {
    const script = new Script();
    script.next = BUG;
    const state = await script.run(2);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  });

  test("has an initial state that reads no clock: a replay comes to the same", () => {
    expect(initialState(LIFECYCLE)).toEqual(initialState(LIFECYCLE));
    expect(initialState(LIFECYCLE).memory.progress.at).toBe(START);
  });
});

describe("the wait to the next turn", () => {
  test.each([
    [10, 10],
    [0.2, 1],
    [0, 1],
    [-5, 1],
    [2.5, 3],
    [Number.NaN, 30],
    [Number.POSITIVE_INFINITY, 30],
  ])("of %s s is %s whole seconds", (inSeconds, whole) => {
    const state = { ...initialState(LIFECYCLE), next: { kind: "again" as const, inSeconds } };
    expect(secondsToNext(state)).toBe(whole);
  });

  test("is none at the end", () => {
    const next = { kind: "done", outcome: "completed", reason: "" } as const;
    expect(secondsToNext({ ...initialState(LIFECYCLE), next })).toBeUndefined();
  });
});

describe("a look that throws", () => {
  test("is tried again after 5, 10, 20, then 30 s with the memory as it was, each time told as a bug", async () => {
    const script = new Script();
    await script.run(1);
    script.next = BUG;
    const waits: (number | undefined)[] = [];
    let state = await script.run(1, await script.run(1));
    for (let count = 0; count < 6; count++) {
      waits.push(secondsToNext(state));
      state = await script.run(1, state);
    }
    expect(waits).toEqual([10, 20, 30, 30, 30, 30]);
    expect(state.memory.looks).toBe(0);
    expect(state).toMatchObject({ lastError: "TypeError: pod.spec is undefined" });
    expect(script.telemetry.lines[0]).toMatchObject({
      message: "a look threw",
      work: LIFECYCLE.id,
      failures: 1,
      inSeconds: 5,
      stack: expect.any(String),
    });
    expect(script.telemetry.metrics[0]).toEqual({ name: "ApiErrors", dimensions: { cause: "bug" } });
  });

  test("and then succeeds goes on as if nothing had been", async () => {
    const script = new Script();
    script.next = BUG;
    const broken = await script.run(2);
    expect(broken).toMatchObject({ failures: 2 });
    script.next = { kind: "again", inSeconds: 15 };
    const mended = await script.run(1, broken);
    expect(mended).toMatchObject({ failures: 0, turns: 3, next: { kind: "again", inSeconds: 15 } });
    expect(mended).not.toHaveProperty("lastError");
  });

  test("does not let the lifecycle action run out: it is beaten every quarter of its timeout (D6, C16)", async () => {
    const script = new Script();
    script.next = BUG;
    await script.run(30);
    const gaps = script.beats.slice(1).map((at, index) => at - (script.beats[index] ?? 0));
    expect(script.beats.length).toBeGreaterThan(5);
    expect(script.actions[0]).toEqual({
      group: "workers-a",
      hook: "ebs-drain",
      instance: "i-0a",
      token: "token",
    });
    expect(Math.max(...gaps)).toBeLessThanOrEqual((DEFAULT_POLICY.heartbeatTimeout * 1_000) / 2);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual((DEFAULT_POLICY.heartbeatTimeout * 1_000) / 4);
  });

  test("beats again at the next turn where a beat failed (C19)", async () => {
    const script = new Script();
    script.next = BUG;
    script.action = "throttled";
    const state = await script.run(1);
    script.action = undefined;
    await script.run(1, state);
    expect(script.beats).toHaveLength(1);
  });

  test.each<[string, Task, Partial<Memory>]>([
    ["spot work", SPOT, {}],
    ["work without a token (D2)", { ...LIFECYCLE, by: "sweep", token: undefined } as unknown as Task, {}],
    ["an action that was completed", LIFECYCLE, { action: "completed" }],
    ["an action that is over", LIFECYCLE, { action: "over" }],
  ])("beats nothing for %s", async (_of, task, memory) => {
    const script = new Script(task);
    const state = initialState(task);
    script.next = BUG;
    await script.run(3, { ...state, memory: { ...state.memory, ...memory } });
    expect(script.beats).toEqual([]);
  });

  test("and telemetry that throws too still make a turn, not a throw", async () => {
    const script = new Script();
    script.next = BUG;
    const loop: DrainLoop = {
      ...script.loop,
      telemetry: {
        look: () => undefined,
        log: () => {
          throw new Error("stream closed");
        },
        metric: () => {
          throw new Error("stream closed");
        },
      },
    };
    expect(await turn(initialState(LIFECYCLE), loop)).toMatchObject({ failures: 1, next: { kind: "again" } });
  });
});

describe("a loop without end", () => {
  const limit = ownDeadline(LIFECYCLE, DEFAULT_POLICY) + DEFAULT_POLICY.margin * 1_000;

  test("gives up past its deadline and margin, gives the action its explicit result, and fails (D13, C16, I2)", async () => {
    const script = new Script();
    script.next = BUG;
    const state = await script.run(2_000);
    expect(script.now).toBeGreaterThan(limit);
    expect(script.now).toBeLessThanOrEqual(limit + 60_000);
    expect(script.results).toEqual(["token CONTINUE"]);
    expect(() => resultOf(state, LIFECYCLE)).toThrow(GaveUp);
    expect(() => resultOf(state, LIFECYCLE)).toThrow("pod.spec is undefined");
    expect(script.telemetry.metrics).toContainEqual({
      name: "DrainDeadlines",
      dimensions: { outcome: "gave-up" },
    });
    expect(script.telemetry.lines).toContainEqual(
      expect.objectContaining({ message: "gave up", action: "completed CONTINUE" }),
    );
  });

  test("gives up where looks succeed but never end", async () => {
    const script = new Script();
    script.next = { kind: "again", inSeconds: 30 };
    const state = await script.run(2_000);
    expect(state.next).toMatchObject({ kind: "done", outcome: "gave-up" });
    expect(script.results).toEqual(["token CONTINUE"]);
  });

  test("gives up after 1,000 looks without completing anything: the deadline has not come (I1, I6)", async () => {
    const script = new Script();
    script.next = { kind: "again", inSeconds: 1 };
    const state = await script.run(5_000);
    expect(script.looks).toHaveLength(MOST_TURNS);
    expect(script.now).toBeLessThan(limit);
    expect(script.results).toEqual([]);
    expect(() => resultOf(state, LIFECYCLE)).toThrow("no end after 1000 looks");
    expect(script.telemetry.lines).toContainEqual(
      expect.objectContaining({ message: "gave up", action: "left to the sweep" }),
    );
  });

  test.each<[FailureKind, string]>([
    ["no-active-action", "completed CONTINUE"],
    ["throttled", "left to the sweep"],
  ])("whose last completion fails with %s says: %s (C18, C20)", async (failure, action) => {
    const script = new Script();
    script.next = BUG;
    script.action = failure;
    const state = await script.run(2_000);
    expect(state.next).toMatchObject({ outcome: "gave-up" });
    expect(script.telemetry.lines).toContainEqual(expect.objectContaining({ message: "gave up", action }));
  });

  test("that begins late, from a dead letter, has its margin from its own start", async () => {
    const script = new Script();
    script.now = limit + 86_400_000;
    script.next = { kind: "again", inSeconds: 10 };
    const begun = script.now;
    const state = await script.run(2_000);
    expect(state.next).toMatchObject({ outcome: "gave-up" });
    expect(script.looks.length).toBeGreaterThan(3);
    expect(script.now - begun).toBeLessThanOrEqual((DEFAULT_POLICY.margin + 20) * 1_000);
  });

  test("of gone work ends 15 minutes and the margin after its event (I6)", async () => {
    const gone: Task = {
      ...SPOT,
      kind: "gone",
      id: "gone-i-0a-t5x2y0",
      state: "terminated",
    } as unknown as Task;
    const script = new Script(gone);
    script.next = { kind: "again", inSeconds: 30 };
    await script.run(2_000);
    expect(script.now - START).toBeLessThanOrEqual(15 * 60_000 + DEFAULT_POLICY.margin * 1_000 + 60_000);
    expect(script.results).toEqual([]);
  });
});

test("a result is not asked of work that goes on", () => {
  expect(() => resultOf(initialState(LIFECYCLE), LIFECYCLE)).toThrow(RangeError);
});
