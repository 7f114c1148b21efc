import { describe, expect, test } from "vitest";
import type { NodeView } from "../../lib/drain/cluster.ts";
import type { GroupMemberView, InstanceState, InstanceView } from "../../lib/drain/machine.ts";
import { OUT_OF_SERVICE_TAINT } from "../../lib/drain/names.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { SweepObservation, SweepStep } from "../../lib/drain/sweep-plan.ts";
import { machinesToRead, planSweep } from "../../lib/drain/sweep-plan.ts";
import { sweepExecutionName, workId } from "../../lib/drain/task.ts";
import type { Work } from "../../lib/drain/work-order.ts";
import { formatWork } from "../../lib/drain/work-order.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");
const LAUNCHED = NOW - 86_400_000;
const ID = "i-0aaaaaaaaaaaaaaaa";
const TOKEN = "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";
const LIFECYCLE = workId({ kind: "lifecycle", instance: ID, launchTime: LAUNCHED, token: TOKEN });
const GONE = workId({ kind: "gone", instance: ID, launchTime: LAUNCHED });
const SPOT = workId({ kind: "spot", instance: ID, launchTime: LAUNCHED });

function node(differs: Partial<NodeView> = {}): NodeView {
  return {
    name: "ip-10-0-0-1",
    uid: "node-uid",
    resourceVersion: "7",
    providerId: `aws:///eu-west-1a/${ID}`,
    bootId: "boot-1",
    unschedulable: false,
    taints: [],
    hasAnnotations: true,
    ready: { status: "True", reason: "KubeletReady", message: "", since: LAUNCHED },
    volumesInUse: [],
    deleting: false,
    ...differs,
  };
}

function work(differs: Partial<Work> = {}): string {
  return formatWork({
    id: LIFECYCLE,
    bootID: "boot-1",
    group: "workers-a",
    hook: "ebs-drain",
    deadline: NOW + 3_600_000,
    cordoned: true,
    ignore: [],
    ...differs,
  });
}

const cordoned = (differs: Partial<Work> = {}): NodeView =>
  node({ unschedulable: true, work: work(differs) });
const taint = (value: string) => ({ key: OUT_OF_SERVICE_TAINT, value, effect: "NoExecute" as const });
const machine = (state: InstanceState, differs: Partial<InstanceView> = {}): InstanceView => ({
  id: ID,
  launchTime: LAUNCHED,
  state,
  group: "workers-a",
  ...differs,
});
const member = (lifecycleState: string, differs: Partial<GroupMemberView> = {}): GroupMemberView => ({
  instance: ID,
  group: "workers-a",
  lifecycleState,
  ...differs,
});

interface Seen {
  readonly nodes?: readonly NodeView[];
  readonly running?: readonly string[];
  readonly members?: readonly GroupMemberView[];
  readonly instances?: readonly InstanceView[];
}

function seen({ nodes = [], running = [], members = [], instances = [] }: Seen): SweepObservation {
  return {
    at: NOW,
    clusters: [{ name: "blue", groups: ["workers-a"], nodes: { kind: "read", value: nodes } }],
    running,
    members: { kind: "read", value: members },
    instances: { kind: "read", value: instances },
  };
}

const plan = (what: Seen): readonly SweepStep[] => planSweep(seen(what), DEFAULT_POLICY);
const FAILED = { kind: "failed", failure: { operation: "x", cause: "network", message: "" } } as const;

