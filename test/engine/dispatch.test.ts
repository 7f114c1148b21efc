import { describe, expect, test } from "vitest";
import type { InstanceView } from "../../lib/drain/machine.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { SignalError } from "../../lib/drain/signal.ts";
import type { Task } from "../../lib/drain/task.ts";
import { workId } from "../../lib/drain/task.ts";
import type { DispatchDeps } from "../../lib/engine/dispatch.ts";
import { dispatch } from "../../lib/engine/dispatch.ts";
import { PortError } from "../../lib/engine/errors.ts";
import { ForeignInstances } from "../../lib/engine/foreign-instances.ts";
import { Recorder } from "./recorder.ts";

const AT = Date.parse("2026-11-02T09:30:00Z");
const LAUNCHED = AT - 86_400_000;
const OURS = "i-0aaaaaaaaaaaaaaaa";
const TOKEN = "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";

function event(detailType: string, detail: Record<string, unknown>): Record<string, unknown> {
  return {
    source: detailType.includes("Lifecycle") ? "aws.autoscaling" : "aws.ec2",
    "detail-type": detailType,
    time: "2026-11-02T09:30:00Z",
    account: "111122223333",
    region: "eu-west-1",
    detail,
  };
}

function terminate(differs: Record<string, unknown> = {}): Record<string, unknown> {
  return event("EC2 Instance-terminate Lifecycle Action", {
    AutoScalingGroupName: "workers-a",
    LifecycleHookName: "ebs-drain",
    LifecycleActionToken: TOKEN,
    EC2InstanceId: OURS,
    ...differs,
  });
}

const changed = (state: string, instance = OURS): Record<string, unknown> =>
  event("EC2 Instance State-change Notification", { "instance-id": instance, state });
const spotWarning = (instance = OURS): Record<string, unknown> =>
  event("EC2 Spot Instance Interruption Warning", {
    "instance-id": instance,
    "instance-action": "terminate",
  });
const scheduled = {
  source: "aws.events",
  "detail-type": "Scheduled Event",
  time: "2026-11-02T09:30:00Z",
  detail: {},
};

/** A region with EC2 and Lambda, which remember what they were asked. */
class Region {
  now = AT + 1_000;
  readonly asked: string[] = [];
  readonly names: string[] = [];
  readonly tasks: Task[] = [];
  sweeps = 0;
  failure: PortError | undefined;
  readonly instances = new Map<string, InstanceView>();
  readonly telemetry = new Recorder();
  readonly deps: DispatchDeps = {
    settings: { policy: DEFAULT_POLICY, clusters: [{ name: "blue", groups: ["workers-a", "workers-b"] }] },
    ec2: {
      describeInstance: async (id) => {
        this.asked.push(id);
        if (this.failure !== undefined) throw this.failure;
        return this.instances.get(id);
      },
    },
    executions: {
      start: async (name, task) => {
        if (this.names.includes(name)) return "already-started";
        this.names.push(name);
        this.tasks.push(task);
        return "started";
      },
    },
    foreign: new ForeignInstances(() => this.now),
    sweep: async () => {
      this.sweeps++;
      return {
        nodes: 3,
        running: 0,
        members: 3,
        started: [],
        alreadyStarted: [],
        undone: [],
        conflicts: [],
        failures: [],
      };
    },
    telemetry: this.telemetry,
    now: () => this.now,
    here: { account: "111122223333", region: "eu-west-1" },
  };

  constructor() {
    this.has(OURS, "workers-a");
  }

  has(id: string, group?: string, launchTime = LAUNCHED): void {
    this.instances.set(id, { id, launchTime, state: "running", ...(group === undefined ? {} : { group }) });
  }
}

