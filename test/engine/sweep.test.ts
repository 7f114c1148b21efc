import { describe, expect, test } from "vitest";
import type { NodeView, PatchOperation } from "../../lib/drain/cluster.ts";
import type { GroupMemberView, InstanceView } from "../../lib/drain/machine.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { Task } from "../../lib/drain/task.ts";
import { sweepExecutionName, workId } from "../../lib/drain/task.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import type { FailureKind } from "../../lib/engine/errors.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type { NodeEvent } from "../../lib/engine/ports.ts";
import type { SweepDeps } from "../../lib/engine/sweep.ts";
import { SweepFailed, sweep } from "../../lib/engine/sweep.ts";
import { Recorder } from "./recorder.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");
const LAUNCHED = NOW - 86_400_000;

/** Two clusters and a region, which remember the order in which they were asked. `failing` makes an operation fail. */
class World {
  readonly asked: string[] = [];
  readonly nodes = new Map<string, NodeView[]>([
    ["blue", []],
    ["green", []],
  ]);
  readonly running: string[] = [];
  readonly members: GroupMemberView[] = [];
  readonly instances: InstanceView[] = [];
  readonly started = new Map<string, Task>();
  readonly patches: { readonly node: string; readonly patch: readonly PatchOperation[] }[] = [];
  readonly events: NodeEvent[] = [];
  readonly failing = new Map<string, FailureKind | Error>();
  readonly telemetry = new Recorder();
  now = NOW;

  readonly deps: SweepDeps = {
    settings: {
      policy: DEFAULT_POLICY,
      clusters: [
        { name: "blue", groups: ["workers-a"] },
        { name: "green", groups: ["workers-b", "workers-c"] },
      ],
    },
    clusterOf: ({ name }) => ({
      listNodes: async () => this.answer(`${name} listNodes`, this.nodes.get(name) ?? []),
      patchNode: async (node, patch) => {
        this.answer(`${name} patchNode`, undefined);
        this.patches.push({ node: `${name}/${node}`, patch });
        return nodeView("after", "i-0", {});
      },
      recordEvent: async (event) => {
        this.answer(`${name} recordEvent`, undefined);
        this.events.push(event);
      },
    }),
    executions: {
      listRunning: async () => this.answer("listRunning", this.running),
      start: async (name, task) => {
        this.answer("start", undefined);
        if (this.started.has(name)) return "already-started";
        this.started.set(name, task);
        return "started";
      },
    },
    autoScaling: {
      listMembers: async (groups) => this.answer(`listMembers ${groups.join(",")}`, this.members),
    },
    ec2: {
      describeInstances: async (ids) =>
        this.answer(
          `describeInstances ${ids.join(",")}`,
          this.instances.filter((view) => ids.includes(view.id)),
        ),
    },
    telemetry: this.telemetry,
    now: () => this.now,
  };

  answer<T>(operation: string, value: T): T {
    this.asked.push(operation);
    const failure = [...this.failing].find(([prefix]) => operation.startsWith(prefix))?.[1];
    if (failure instanceof Error) throw failure;
    if (failure !== undefined) throw new PortError(failure, operation, `${operation}: ${failure}`);
    return value;
  }

  waits(instance: string, group: string): void {
    this.members.push({ instance, group, lifecycleState: "Terminating:Wait" });
    this.instances.push({ id: instance, launchTime: LAUNCHED, state: "running", group });
  }

  /** A machine in service whose Node still has a cordon and an order of ours. */
  leftOver(cluster: string, instance: string, group: string): void {
    this.members.push({ instance, group, lifecycleState: "InService" });
    this.instances.push({ id: instance, launchTime: LAUNCHED, state: "running", group });
    const id = workId({ kind: "lifecycle", instance, launchTime: LAUNCHED, token: "t" });
    const work = { id, bootID: "boot", group, deadline: NOW + 1, cordoned: true, ignore: [] };
    this.nodes
      .get(cluster)
      ?.push(nodeView(`node-of-${instance}`, instance, { unschedulable: true, work: formatWork(work) }));
  }
}