describe("a machine that waits in a hook with nobody at work", () => {
  test.each([
    ["Terminating:Wait", "EC2", false],
    ["Warmed:Terminating:Wait", "EC2", false],
    ["Warmed:Pending:Wait", "WarmPool", false],
    ["ReplacingRootVolume:Wait", "AutoScalingGroup", true],
  ] as const)("in %s gets lifecycle work to %s", (state, destination, replacesRootVolume) => {
    const id = workId({ kind: "lifecycle", instance: ID, launchTime: LAUNCHED });
    expect(plan({ members: [member(state)], instances: [machine("running")] })).toEqual([
      {
        kind: "start",
        name: sweepExecutionName(id, NOW, destination),
        reason: expect.stringContaining(state),
        task: {
          kind: "lifecycle",
          id,
          cluster: "blue",
          group: "workers-a",
          instance: ID,
          launchTime: LAUNCHED,
          at: NOW,
          by: "sweep",
          hook: "ebs-drain",
          destination,
          replacesRootVolume,
        },
      },
    ]);
  });

  test.each([
    "Pending",
    "Pending:Wait",
    "InService",
    "Standby",
    "Terminating",
    "Terminating:Proceed",
    "Terminating:Retained",
    "Warmed:Stopped",
    "ReplacingRootVolume",
    "toString",
  ])("in %s there is no hook of ours to work for", (state) => {
    expect(plan({ members: [member(state)], instances: [machine("running")] })).toEqual([]);
  });

  test.each([
    ["the event's execution", LIFECYCLE],
    [
      "an earlier sweep's",
      sweepExecutionName(workId({ kind: "lifecycle", instance: ID, launchTime: LAUNCHED }), NOW),
    ],
    ["one begun without LaunchTime", workId({ kind: "lifecycle", instance: ID, token: TOKEN })],
  ])("is left to %s", (_who, name) => {
    expect(
      plan({ running: [name], members: [member("Terminating:Wait")], instances: [machine("running")] }),
    ).toEqual([]);
  });

  test.each([
    ["spot work", SPOT],
    ["another machine's work", LIFECYCLE.replace("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")],
    ["an execution of somebody else's name", `report-${ID}`],
  ])("is not left to %s", (_who, name) => {
    expect(
      plan({ running: [name], members: [member("Terminating:Wait")], instances: [machine("running")] }),
    ).toHaveLength(1);
  });

  test("takes the token from the open order of that machine, and with it the order's own work id (D2)", () => {
    const [step] = plan({
      nodes: [cordoned({ token: TOKEN, handedOver: "csi-pod" })],
      members: [member("Terminating:Wait")],
      instances: [machine("running")],
    });
    expect(step).toMatchObject({ task: { token: TOKEN, id: LIFECYCLE } });
  });

  test.each<[string, Partial<Work>]>([
    ["of another boot", { bootID: "boot-0" }],
    [
      "of an earlier machine of that id",
      { id: workId({ kind: "lifecycle", instance: ID, launchTime: 0, token: TOKEN }) },
    ],
    ["of another group", { group: "workers-b" }],
    ["of another hook", { hook: "older-hook" }],
  ])("takes no token from an order %s", (_of, differs) => {
    const [step] = plan({
      nodes: [cordoned({ token: TOKEN, handedOver: "csi-pod", ...differs })],
      members: [member("Terminating:Wait")],
      instances: [machine("running")],
    });
    expect(step?.kind === "start" && step.task).not.toHaveProperty("token");
  });

  test("that EC2 does not show gets work without LaunchTime", () => {
    const [step] = plan({ members: [member("Terminating:Wait")] });
    expect(step).toMatchObject({ kind: "start", task: { id: workId({ kind: "lifecycle", instance: ID }) } });
    expect(step?.kind === "start" && step.task).not.toHaveProperty("launchTime");
  });

  test("gets work although its cluster could not be read: the action's time runs (D17)", () => {
    const observation = seen({ members: [member("Terminating:Wait")], instances: [machine("running")] });
    const blind = { ...observation, clusters: [{ name: "blue", groups: ["workers-a"], nodes: FAILED }] };
    expect(planSweep(blind, DEFAULT_POLICY)).toMatchObject([{ kind: "start", task: { cluster: "blue" } }]);
  });

  test("in a group that is not ours is nobody we know (D1)", () => {
    expect(
      plan({ members: [member("Terminating:Wait", { group: "others" })], instances: [machine("running")] }),
    ).toEqual([]);
  });
});