describe("a lifecycle event of our hook", () => {
  test("starts the execution named by the work, with the machine's LaunchTime, and counts it", async () => {
    const region = new Region();
    const result = await dispatch(terminate(), region.deps);
    const id = workId({ kind: "lifecycle", instance: OURS, launchTime: LAUNCHED, token: TOKEN });
    expect(result).toEqual({
      kind: "started",
      task: {
        kind: "lifecycle",
        id,
        cluster: "blue",
        group: "workers-a",
        instance: OURS,
        launchTime: LAUNCHED,
        at: AT,
        by: "event",
        hook: "ebs-drain",
        token: TOKEN,
        destination: "EC2",
        replacesRootVolume: false,
      },
    });
    expect(region.names).toEqual([id]);
    expect(region.asked).toEqual([OURS]);
    expect(region.telemetry.metrics).toEqual([
      { name: "DrainsStarted", dimensions: { cluster: "blue", group: "workers-a" } },
    ]);
  });

  test("delivered ten times is one execution and one count (C5)", async () => {
    const region = new Region();
    const kinds: string[] = [];
    for (let delivery = 0; delivery < 10; delivery++) {
      kinds.push((await dispatch(terminate(), region.deps)).kind);
    }
    expect(kinds).toEqual(["started", ...Array.from({ length: 9 }, () => "already-started")]);
    expect(region.names).toHaveLength(1);
    expect(region.telemetry.count("DrainsStarted")).toBe(1);
  });

  test("of an instance that EC2 does not show starts work without LaunchTime", async () => {
    const region = new Region();
    region.instances.clear();
    const result = await dispatch(terminate(), region.deps);
    expect(result).toMatchObject({ kind: "started" });
    expect(region.tasks[0]).not.toHaveProperty("launchTime");
  });

  test("that came after the instance was started again does not take the new machine for the old one", async () => {
    const region = new Region();
    region.has(OURS, "workers-a", AT + 500);
    await dispatch(terminate(), region.deps);
    expect(region.tasks[0]).not.toHaveProperty("launchTime");
  });

  test.each([
    ["group", { AutoScalingGroupName: "others" }, "group others is not configured"],
    ["hook", { LifecycleHookName: "Terminate-LC-Hook" }, "hook Terminate-LC-Hook is not ours (ebs-drain)"],
  ])("of a foreign %s costs no call at all (D1, D2, C22)", async (_what, differs, reason) => {
    const region = new Region();
    expect(await dispatch(terminate(differs), region.deps)).toEqual({ kind: "foreign", reason });
    expect(region.asked).toEqual([]);
    expect(region.names).toEqual([]);
  });
});

describe("a spot warning or state change", () => {
  test("of an instance tagged with our group starts spot work until EC2 acts", async () => {
    const region = new Region();
    const result = await dispatch(spotWarning(), region.deps);
    expect(result).toMatchObject({
      kind: "started",
      task: {
        kind: "spot",
        id: workId({ kind: "spot", instance: OURS, launchTime: LAUNCHED }),
        cluster: "blue",
        group: "workers-a",
        launchTime: LAUNCHED,
        action: "terminate",
        until: AT + 120_000,
        by: "event",
      },
    });
  });

  test("of an instance tagged with our group starts gone work, once for all states of one end (C11)", async () => {
    const region = new Region();
    const first = await dispatch(changed("shutting-down"), region.deps);
    expect(first).toMatchObject({ kind: "started", task: { kind: "gone", state: "shutting-down" } });
    expect((await dispatch(changed("terminated"), region.deps)).kind).toBe("already-started");
    expect(region.names).toEqual([workId({ kind: "gone", instance: OURS, launchTime: LAUNCHED })]);
  });

  test("of the same instance after a start again is the new machine's: nothing remembered names the old one", async () => {
    const region = new Region();
    await dispatch(changed("stopped"), region.deps);
    region.has(OURS, "workers-a", AT - 1_000);
    const second = await dispatch(changed("stopped"), region.deps);
    expect(second).toMatchObject({ kind: "started", task: { launchTime: AT - 1_000 } });
    expect(region.names).toHaveLength(2);
  });

  test("that comes after the instance was started again is ignored, so that the new machine's own is not taken for it", async () => {
    const region = new Region();
    region.has(OURS, "workers-a", AT + 500);
    const late = await dispatch(changed("stopped"), region.deps);
    expect(late).toEqual({ kind: "ignored", reason: "late: the instance has been started again since" });
    expect(region.names).toEqual([]);
  });

  test.each([
    ["of another group", "others", "group others is not configured"],
    ["of no group", undefined, "in no group"],
  ])(
    "of an instance %s is foreign at the price of one call for all its events (D1, C9)",
    async (_of, group, reason) => {
      const region = new Region();
      const other = "i-0f0e1d2c3b4a59687";
      region.has(other, group);
      for (const state of ["stopping", "stopped", "shutting-down", "terminated"]) {
        expect(await dispatch(changed(state, other), region.deps)).toEqual({ kind: "foreign", reason });
      }
      expect(region.asked).toHaveLength(1);
      expect(region.names).toEqual([]);
      expect(region.telemetry.metrics).toEqual([]);
    },
  );

  test("asks again about a foreign instance after a minute", async () => {
    const region = new Region();
    const other = "i-0f0e1d2c3b4a59687";
    region.has(other, "others");
    await dispatch(spotWarning(other), region.deps);
    region.now += 60_000;
    region.has(other, "workers-b");
    expect((await dispatch(spotWarning(other), region.deps)).kind).toBe("started");
  });

  test("of an instance that EC2 does not show is foreign: no tag says that it was ours", async () => {
    const region = new Region();
    region.instances.clear();
    expect(await dispatch(changed("terminated"), region.deps)).toEqual({
      kind: "foreign",
      reason: "EC2 does not show the instance",
    });
  });
});

