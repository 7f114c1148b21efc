import { describe, expect, it } from "vitest";
import { addNode, addPod, findPod, freshName } from "./cluster-cases.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

export function describeReadsContract(harness: () => ClusterHarness): void {
  describeNodeReads(harness);
  describePodReads(harness);
  describeVolumeReads(harness);
}

function describeNodeReads(harness: () => ClusterHarness): void {
  describe("reading Nodes", () => {
    it("answers undefined for a Node that is not there", async () => {
      expect(await harness().port.getNode(freshName("absent"))).toBeUndefined();
    });

    it("shows a Node as the rules need it", async () => {
      const taint = { key: "team", value: "db", effect: "NoSchedule" } as const;
      const node = await addNode(harness(), {
        providerId: "aws:///eu-west-1a/i-0123456789abcdef0",
        bootId: "5f2c1d7e-boot",
        unschedulable: true,
        taints: [taint, { key: "bare", effect: "NoExecute" }],
        annotations: { "ebs-drain.dev/work": '{"id":"x"}', other: "kept" },
        ready: { status: "False", reason: "KubeletNotReady", message: "node is shutting down" },
        volumesInUse: ["kubernetes.io/csi/ebs.csi.aws.com^vol-0a1"],
      });
      expect(node).toMatchObject({
        providerId: "aws:///eu-west-1a/i-0123456789abcdef0",
        bootId: "5f2c1d7e-boot",
        unschedulable: true,
        work: '{"id":"x"}',
        hasAnnotations: true,
        ready: { status: "False", reason: "KubeletNotReady", message: "node is shutting down" },
        volumesInUse: ["kubernetes.io/csi/ebs.csi.aws.com^vol-0a1"],
        deleting: false,
      });
      expect(node.uid).not.toBe("");
      expect(node.resourceVersion).not.toBe("");
      expect(node.ready.since).toBeGreaterThan(0);
      expect(node.taints).toContainEqual(taint);
      expect(node.taints.find((candidate) => candidate.key === "bare")).toEqual({
        key: "bare",
        effect: "NoExecute",
      });
    });

    it("shows a Node of which little is known", async () => {
      const node = await addNode(harness());
      expect(node).toMatchObject({ unschedulable: false, volumesInUse: [], deleting: false });
      expect(node.ready.status).toBe("True");
      expect(node).not.toHaveProperty("providerId");
      expect(node).not.toHaveProperty("work");
    });

    it("lists every Node", async () => {
      const first = await addNode(harness());
      const second = await addNode(harness(), { providerId: "aws:///eu-west-1b/i-0ffffffffffffffff" });
      const nodes = await harness().port.listNodes();
      expect(nodes).toContainEqual(first);
      expect(nodes).toContainEqual(second);
    });

    it("reads a kubelet's Lease and tells a renewal by its text", async () => {
      const name = freshName("node");
      expect(await harness().port.getLease(name)).toBeUndefined();
      await harness().renewLease(name, "2026-10-01T12:00:00.123456Z");
      const before = await harness().port.getLease(name);
      expect(before?.name).toBe(name);
      expect(await harness().port.getLease(name)).toEqual(before);
      await harness().renewLease(name, "2026-10-01T12:00:00.123457Z");
      expect((await harness().port.getLease(name))?.renewTime).not.toBe(before?.renewTime);
    });

    it("reads which id each driver gave a node", async () => {
      const name = freshName("node");
      expect(await harness().port.getCsiNode(name)).toBeUndefined();
      const nodeIds = { "ebs.csi.aws.com": "i-0123456789abcdef0", "efs.csi.aws.com": "i-0123456789abcdef0" };
      await harness().addCsiNode({ name, nodeIds });
      expect(await harness().port.getCsiNode(name)).toEqual({ name, nodeIds });
    });
  });
}