function nodeView(name: string, instance: string, differs: Partial<NodeView>): NodeView {
  return {
    name,
    uid: `uid-of-${name}`,
    resourceVersion: "1",
    providerId: `aws:///eu-west-1a/${instance}`,
    bootId: "boot",
    unschedulable: false,
    taints: [],
    hasAnnotations: true,
    ready: { status: "True", reason: "KubeletReady", message: "", since: 0 },
    volumesInUse: [],
    deleting: false,
    ...differs,
  };
}

const idOf = (instance: string): string => workId({ kind: "lifecycle", instance, launchTime: LAUNCHED });

describe("a sweep", () => {
  test("reads Nodes before running executions, and both before Auto Scaling and EC2, each once", async () => {
    const world = new World();
    world.waits("i-0a", "workers-a");
    await sweep(world.deps);
    expect(world.asked).toEqual([
      "blue listNodes",
      "green listNodes",
      "listRunning",
      "listMembers workers-a,workers-b,workers-c",
      "describeInstances i-0a",
      "start",
    ]);
  });

  test("asks EC2 nothing where nothing waits and nothing is left", async () => {
    const world = new World();
    world.nodes.get("blue")?.push(nodeView("plain", "i-0f", {}));
    const summary = await sweep(world.deps);
    expect(world.asked).not.toContainEqual(expect.stringContaining("describeInstances"));
    expect(summary).toMatchObject({ nodes: 1, started: [], undone: [], failures: [] });
  });

  test("starts work for a waiting machine, counts it, and says so in one summary line", async () => {
    const world = new World();
    world.waits("i-0b", "workers-b");
    const summary = await sweep(world.deps);
    expect(summary).toMatchObject({ members: 1, started: [idOf("i-0b")] });
    expect([...world.started.keys()]).toEqual([sweepExecutionName(idOf("i-0b"), NOW)]);
    expect([...world.started.values()][0]).toMatchObject({ cluster: "green", by: "sweep", at: NOW });
    expect(world.telemetry.metrics).toEqual([
      { name: "DrainsStarted", dimensions: { cluster: "green", group: "workers-b" } },
    ]);
    expect(world.telemetry.lines.filter((line) => line["message"] === "sweep")).toEqual([
      { message: "sweep", ...summary },
    ]);
  });

  test("starts the same work again only in the next ten minutes, when the first execution has ended", async () => {
    const world = new World();
    world.waits("i-0a", "workers-a");
    await sweep(world.deps);
    world.now += 60_000;
    expect(await sweep(world.deps)).toMatchObject({ started: [], alreadyStarted: [idOf("i-0a")] });
    world.now += 600_000;
    expect(await sweep(world.deps)).toMatchObject({ started: [idOf("i-0a")], alreadyStarted: [] });
    expect(world.telemetry.count("DrainsStarted")).toBe(2);
  });

  test("undoes what is left of ours and writes one Event on the Node (I8, C12)", async () => {
    const world = new World();
    world.leftOver("green", "i-0c", "workers-c");
    expect(await sweep(world.deps)).toMatchObject({ undone: ["green/node-of-i-0c"], failures: [] });
    expect(world.patches).toEqual([
      {
        node: "green/node-of-i-0c",
        patch: expect.arrayContaining([{ op: "replace", path: "/spec/unschedulable", value: false }]),
      },
    ]);
    expect(world.events).toEqual([
      expect.objectContaining({
        node: "node-of-i-0c",
        nodeUid: "uid-of-node-of-i-0c",
        reason: "DrainCalledOff",
      }),
    ]);
  });

  test("leaves a Node that somebody changed meanwhile to the next sweep", async () => {
    const world = new World();
    world.leftOver("blue", "i-0a", "workers-a");
    world.failing.set("blue patchNode", "conflict");
    expect(await sweep(world.deps)).toMatchObject({
      undone: [],
      conflicts: ["blue/node-of-i-0a"],
      failures: [],
    });
    expect(world.events).toEqual([]);
    world.failing.clear();
    expect(await sweep(world.deps)).toMatchObject({ undone: ["blue/node-of-i-0a"], conflicts: [] });
  });

  test("has undone what it undid although the Event could not be written", async () => {
    const world = new World();
    world.leftOver("blue", "i-0a", "workers-a");
    world.failing.set("blue recordEvent", "forbidden");
    expect(await sweep(world.deps)).toMatchObject({ undone: ["blue/node-of-i-0a"], failures: [] });
    expect(world.telemetry.lines).toContainEqual(expect.objectContaining({ message: "sweep: no Event" }));
  });

  test("goes on with the other steps when one fails", async () => {
    const world = new World();
    world.waits("i-0b", "workers-b");
    world.leftOver("blue", "i-0a", "workers-a");
    world.failing.set("start", "throttled");
    expect(await sweep(world.deps)).toMatchObject({
      started: [],
      undone: ["blue/node-of-i-0a"],
      failures: [expect.stringContaining("throttled")],
    });
  });
});