describe("a machine that is gone with work on its Node", () => {
  test.each<InstanceState>(["shutting-down", "stopping", "stopped", "terminated"])(
    "and %s gets gone work (D14)",
    (state) => {
      expect(plan({ nodes: [cordoned()], instances: [machine(state)] })).toEqual([
        {
          kind: "start",
          name: sweepExecutionName(GONE, NOW),
          reason: expect.stringContaining(state),
          task: {
            kind: "gone",
            id: GONE,
            cluster: "blue",
            group: "workers-a",
            instance: ID,
            launchTime: LAUNCHED,
            at: NOW,
            by: "sweep",
            state,
          },
        },
      ]);
    },
  );

  test.each<[string, Seen]>([
    ["pending", { nodes: [cordoned()], instances: [machine("pending")] }],
    ["not shown by EC2: that proves nothing", { nodes: [cordoned()], instances: [] }],
    ["at work already", { nodes: [cordoned()], running: [GONE], instances: [machine("terminated")] }],
    [
      "another machine than the order's",
      { nodes: [cordoned()], instances: [machine("stopped", { launchTime: NOW })] },
    ],
    ["without an order", { nodes: [node({ taints: [taint(GONE)] })], instances: [machine("terminated")] }],
    [
      "under an order that cannot be read",
      { nodes: [node({ work: "later" })], instances: [machine("terminated")] },
    ],
    [
      "of no group",
      { nodes: [cordoned()], instances: [{ id: ID, launchTime: LAUNCHED, state: "terminated" }] },
    ],
    ["of another's group", { nodes: [cordoned()], instances: [machine("terminated", { group: "others" })] }],
  ])("gets none when it is %s", (_when, what) => {
    expect(plan(what)).toEqual([]);
  });

  test("gets gone work although a lifecycle execution still runs: they are two kinds of work", () => {
    expect(
      plan({ nodes: [cordoned()], running: [LIFECYCLE], instances: [machine("terminated")] }),
    ).toMatchObject([{ kind: "start", task: { kind: "gone" } }]);
  });

  test("gets gone work by an order of an earlier boot too: the machine is the same", () => {
    expect(
      plan({ nodes: [cordoned({ bootID: "boot-0" })], instances: [machine("terminated")] }),
    ).toMatchObject([{ kind: "start", task: { kind: "gone" } }]);
  });

  test("is ours by the group it is in now where it has no tag (D1)", () => {
    expect(
      plan({
        nodes: [cordoned()],
        members: [member("Terminating:Proceed")],
        instances: [{ id: ID, launchTime: LAUNCHED, state: "shutting-down" }],
      }),
    ).toMatchObject([{ kind: "start", task: { group: "workers-a" } }]);
  });
});

