/** D16: two minutes, no action to complete. */
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { UNREAD } from "../../lib/drain/observation.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import { changes, evictions } from "./decision-reading.ts";
import {
  BEGAN,
  type Differs,
  LAUNCHED,
  NODE,
  NOW,
  OTHER_INSTANCE,
  attachment,
  drained,
  ec2Attachment,
  failed,
  firstLook,
  hookPod,
  instance,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
  spotTask,
  volumes,
  work,
} from "./observation-builder.ts";

const spot = (differs: Differs = {}) =>
  observation({ task: spotTask(), node: read(node({ work: formatWork(work(spotTask())) })), ...differs });

describe("D16: a spot notice", () => {
  it("cordons, then evicts, and beats nothing", () => {
    const decision = decide(firstLook({ task: spotTask(), pods: read([pod("web")]) }), policy());
    expect(changes(decision)).toEqual(["patch-node", "evict"]);
    expect(JSON.stringify(decision.actions[0])).not.toContain(String.raw`\"hook\"`);
    expect(decision.deadline).toBe(BEGAN + 2 * MINUTE);
  });

  it("cuts the grace to what is left, less thirty seconds for unmount and detach", () => {
    const grace = (secondsLeft: number): number | undefined => {
      const task = spotTask({ until: NOW + secondsLeft * SECOND });
      return evictions(decide(spot({ task, pods: read([pod("web")]) }), policy()))[0]?.graceSeconds;
    };
    expect([120, 60, 31, 10].map(grace)).toEqual([90, 30, 1, 1]);
  });

  it("never makes a pod's own grace longer", () => {
    const grace = (graceSeconds: number): number | undefined =>
      evictions(decide(spot({ pods: read([pod("web", { graceSeconds })]) }), policy()))[0]?.graceSeconds;
    expect([5, 30, 31, 3_600].map(grace)).toEqual([undefined, undefined, 30, 30]);
  });

  it("leaves a lifecycle action's order on the Node as it is", () => {
    const ordered = node({ work: formatWork(work(lifecycleTask())) });
    expect(changes(decide(spot({ node: read(ordered) }), policy()))).toEqual([]);
  });

  it("hands nothing over: there is no action to complete", () => {
    const waiting = spot({
      pods: read([hookPod()]),
      attachments: read([attachment("vol-1")]),
      volumes: volumes("vol-1"),
      ec2Volumes: read([ec2Attachment("vol-1")]),
    });
    expect(changes(decide(waiting, policy()))).toEqual([]);
  });

  it("ends when two looks agree that nothing is left (D12)", () => {
    const first = decide(drained({ task: spotTask(), memory: { agreed: "" } }), policy());
    expect(first).toMatchObject({ agrees: "D12", next: { kind: "again" } });
    const second = decide(drained({ task: spotTask() }), policy());
    expect(second.next).toMatchObject({ kind: "done", outcome: "freed" });
    expect(changes(second)).toEqual([]);
  });

  it("ends at the notice's time and says what still blocks", () => {
    const late = spot({ task: spotTask({ until: NOW }), pods: read([pod("web")]) });
    const decision = decide(late, policy());
    expect(decision.next).toMatchObject({ kind: "done", outcome: "deadline" });
    expect(decision.reason).toContain("pod shop/web");
    expect(decision.actions).toMatchObject([{ kind: "event", reason: "DrainDeadline" }, { kind: "metric" }]);
  });

  it.each<[string, Differs]>([
    ["EC2 has stopped it", { instance: read(instance({ state: "stopping" })) }],
    ["EC2 has ended it", { instance: read(instance({ state: "terminated" })) }],
    ["another machine has its id", { instance: read(instance({ launchTime: LAUNCHED + MINUTE })) }],
  ])("ends with the instance: %s", (_what, differs) => {
    expect(decide(spot(differs), policy()).next).toMatchObject({ kind: "done", outcome: "instance-gone" });
  });

  it("does not end because EC2 does not show the instance: that proves nothing", () => {
    expect(decide(spot({ instance: read(null), pods: read([pod("web")]) }), policy()).next.kind).toBe(
      "again",
    );
  });

  it.each<[string, Differs]>([
    ["the Node cannot be read", { node: failed("kubernetes.getNode") }],
    ["the pods cannot be read", { pods: failed("kubernetes.listPodsOnNode") }],
    [
      "the boot could not be verified",
      { node: read(node({ bootId: "boot-2" })), csiNode: failed("kubernetes.getCsiNode") },
    ],
  ])("changes nothing and looks again where %s", (_what, differs) => {
    const decision = decide(spot({ pods: read([pod("web")]), ...differs }), policy());
    expect(changes(decision)).toEqual([]);
    expect(decision.next.kind).toBe("again");
  });

  it("backs off while Kubernetes cannot be read (D17)", () => {
    expect(decide(spot({ node: failed("kubernetes.getNode") }), policy()).phase).toBe("blind");
  });

  it("lets another machine's Node alone (I9)", () => {
    const adopted = spot({
      node: read(node({ bootId: "boot-2" })),
      csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: OTHER_INSTANCE } }),
      instance: read(instance()),
      pods: read([pod("web")]),
    });
    expect(changes(decide(adopted, policy()))).toEqual([]);
  });

  it("waits for a Node that may still come", () => {
    const early: Partial<Memory> = { lookups: 3, nodesListed: true };
    const decision = decide(
      firstLook({ task: spotTask(), node: read(null), csiNode: UNREAD, memory: early }),
      policy(),
    );
    expect(decision).toMatchObject({ phase: "locating", next: { kind: "again" } });
  });
});