describe("a sweep in trouble", () => {
  test.each<[FailureKind, string]>([
    ["network", "network"],
    ["server", "network"],
    ["throttled", "network"],
    ["unauthenticated", "authentication"],
    ["forbidden", "authorization"],
  ])(
    "tells a cluster that fails with %s as %s, and works for the others (D17, C35)",
    async (failure, cause) => {
      const world = new World();
      world.leftOver("green", "i-0c", "workers-c");
      world.failing.set("blue listNodes", failure);
      const summary = await sweep(world.deps);
      expect(summary).toMatchObject({
        undone: ["green/node-of-i-0c"],
        failures: [expect.stringContaining("blue")],
      });
      expect(world.telemetry.metrics).toEqual([{ name: "ClusterUnreachable", dimensions: { cause } }]);
      expect(world.telemetry.lines).toContainEqual(
        expect.objectContaining({ message: "cluster unreachable", cluster: "blue", kind: failure }),
      );
    },
  );

  test("starts work for machines of a cluster that cannot be reached: their actions must be kept alive", async () => {
    const world = new World();
    world.waits("i-0a", "workers-a");
    world.failing.set("blue listNodes", "network");
    world.failing.set("green listNodes", "network");
    expect(await sweep(world.deps)).toMatchObject({ started: [idOf("i-0a")] });
  });

  test("frees gone machines' Nodes although Auto Scaling cannot be asked", async () => {
    const world = new World();
    world.leftOver("blue", "i-0a", "workers-a");
    world.instances[0] = { id: "i-0a", launchTime: LAUNCHED, state: "terminated", group: "workers-a" };
    world.failing.set("listMembers", "throttled");
    expect(await sweep(world.deps)).toMatchObject({
      started: [workId({ kind: "gone", instance: "i-0a", launchTime: LAUNCHED })],
      failures: [expect.stringContaining("listMembers")],
    });
  });

  test.each<[string, readonly string[]]>([
    ["the running executions cannot be listed", ["listRunning"]],
    ["EC2 cannot be asked", ["describeInstances"]],
    ["neither any cluster nor Auto Scaling answers", ["blue listNodes", "green listNodes", "listMembers"]],
  ])("does nothing and throws when %s", async (_when, operations) => {
    const world = new World();
    world.waits("i-0b", "workers-b");
    world.leftOver("blue", "i-0a", "workers-a");
    for (const operation of operations) world.failing.set(operation, "server");
    await expect(sweep(world.deps)).rejects.toBeInstanceOf(SweepFailed);
    expect(world.started.size).toBe(0);
    expect(world.patches).toEqual([]);
    expect(world.telemetry.lines).toContainEqual(
      expect.objectContaining({ message: "sweep", failures: expect.arrayContaining([expect.any(String)]) }),
    );
  });

  test("keeps a bug in one cluster's adapter from the other cluster, and counts it as a bug", async () => {
    const world = new World();
    world.leftOver("green", "i-0c", "workers-c");
    world.failing.set("blue listNodes", new TypeError("x is not a function"));
    expect(await sweep(world.deps)).toMatchObject({ undone: ["green/node-of-i-0c"] });
    expect(world.telemetry.metrics).toEqual([{ name: "ApiErrors", dimensions: { cause: "bug" } }]);
    expect(world.telemetry.lines).toContainEqual(
      expect.objectContaining({ error: "TypeError: x is not a function", stack: expect.any(String) }),
    );
  });
});