describe("what is left of ours on a Node in service", () => {
  const inService = { members: [member("InService")], instances: [machine("running")] };
  const uncordon = { op: "replace", path: "/spec/unschedulable", value: false };
  const patchOf = (steps: readonly SweepStep[]): unknown =>
    steps[0]?.kind === "undo" ? steps[0].patch : steps;

  test("is undone in one patch that tests the Node's uid and the order it removes (D15, I8)", () => {
    const left = cordoned();
    expect(plan({ nodes: [left], ...inService })).toEqual([
      {
        kind: "undo",
        cluster: "blue",
        node: { name: "ip-10-0-0-1", uid: "node-uid" },
        instance: ID,
        reason: "in service without open work; the cordon is ours",
        patch: [
          { op: "test", path: "/metadata/uid", value: "node-uid" },
          uncordon,
          { op: "test", path: "/metadata/annotations/ebs-drain.dev~1work", value: left.work },
          { op: "remove", path: "/metadata/annotations/ebs-drain.dev~1work" },
        ],
      },
    ]);
  });

  test("is undone for an order of another boot too, cordon included", () => {
    expect(patchOf(plan({ nodes: [cordoned({ bootID: "boot-0" })], ...inService }))).toContainEqual(uncordon);
  });

  test("leaves an operator's cordon under our order alone: only the order goes", () => {
    const patch = patchOf(plan({ nodes: [cordoned({ cordoned: false })], ...inService }));
    expect(patch).not.toContainEqual(uncordon);
    expect(patch).toContainEqual({ op: "remove", path: "/metadata/annotations/ebs-drain.dev~1work" });
  });

  test("is nothing where only a cordon is: it is an operator's", () => {
    expect(plan({ nodes: [node({ unschedulable: true })], ...inService })).toEqual([]);
  });

  test("takes off our out-of-service taint, by index and under the resourceVersion, and no other taint", () => {
    const others = { key: "dedicated", value: "db", effect: "NoSchedule" as const };
    const patch = patchOf(plan({ nodes: [node({ taints: [others, taint(GONE)] })], ...inService }));
    expect(patch).toEqual([
      { op: "test", path: "/metadata/uid", value: "node-uid" },
      { op: "test", path: "/metadata/resourceVersion", value: "7" },
      { op: "remove", path: "/spec/taints/1" },
    ]);
  });

  test("leaves an out-of-service taint that somebody else set", () => {
    expect(plan({ nodes: [node({ taints: [taint("nodeshutdown")] })], ...inService })).toEqual([]);
  });

  test("leaves an order that cannot be read, and the cordon with it, but not a taint of ours", () => {
    const unreadable = node({ unschedulable: true, work: "{" });
    expect(plan({ nodes: [unreadable], ...inService })).toEqual([]);
    expect(patchOf(plan({ nodes: [{ ...unreadable, taints: [taint(GONE)] }], ...inService }))).toEqual([
      { op: "test", path: "/metadata/uid", value: "node-uid" },
      { op: "test", path: "/metadata/resourceVersion", value: "7" },
      { op: "remove", path: "/spec/taints/0" },
    ]);
  });

  test.each([
    ["its own execution", LIFECYCLE],
    ["gone work", GONE],
    ["spot work", SPOT],
    ["the sweep's own", sweepExecutionName(LIFECYCLE, NOW)],
  ])("stays while %s runs for the instance", (_who, name) => {
    expect(plan({ nodes: [cordoned()], running: [name], ...inService })).toEqual([]);
  });

  test("of a spot notice stays until its time has come, and goes then (D16)", () => {
    const notice = (deadline: number): NodeView => cordoned({ id: SPOT, deadline });
    expect(plan({ nodes: [notice(NOW + 1)], ...inService })).toEqual([]);
    expect(plan({ nodes: [notice(NOW)], ...inService })).toHaveLength(1);
  });

  test.each<[string, Seen]>([
    ["waits in Standby", { members: [member("Standby")], instances: [machine("running")] }],
    ["is terminating", { members: [member("Terminating")], instances: [machine("running")] }],
    ["is not running in EC2", { members: [member("InService")], instances: [machine("pending")] }],
    ["is not shown by EC2", { members: [member("InService")], instances: [] }],
    ["is in no group (D1)", { members: [], instances: [machine("running")] }],
    [
      "is in a group of others (D1)",
      { members: [member("InService", { group: "x" })], instances: [machine("running")] },
    ],
  ])("is not touched while the machine %s", (_while, what) => {
    expect(plan({ nodes: [cordoned()], ...what })).toEqual([]);
  });

  test("is not touched on a Node whose provider id names no instance", () => {
    const { providerId: _none, ...nameless } = cordoned();
    expect(plan({ nodes: [nameless], ...inService })).toEqual([]);
    expect(plan({ nodes: [{ ...nameless, providerId: "kind://docker/kind/worker" }], ...inService })).toEqual(
      [],
    );
  });
});

describe("what EC2 is asked about", () => {
  test("is machines of Nodes with something of ours, and waiting members, each once", () => {
    const observation = seen({
      nodes: [
        cordoned(),
        node({ name: "plain", providerId: "aws:///eu-west-1a/i-0b" }),
        node({ name: "tainted", providerId: "aws:///eu-west-1a/i-0c", taints: [taint(GONE)] }),
        node({ name: "nobody", work: work(), providerId: "azure:///vm" }),
      ],
      members: [member("Terminating:Wait"), member("InService", { instance: "i-0d" })],
    });
    expect(machinesToRead(observation)).toEqual([ID, "i-0c"]);
  });

  test("leaves nothing to plan where it could not be asked", () => {
    const observation = seen({ nodes: [cordoned()], members: [member("Terminating:Wait")] });
    expect(planSweep({ ...observation, instances: FAILED }, DEFAULT_POLICY)).toEqual([]);
  });

  test("is enough for gone work where Auto Scaling could not be asked, and undoes nothing", () => {
    const gone = seen({ nodes: [cordoned()], instances: [machine("terminated")] });
    expect(planSweep({ ...gone, members: FAILED }, DEFAULT_POLICY)).toHaveLength(1);
    const running = seen({ nodes: [cordoned()], instances: [machine("running")] });
    expect(planSweep({ ...running, members: FAILED }, DEFAULT_POLICY)).toEqual([]);
  });
});

describe("the plan", () => {
  test("starts work before it undoes anything: a waiting machine's time runs", () => {
    const other = "i-0bbbbbbbbbbbbbbbb";
    const steps = plan({
      nodes: [cordoned()],
      members: [member("InService"), member("Terminating:Wait", { instance: other })],
      instances: [machine("running"), machine("running", { id: other })],
    });
    expect(steps.map((step) => step.kind)).toEqual(["start", "undo"]);
  });
});
