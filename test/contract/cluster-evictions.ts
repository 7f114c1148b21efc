import { describe, expect, it } from "vitest";
import { DISRUPTION_REASON } from "../../lib/drain/names.ts";
import { ANOTHER_UID, addNode, addPod, failureOf, findPod, freshName, refused } from "./cluster-cases.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

const AT = 1_790_000_000_000;

export function describeEvictionContract(harness: () => ClusterHarness): void {
  describeEviction(harness);
  describeBudgets(harness);
  describeDeletion(harness);
  describeFailing(harness);
}

function describeEviction(harness: () => ClusterHarness): void {
  describe("evicting a pod", () => {
    it("asks the pod to end, and asking again changes nothing (D7)", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.evictPod(pod);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: true });
      await harness().port.evictPod(pod, 5);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: true });
    });

    it("is a conflict for a pod of another uid, which is left alone (I4)", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      expect(await failureOf(harness().port.evictPod({ ...pod, uid: ANOTHER_UID }))).toMatchObject(
        refused("evictPod", "conflict"),
      );
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: false });
    });

    it("is not-found for a pod that is gone", async () => {
      const pod = { namespace: "default", name: freshName("absent"), uid: ANOTHER_UID };
      expect(await failureOf(harness().port.evictPod(pod))).toMatchObject(refused("evictPod", "not-found"));
    });

    it("is refused as namespace-terminating where the namespace goes anyway (D7)", async () => {
      const namespace = freshName("ending");
      await harness().addNamespace(namespace);
      const pod = await addPod(harness(), await addNode(harness()), { namespace });
      await harness().endNamespace(namespace);
      expect(await failureOf(harness().port.evictPod(pod))).toMatchObject(
        refused("evictPod", "namespace-terminating"),
      );
    });
  });
}

function describeBudgets(harness: () => ClusterHarness): void {
  describe("a PodDisruptionBudget", () => {
    it("refuses the eviction and is named (D7)", async () => {
      const { labels, pod } = await protectedPod(harness());
      const name = freshName("budget");
      await harness().addBudget({ namespace: "default", name, labels });
      const failure = await failureOf(harness().port.evictPod(pod));
      expect(failure).toMatchObject(refused("evictPod", "disruption-budget"));
      expect(failure.budget).toBe(name);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: false });
    });

    it("does not refuse the eviction of a pod that is ending already", async () => {
      const { labels, pod } = await protectedPod(harness());
      await harness().addBudget({ namespace: "default", name: freshName("budget"), labels });
      await harness().port.deletePod(pod);
      await harness().port.evictPod(pod);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: true });
    });

    it("does not refuse a delete", async () => {
      const { labels, pod } = await protectedPod(harness());
      await harness().addBudget({ namespace: "default", name: freshName("budget"), labels });
      await harness().port.deletePod(pod);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: true });
    });

    it("beside a second one over the same pod makes the eviction fail as the server's error", async () => {
      const { labels, pod } = await protectedPod(harness());
      for (const name of [freshName("budget"), freshName("budget")]) {
        await harness().addBudget({ namespace: "default", name, labels });
      }
      const failure = await failureOf(harness().port.evictPod(pod));
      expect(failure).toMatchObject(refused("evictPod", "server"));
      expect(failure.message).toMatch(/more than one PodDisruptionBudget/u);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: false });
    });
  });
}

function describeDeletion(harness: () => ClusterHarness): void {
  describe("deleting a pod", () => {
    it("asks it to end within its own grace", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.deletePod(pod);
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: true });
    });

    it("removes the object at once with grace 0", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.deletePod(pod, 0);
      expect(await findPod(harness(), pod)).toBeUndefined();
      expect(await failureOf(harness().port.deletePod(pod, 0))).toMatchObject(
        refused("deletePod", "not-found"),
      );
    });

    it("removes a pod at once that was terminating already", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.deletePod(pod);
      await harness().port.deletePod(pod, 0);
      expect(await findPod(harness(), pod)).toBeUndefined();
    });

    it("is a conflict for a pod of another uid, which is left alone (I4)", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      const other = { ...pod, uid: ANOTHER_UID };
      expect(await failureOf(harness().port.deletePod(other, 0))).toMatchObject(
        refused("deletePod", "conflict"),
      );
      expect(await findPod(harness(), pod)).toMatchObject({ deleting: false });
    });
  });
}

function describeFailing(harness: () => ClusterHarness): void {
  describe("failing a dead machine's pod", () => {
    it("sets its phase and says why (D14)", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.failPod(pod, "instance i-1 is terminated", AT);
      expect(await findPod(harness(), pod)).toMatchObject({
        phase: "Failed",
        disruptionTarget: DISRUPTION_REASON,
        deleting: false,
      });
    });

    it("may be repeated", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      await harness().port.failPod(pod, "instance i-1 is terminated", AT);
      await harness().port.failPod(pod, "instance i-1 is terminated", AT + 1_000);
      expect(await findPod(harness(), pod)).toMatchObject({ phase: "Failed" });
    });

    it("leaves a pod with a finalizer Failed when it is deleted with grace 0", async () => {
      const pod = await addPod(harness(), await addNode(harness()), { finalizers: ["example.com/keep"] });
      await harness().port.failPod(pod, "instance i-1 is terminated", AT);
      await harness().port.deletePod(pod, 0);
      expect(await findPod(harness(), pod)).toMatchObject({
        phase: "Failed",
        deleting: true,
        disruptionTarget: DISRUPTION_REASON,
      });
    });

    it("is a conflict for a pod of another uid, which is left alone (I4)", async () => {
      const pod = await addPod(harness(), await addNode(harness()));
      const call = harness().port.failPod({ ...pod, uid: ANOTHER_UID }, "gone", AT);
      expect(await failureOf(call)).toMatchObject(refused("failPod", "conflict"));
      const view = await findPod(harness(), pod);
      expect(view).toMatchObject({ phase: "Running" });
      expect(view).not.toHaveProperty("disruptionTarget");
    });

    it("is not-found for a pod that is gone", async () => {
      const pod = { namespace: "default", name: freshName("absent"), uid: ANOTHER_UID };
      expect(await failureOf(harness().port.failPod(pod, "gone", AT))).toMatchObject(
        refused("failPod", "not-found"),
      );
    });
  });
}

async function protectedPod(harness: ClusterHarness) {
  const labels = { app: freshName("app") };
  return { labels, pod: await addPod(harness, await addNode(harness), { labels }) };
}
