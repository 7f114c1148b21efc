/** One suite over both clients, on a fake API server and on a real one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseVolumeInUse } from "../../lib/drain/volumes.ts";
import { freshName } from "./cluster-cases.ts";
import type { AttachmentSeed, ClusterHarness } from "./cluster-harness.ts";
import type { NodeReading } from "./node-reading.ts";

export type Arranging = Pick<ClusterHarness, "addNode" | "addVolume" | "addAttachments" | "listEvents">;

const DRIVER = "ebs.csi.aws.com";
/** More than one page of 1,000, on another node. */
const MANY = 1_050;

/** @param make is awaited before the first case; `reading` is closed after the last one */
export function describeNodeReadingContract(
  name: string,
  make: () => Promise<{ readonly arrange: Arranging; readonly reading: NodeReading }>,
): void {
  describe(`reading a node by ${name}`, () => {
    let arrange: Arranging;
    let reading: NodeReading;
    beforeAll(async () => {
      ({ arrange, reading } = await make());
    });
    afterAll(async () => {
      await reading?.close();
    });

    it("answers undefined for a Node that is not there (C8)", async () => {
      expect(await reading.getNode(freshName("absent"))).toBeUndefined();
    });

    it("shows a Node as the rules need it (H2)", async () => {
      const name = freshName("node");
      const taint = { key: "karpenter.sh/disrupted", effect: "NoSchedule" } as const;
      const volume = `kubernetes.io/csi/${DRIVER}^vol-0a1`;
      await arrange.addNode({
        name,
        providerId: "aws:///eu-west-1a/i-0123456789abcdef0",
        bootId: "5f2c1d7e-boot",
        unschedulable: true,
        taints: [taint],
        annotations: { "ebs-drain.dev/work": '{"id":"x"}' },
        ready: { status: "False", reason: "KubeletNotReady", message: "[a, node is shutting down]" },
        volumesInUse: [volume],
      });
      const node = await reading.getNode(name);
      expect(node).toMatchObject({
        name,
        bootId: "5f2c1d7e-boot",
        unschedulable: true,
        work: '{"id":"x"}',
        ready: { status: "False", message: "[a, node is shutting down]" },
        volumesInUse: [volume],
        deleting: false,
      });
      expect(node?.taints).toContainEqual(taint);
      expect(node?.uid).not.toBe("");
      expect(parseVolumeInUse(volume)).toEqual({ driver: DRIVER, handle: "vol-0a1" });
    });

    it("shows a Node of which little is known", async () => {
      const name = freshName("node");
      await arrange.addNode({ name });
      expect(await reading.getNode(name)).toMatchObject({
        unschedulable: false,
        volumesInUse: [],
        deleting: false,
      });
      expect(await reading.getNode(name)).not.toHaveProperty("work");
    });

    it("lists this node's attachments, each once, of any driver, and no other node's", async () => {
      const node = freshName("node");
      const mine = [
        attachment(node, { volumeName: "pv-a" }),
        attachment(node, { inlineHandle: "vol-0in1ine" }),
        attachment(node, { volumeName: "pv-b" }, "efs.csi.aws.com"),
      ];
      const others = [
        // Another's row that names the node, as a volume and as the beginning of its own name.
        attachment(freshName("node"), { volumeName: node }),
        attachment(`${node}-b`, { volumeName: "pv-c" }),
      ];
      await arrange.addAttachments([...mine, ...others]);
      const rows = await reading.attachmentsOf(node);
      const expected = mine.map(({ name, attacher, nodeName, source }) => ({
        name,
        attacher,
        nodeName,
        ...("volumeName" in source ? source : {}),
      }));
      expect(byName(rows)).toEqual(byName(expected));
    });

    it("lists no attachment for a node that has none, or is not there", async () => {
      expect(await reading.attachmentsOf(freshName("absent"))).toEqual([]);
    });

    it("finds a node's attachment behind a thousand of another's (H11)", async () => {
      const node = freshName("node");
      const crowd = freshName("node");
      const many = Array.from({ length: MANY }, () => attachment(crowd, { volumeName: "pv-of-many" }));
      const last = { ...attachment(node, { volumeName: "pv-z" }), name: freshName("zzz") };
      await arrange.addAttachments([...many, last]);
      expect(await reading.attachmentsOf(node)).toHaveLength(1);
      expect(await reading.attachmentsOf(crowd)).toHaveLength(MANY);
    });

    it("tells a node-local volume from one of EC2's; one whose volume is gone is not local (H5, D11)", async () => {
      const node = freshName("node");
      const volumes = { local: freshName("pv"), ebs: freshName("pv"), gone: freshName("pv") };
      const csi = (handle: string) => ({ kind: "csi", driver: DRIVER, handle }) as const;
      await arrange.addVolume({ name: volumes.local, source: csi("local-ebs://disk-1") });
      await arrange.addVolume({ name: volumes.ebs, source: csi("vol-0e1") });
      const seeds = [
        ...Object.values(volumes).map((volumeName) => attachment(node, { volumeName })),
        attachment(node, { inlineHandle: "local-ebs://disk-2" }),
        attachment(node, { inlineHandle: "vol-0in1ine" }),
      ];
      await arrange.addAttachments(seeds);
      const rows = await reading.attachmentsOf(node);
      const answers = await Promise.all(
        seeds.map(async ({ name }) => {
          const row = rows.find((candidate) => candidate.name === name);
          return row !== undefined && reading.isLocal(row);
        }),
      );
      expect(answers).toEqual([true, false, false, true, false]);
    });

    it("records an Event on the Node (H10)", async () => {
      const name = freshName("node");
      await arrange.addNode({ name });
      const node = await reading.getNode(name);
      if (node === undefined) throw new Error("the Node is not there");
      await reading.record(node);
      const events = await arrange.listEvents(name);
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({ type: "Normal", reason: "VolumesDetached" });
      expect(events[0]?.message).toContain("no attachment is left");
    });
  });
}

function attachment(nodeName: string, source: AttachmentSeed["source"], attacher = DRIVER): AttachmentSeed {
  return { name: freshName("csi"), attacher, nodeName, source };
}

function byName<Row extends { readonly name: string }>(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((a, b) => a.name.localeCompare(b.name));
}
