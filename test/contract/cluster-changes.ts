import { describe, expect, it } from "vitest";
import type { PatchOperation } from "../../lib/drain/cluster.ts";
import type { NodeEvent } from "../../lib/engine/ports.ts";
import { ANOTHER_UID, addNode, failureOf, freshName, readNode, refused } from "./cluster-cases.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

const WORK = "/metadata/annotations/ebs-drain.dev~1work";
const OURS = { key: "node.kubernetes.io/out-of-service", value: "gone-i-1-0", effect: "NoExecute" } as const;
const THEIRS = { key: "team", value: "db", effect: "NoSchedule" } as const;

export function describeChangesContract(harness: () => ClusterHarness): void {
  describeNodePatches(harness);
  describeEvents(harness);
}

function describeNodePatches(harness: () => ClusterHarness): void {
  describe("patching a Node", () => {
    it("cordons and annotates in one patch and answers the Node as it is then (D5)", async () => {
      const before = await addNode(harness(), { annotations: { other: "kept" } });
      const after = await harness().port.patchNode(before.name, [
        { op: "test", path: "/metadata/uid", value: before.uid },
        { op: "add", path: "/spec/unschedulable", value: true },
        { op: "add", path: WORK, value: '{"id":"w"}' },
      ]);
      expect(after).toMatchObject({ uid: before.uid, unschedulable: true, work: '{"id":"w"}' });
      expect(after.resourceVersion).not.toBe(before.resourceVersion);
      expect(await readNode(harness(), before.name)).toEqual(after);
    });

    it("takes work and cordon off again", async () => {
      const before = await addNode(harness(), {
        unschedulable: true,
        annotations: { "ebs-drain.dev/work": "w", other: "kept" },
      });
      const after = await harness().port.patchNode(before.name, [
        { op: "test", path: "/metadata/uid", value: before.uid },
        { op: "replace", path: "/spec/unschedulable", value: false },
        { op: "test", path: WORK, value: "w" },
        { op: "remove", path: WORK },
      ]);
      expect(after).toMatchObject({ unschedulable: false, hasAnnotations: true });
      expect(after).not.toHaveProperty("work");
    });

    it("changes taints only as a whole under the resourceVersion that was read", async () => {
      const before = await addNode(harness(), { taints: [THEIRS] });
      const tainted = await harness().port.patchNode(before.name, [
        ...sameVersion(before),
        { op: "add", path: "/spec/taints/-", value: OURS },
      ]);
      expect(tainted.taints).toEqual([...before.taints, OURS]);
      const index = tainted.taints.findIndex((taint) => taint.key === OURS.key);
      const cleared = await harness().port.patchNode(before.name, [
        ...sameVersion(tainted),
        { op: "remove", path: `/spec/taints/${index}` },
      ]);
      expect(cleared.taints).toEqual(before.taints);
    });

    it("taints a Node that has no taints", async () => {
      const before = await addNode(harness());
      const after = await harness().port.patchNode(before.name, [
        ...sameVersion(before),
        { op: "add", path: "/spec/taints", value: [OURS] },
      ]);
      expect(after.taints).toEqual([OURS]);
    });

    it("is a conflict under a resourceVersion that is not the Node's any more, and changes nothing", async () => {
      const before = await addNode(harness());
      const now = await harness().port.patchNode(before.name, [
        { op: "add", path: "/metadata/annotations", value: { other: "1" } },
      ]);
      const stale = harness().port.patchNode(before.name, [
        ...sameVersion(before),
        { op: "add", path: "/spec/taints", value: [OURS] },
      ]);
      expect(await failureOf(stale)).toMatchObject(refused("patchNode", "conflict"));
      expect(await readNode(harness(), before.name)).toEqual(now);
    });

    it("is a conflict for another Node of the same name, and changes nothing", async () => {
      const node = await addNode(harness());
      const patch = harness().port.patchNode(node.name, [
        { op: "test", path: "/metadata/uid", value: ANOTHER_UID },
        { op: "add", path: "/spec/unschedulable", value: true },
      ]);
      expect(await failureOf(patch)).toMatchObject(refused("patchNode", "conflict"));
      expect(await readNode(harness(), node.name)).toEqual(node);
    });

    it("is a conflict where the work is not what was read, or gone", async () => {
      const node = await addNode(harness(), { annotations: { "ebs-drain.dev/work": "newer" } });
      const withdraw: readonly PatchOperation[] = [
        { op: "test", path: WORK, value: "older" },
        { op: "remove", path: WORK },
      ];
      expect(await failureOf(harness().port.patchNode(node.name, withdraw))).toMatchObject(
        refused("patchNode", "conflict"),
      );
      const bare = await addNode(harness(), { annotations: { other: "kept" } });
      expect(await failureOf(harness().port.patchNode(bare.name, withdraw))).toMatchObject(
        refused("patchNode", "conflict"),
      );
    });

    it("is not-found for a Node that is not there", async () => {
      const patch = harness().port.patchNode(freshName("absent"), [
        { op: "add", path: "/spec/unschedulable", value: true },
      ]);
      expect(await failureOf(patch)).toMatchObject(refused("patchNode", "not-found"));
    });
  });
}

function describeEvents(harness: () => ClusterHarness): void {
  describe("recording an Event", () => {
    it("puts it on the Node", async () => {
      const node = await addNode(harness());
      await harness().port.recordEvent(eventOn(node));
      expect(await harness().listEvents(node.name)).toEqual([
        {
          type: "Warning",
          reason: "EvictionBlocked",
          message: "PodDisruptionBudget db",
          component: "ebs-drain",
        },
      ]);
    });

    it("records the same once, however often it is asked for, and another one beside it", async () => {
      const node = await addNode(harness());
      await harness().port.recordEvent(eventOn(node));
      await harness().port.recordEvent(eventOn(node));
      await harness().port.recordEvent({ ...eventOn(node), reason: "DrainCompleted" });
      const reasons = (await harness().listEvents(node.name)).map((event) => event.reason);
      expect(reasons.toSorted()).toEqual(["DrainCompleted", "EvictionBlocked"]);
    });
  });
}

function eventOn(node: { readonly name: string; readonly uid: string }): NodeEvent {
  return {
    node: node.name,
    nodeUid: node.uid,
    type: "Warning",
    reason: "EvictionBlocked",
    message: "PodDisruptionBudget db",
    at: 1_790_000_000_000,
  };
}

function sameVersion(node: { readonly uid: string; readonly resourceVersion: string }): PatchOperation[] {
  return [
    { op: "test", path: "/metadata/uid", value: node.uid },
    { op: "test", path: "/metadata/resourceVersion", value: node.resourceVersion },
  ];
}