describe("every other exit", () => {
  test("the schedule runs one sweep (S5)", async () => {
    const region = new Region();
    expect(await dispatch(scheduled, region.deps)).toMatchObject({ kind: "swept", summary: { nodes: 3 } });
    expect(region.sweeps).toBe(1);
  });

  test("an ignored event is logged with its reason (S4, C12)", async () => {
    const region = new Region();
    const recommendation = event("EC2 Instance Rebalance Recommendation", { "instance-id": OURS });
    const result = await dispatch(recommendation, region.deps);
    expect(result.kind).toBe("ignored");
    expect(region.telemetry.lines).toEqual([
      expect.objectContaining({
        message: "dispatch",
        outcome: "ignored",
        reason: expect.stringContaining("not acted on"),
      }),
    ]);
    expect(region.asked).toEqual([]);
  });

  test("an event of another account is ignored (S8)", async () => {
    const region = new Region();
    expect((await dispatch({ ...terminate(), account: "999999999999" }, region.deps)).kind).toBe("ignored");
    expect(region.names).toEqual([]);
  });

  test("a broken event is thrown, so that it reaches the dead-letter queue, and logged (S6)", async () => {
    const region = new Region();
    await expect(dispatch(terminate({ EC2InstanceId: 7 }), region.deps)).rejects.toBeInstanceOf(SignalError);
    expect(region.telemetry.lines).toEqual([
      expect.objectContaining({
        message: "dispatch",
        outcome: "failed",
        error: expect.stringContaining("EC2InstanceId"),
      }),
    ]);
  });

  test.each([
    ["lifecycle", terminate()],
    ["gone", changed("terminated")],
  ])("a throttled EC2 makes a %s event come again: nothing is started on a guess", async (_kind, body) => {
    const region = new Region();
    region.failure = new PortError("throttled", "ec2.describeInstance", "slow down");
    await expect(dispatch(body, region.deps)).rejects.toMatchObject({ kind: "throttled" });
    expect(region.names).toEqual([]);
    region.failure = undefined;
    expect((await dispatch(body, region.deps)).kind).toBe("started");
  });

  test("an execution that cannot be started makes the event come again, and is not counted", async () => {
    const region = new Region();
    const failing = {
      ...region.deps,
      executions: {
        start: async () => {
          throw new PortError("server", "executions.start", "later");
        },
      },
    };
    await expect(dispatch(terminate(), failing)).rejects.toMatchObject({ operation: "executions.start" });
    expect(region.telemetry.metrics).toEqual([]);
    expect(region.telemetry.lines).toHaveLength(1);
  });

  test("each event has exactly one line, with what it was and what became of it", async () => {
    const region = new Region();
    region.has("i-0f0e1d2c3b4a59687", "others");
    for (const body of [terminate(), terminate(), changed("running"), spotWarning("i-0f0e1d2c3b4a59687")]) {
      await dispatch(body, region.deps);
    }
    expect(region.telemetry.lines.map(({ signal, outcome }) => [signal, outcome])).toEqual([
      ["lifecycle", "started"],
      ["lifecycle", "already-started"],
      ["ignored", "ignored"],
      ["spot", "foreign"],
    ]);
  });
});

describe("the memory of foreign instances", () => {
  test("holds 5,000 and drops the oldest", () => {
    const foreign = new ForeignInstances(() => AT);
    const view = (number: number): InstanceView => ({ id: `i-${number}`, launchTime: 0, state: "running" });
    for (let number = 0; number <= 5_000; number++) foreign.add(view(number));
    expect(foreign.get("i-0")).toBeUndefined();
    expect(foreign.get("i-1")).toEqual(view(1));
    expect(foreign.get("i-5000")).toEqual(view(5_000));
  });
});
