import { describe, expect, it } from "vitest";
import { freshName } from "./cluster-cases.ts";
import type { AttachmentSeed, ClusterHarness } from "./cluster-harness.ts";

const DRIVER = "ebs.csi.aws.com";
/** More than one page of 1,000. */
const MANY = 1_050;

export function describeAttachmentContract(harness: () => ClusterHarness): void {
  describe("reading VolumeAttachments", () => {
    it("answers undefined for an attachment that is not there", async () => {
      expect(await harness().port.getAttachment(freshName("csi-absent"))).toBeUndefined();
    });

    it("shows an attachment by name", async () => {
      const seed = attachment({ volumeName: "pv-a" });
      await harness().addAttachments([seed]);
      expect(await harness().port.getAttachment(seed.name)).toEqual({
        name: seed.name,
        attacher: DRIVER,
        nodeName: seed.nodeName,
        volumeName: "pv-a",
        deleting: false,
      });
    });

    it("shows the handle of an inline volume", async () => {
      const seed = attachment({ inlineHandle: "vol-0in1ine" });
      await harness().addAttachments([seed]);
      const view = await harness().port.getAttachment(seed.name);
      expect(view).toMatchObject({ inlineHandle: "vol-0in1ine" });
      expect(view).not.toHaveProperty("volumeName");
    });

    it("shows that a detach was asked for and why it fails", async () => {
      const seed = attachment({ volumeName: "pv-b" });
      await harness().addAttachments([seed]);
      await harness().failDetach(seed.name, "volume is busy");
      expect(await harness().port.getAttachment(seed.name)).toMatchObject({
        deleting: true,
        detachError: "volume is busy",
      });
    });

    it("lists attachments as rows, with node ids only when asked for", async () => {
      const seed = attachment({ volumeName: "pv-c" }, "i-0123456789abcdef0");
      const bare = attachment({ volumeName: "pv-d" });
      const inline = attachment({ inlineHandle: "vol-0in1ine" });
      await harness().addAttachments([seed, bare, inline]);
      const { name, attacher, nodeName } = seed;
      const row = { name, attacher, nodeName, volumeName: "pv-c" };
      const rows = await harness().port.listAttachmentRows({ withNodeIds: false });
      expect(rows).toContainEqual(row);
      expect(rows).toContainEqual({ name: inline.name, attacher: DRIVER, nodeName: inline.nodeName });
      const withIds = await harness().port.listAttachmentRows({ withNodeIds: true });
      expect(withIds).toContainEqual({ ...row, nodeId: "i-0123456789abcdef0" });
      expect(withIds.find((candidate) => candidate.name === bare.name)).not.toHaveProperty("nodeId");
    });

    it("lists more attachments than fit one page, each once", async () => {
      const node = freshName("node");
      const seeds = Array.from({ length: MANY }, () => ({
        ...attachment({ volumeName: "pv-of-many" }),
        nodeName: node,
      }));
      await harness().addAttachments(seeds);
      for (const withNodeIds of [false, true]) {
        const rows = await harness().port.listAttachmentRows({ withNodeIds });
        const found = rows.filter((row) => row.nodeName === node).map((row) => row.name);
        expect(found.toSorted()).toEqual(seeds.map((seed) => seed.name).toSorted());
      }
    });
  });
}

function attachment(source: AttachmentSeed["source"], nodeId?: string): AttachmentSeed {
  return {
    name: freshName("csi"),
    attacher: DRIVER,
    nodeName: freshName("node"),
    source,
    ...(nodeId === undefined ? {} : { nodeId }),
  };
}
