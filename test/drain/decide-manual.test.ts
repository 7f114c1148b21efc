/** D19: a drain by hand. */
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import { initialMemory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { UNREAD } from "../../lib/drain/observation.ts";
import { isForMachine } from "../../lib/drain/task.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { TaskError, readTask } from "../../lib/engine/task-input.ts";
import { SmallWorld, run } from "../engine/small-world.ts";
import { changes, evictions, find } from "./decision-reading.ts";
import { manualTask } from "./manual-task.ts";
import {
  type Differs,
  NODE,
  NOW,
  OTHER_INSTANCE,
  ROOT,
  attachment,
  daemonPod,
  drained,
  failed,
  firstLook,
  hookPod,
  node,
  observation,
  pod,
  policy,
  read,
  untouchedNode,
  volumes,
} from "./observation-builder.ts";

const manual = (differs: Differs = {}) =>
  observation({ task: manualTask(), node: read(untouchedNode({ unschedulable: true })), ...differs });

describe("D19: a drain by hand", () => {
  it("cordons as kubectl does, without `work`, and evicts", () => {
    const decision = decide(firstLook({ task: manualTask(), pods: read([pod("web")]) }), policy());
    expect(changes(decision)).toEqual(["patch-node", "evict"]);
    expect(find(decision, "patch-node")?.patch).toEqual([
      { op: "test", path: "/metadata/uid", value: "node-uid" },
      { op: "add", path: "/spec/unschedulable", value: true },
    ]);
  });

  it("takes any Node by its name and uid, one without a provider id too", () => {
    const { providerId: _none, ...rest } = untouchedNode();
    const seen = firstLook({ task: manualTask(), node: read(rest), pods: read([pod("web")]) });
    expect(evictions(decide(seen, policy())).map(({ name }) => name)).toEqual(["web"]);
  });

  it("leaves a Node alone that has the name by now, and one that another machine adopted (I9)", () => {
    const replaced = decide(
      manual({ node: read(node({ uid: "another" })), pods: read([pod("web")]) }),
      policy(),
    );
    const foreign = { name: NODE, nodeIds: { [EBS_DRIVER]: OTHER_INSTANCE } };
    const adopted = decide(
      firstLook({ task: manualTask(), csiNode: read(foreign), pods: read([pod("web")]) }),
      policy(),
    );
    for (const decision of [replaced, adopted]) {
      expect(decision.actions).toEqual([]);
      expect(decision.next).toMatchObject({ kind: "done", outcome: "instance-gone" });
    }
  });

  it("waits for volumes that EC2 holds, where EC2 is asked", () => {
    const data = { volumeId: "vol-1", state: "detaching", device: "/dev/xvdba", csi: true } as const;
    const decision = decide(drained({ task: manualTask(), ec2Volumes: read([ROOT, data]) }), policy());
    expect(decision.next.kind).toBe("again");
    expect(decision.waitingFor.join()).toContain("vol-1");
  });

  it("ends when two looks agree, and says what was not asked where there are no AWS credentials", () => {
    const alone = manualTask({ sources: "kubernetes" });
    const first = decide(drained({ task: alone, ec2Volumes: UNREAD, memory: { agreed: "" } }), policy());
    expect(first).toMatchObject({ next: { kind: "again" }, agrees: "D12" });
    const second = decide(drained({ task: alone, ec2Volumes: UNREAD }), policy());
    expect(second.next).toMatchObject({ kind: "done", outcome: "freed" });
    expect(second.reason).toContain("EC2 was not asked");
    const both = decide(drained({ task: manualTask(), ec2Volumes: UNREAD }), policy());
    expect(both.next.kind).toBe("again");
  });

  it("hands nothing over to the hook: there is no action to complete", () => {
    const decision = decide(
      manual({
        pods: read([hookPod()]),
        attachments: read([attachment("vol-1")]),
        volumes: volumes("vol-1"),
      }),
      policy(),
    );
    expect(changes(decision)).toEqual([]);
    expect(decision.phase).toBe("detaching");
  });

  it("stops at its time-out, names each blocker, and changes nothing more", () => {
    const task = manualTask({ until: NOW });
    const decision = decide(manual({ task, pods: read([pod("web")]) }), policy());
    expect(decision).toMatchObject({ next: { kind: "done", outcome: "deadline" }, actions: [] });
    expect(decision.reason).toContain("pod shop/web");
  });

  it("deletes what a budget blocks only with force, and only once its time has come (I5)", () => {
    const memory = {
      evictions: { "uid-of-web": { outcome: "budget", at: NOW, pod: "shop/web", budget: "web" } },
    } as const;
    const seen = manual({ pods: read([pod("web")]), memory });
    const forced = (force: boolean, forceAfter: number): boolean =>
      changes(decide(seen, policy({ force, forceAfter }))).includes("delete-pods");
    expect([forced(false, 0), forced(true, 3_600), forced(true, 60)]).toEqual([false, false, true]);
  });

  it("cannot see and does nothing while the Node cannot be read (D17)", () => {
    const decision = decide(manual({ node: failed("kubernetes.getNode") }), policy());
    expect(decision).toMatchObject({ phase: "blind", actions: [], next: { kind: "again" } });
  });

  it("is nobody's `work`: neither the sweep nor a lifecycle drain takes it for an order of the machine", () => {
    const { id, instance, launchTime } = manualTask();
    expect(isForMachine(id, instance, launchTime)).toBe(false);
  });

  it("is no input of the drain function", () => {
    const settings = { policy: policy(), clusters: [{ name: "blue", groups: ["workers-a"] }] };
    expect(() => readTask(manualTask(), settings)).toThrow(TaskError);
  });
});

describe("D19 from look to look", () => {
  function busyNode(): SmallWorld {
    const world = new SmallWorld();
    world.pods = [pod("database-0", { claims: ["data-0"] }), pod("web"), daemonPod("logs")];
    world.attach("vol-0", "data-0");
    return world;
  }

  it("frees the Node: cordon first, then pods, then volumes in both sources", async () => {
    const world = busyNode();
    const { looks } = await run(world, manualTask({ at: NOW, until: NOW + 30 * MINUTE }));
    expect(looks.at(-1)?.next).toMatchObject({ kind: "done", outcome: "freed" });
    const done = world.changes();
    expect(done[0]).toBe(`patchNode ${NODE}`);
    expect([world.beats, world.results]).toEqual([[], []]);
    expect(world.nodes.get(NODE)).toMatchObject({ unschedulable: true });
    expect(world.nodes.get(NODE)?.work).toBeUndefined();
    expect([world.attachments, world.disks]).toEqual([[], [ROOT]]);
  });

  it("asks AWS nothing where Kubernetes is all there is", async () => {
    const world = busyNode();
    const task = manualTask({ at: NOW, until: NOW + 30 * MINUTE, sources: "kubernetes" });
    const { looks } = await run(world, task);
    expect(looks.at(-1)?.next).toMatchObject({ kind: "done", outcome: "freed" });
    const asked = world.calls.map(({ method }) => method);
    expect(asked.filter((method) => !method.startsWith("kubernetes."))).toEqual([]);
  });

  it("waits for the CSI driver of a Node that is gone already", async () => {
    const world = busyNode();
    world.pods = [];
    world.nodes.delete(NODE);
    world.after(40, () => {
      world.attachments = [];
      world.disks = [ROOT];
    });
    const task = manualTask({ at: NOW, until: NOW + 30 * MINUTE });
    const memory = { ...initialMemory(NOW), node: task.node };
    const { looks } = await run(world, task, { memory });
    const ended = looks.at(-1)?.observation.at ?? 0;
    expect(looks.at(-1)?.next).toMatchObject({ kind: "done", outcome: "freed" });
    expect(ended).toBeGreaterThanOrEqual(NOW + 40 * SECOND);
  });
});