function describePodReads(harness: () => ClusterHarness): void {
  describe("reading pods", () => {
    it("lists the pods of one node and no others", async () => {
      const node = await addNode(harness());
      const other = await addNode(harness());
      const mine = await addPod(harness(), node);
      const system = await addPod(harness(), node, { namespace: "kube-system" });
      await addPod(harness(), other);
      const pods = await harness().port.listPodsOnNode(node.name);
      expect(pods.map((pod) => pod.uid).toSorted()).toEqual([mine.uid, system.uid].toSorted());
    });

    it("answers an empty list for a node without pods or without a Node", async () => {
      const node = await addNode(harness());
      expect(await harness().port.listPodsOnNode(node.name)).toEqual([]);
      expect(await harness().port.listPodsOnNode(freshName("absent"))).toEqual([]);
    });

    it("shows a pod as the rules need it", async () => {
      const node = await addNode(harness());
      const toleration = {
        key: "node.kubernetes.io/unschedulable",
        operator: "Exists",
        effect: "NoSchedule",
      } as const;
      const pod = await addPod(harness(), node, {
        labels: { app: "db" },
        tolerations: [toleration],
        priorityClass: "system-node-critical",
        claims: ["data"],
      });
      const view = await findPod(harness(), pod);
      expect(view).toMatchObject({
        namespace: "default",
        name: pod.name,
        nodeName: node.name,
        phase: "Running",
        deleting: false,
        mirror: false,
        priorityClass: "system-node-critical",
        containers: ["main"],
        claims: ["data"],
        inlineHandles: [],
      });
      expect(view?.labels).toMatchObject({ app: "db" });
      expect(view?.tolerations).toContainEqual(toleration);
      expect(view?.createdAt).toBeGreaterThan(0);
      expect(view).not.toHaveProperty("controller");
      expect(view).not.toHaveProperty("disruptionTarget");
    });
  });
}

function describeVolumeReads(harness: () => ClusterHarness): void {
  describe("reading volumes", () => {
    it("finds the volume of a claim, and that an unbound claim has none", async () => {
      const { addClaim, port } = harness();
      const [bound, unbound] = [freshName("claim"), freshName("claim")];
      await addClaim({ namespace: "default", name: bound, volumeName: "pv-of-claim" });
      await addClaim({ namespace: "default", name: unbound });
      expect(await port.getClaim("default", bound)).toEqual({ volumeName: "pv-of-claim" });
      expect(await port.getClaim("default", unbound)).toEqual({});
      expect(await port.getClaim("kube-system", bound)).toBeUndefined();
      expect(await port.getClaim("default", freshName("absent"))).toBeUndefined();
    });

    it("names driver and handle of a CSI volume", async () => {
      const name = freshName("pv");
      await harness().addVolume({
        name,
        source: { kind: "csi", driver: "efs.csi.aws.com", handle: "fs-0a1::fsap-0b2" },
      });
      expect(await harness().port.getVolume(name)).toEqual({
        name,
        driver: "efs.csi.aws.com",
        handle: "fs-0a1::fsap-0b2",
      });
    });

    it.each([
      ["vol-0aa", "vol-0aa"],
      ["aws://eu-west-1a/vol-0bb", "vol-0bb"],
      ["aws:///vol-0cc", "vol-0cc"],
    ])("shows the in-tree volume %s as the EBS driver's %s", async (volumeId, handle) => {
      const name = freshName("pv");
      await harness().addVolume({ name, source: { kind: "in-tree", volumeId } });
      expect(await harness().port.getVolume(name)).toEqual({ name, driver: "ebs.csi.aws.com", handle });
    });

    it("shows a volume that nothing attaches without a driver", async () => {
      const name = freshName("pv");
      await harness().addVolume({ name, source: { kind: "nfs" } });
      expect(await harness().port.getVolume(name)).toEqual({ name });
    });

    it("answers undefined for a volume that is not there", async () => {
      expect(await harness().port.getVolume(freshName("absent"))).toBeUndefined();
    });
  });
}
