import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import vectors from "../fixtures/vectors.json" with { type: "json" };
import {
  attachmentRows,
  attachmentView,
  bareHandle,
  claimView,
  volumeView,
} from "../../lib/kubernetes/storage-views.ts";

describe("a VolumeAttachment", () => {
  const spec = { attacher: "ebs.csi.aws.com", nodeName: "n1", source: { persistentVolumeName: "pv-1" } };

  it("shows what it attaches where", () => {
    expect(attachmentView({ metadata: { name: "csi-1" }, spec, status: { attached: true } })).toEqual({
      name: "csi-1",
      attacher: "ebs.csi.aws.com",
      nodeName: "n1",
      volumeName: "pv-1",
      deleting: false,
    });
  });

  it("shows that its detach was asked for and why it fails", () => {
    const view = attachmentView({
      metadata: { name: "csi-1", deletionTimestamp: "2026-10-01T12:00:00Z" },
      spec,
      status: { attached: true, detachError: { message: "volume is busy", time: "2026-10-01T12:00:09Z" } },
    });
    expect(view).toMatchObject({ deleting: true, detachError: "volume is busy" });
  });

  it.each([
    [{ csi: { driver: "ebs.csi.aws.com", volumeHandle: "vol-0a1" } }, "vol-0a1"],
    [{ awsElasticBlockStore: { volumeID: "aws:///vol-0cc" } }, "vol-0cc"],
  ])("shows the handle of the inline volume %j", (inlineVolumeSpec, handle) => {
    const view = attachmentView({
      metadata: { name: "csi-1" },
      spec: { ...spec, source: { inlineVolumeSpec } },
    });
    expect(view.inlineHandle).toBe(handle);
    expect(view).not.toHaveProperty("volumeName");
  });
});

describe("a PersistentVolume", () => {
  it.each(vectors.inTreeHandles)("in-tree with volumeID $volumeID is the EBS driver's $handle", (vector) => {
    const volume = {
      metadata: { name: "pv" },
      spec: { awsElasticBlockStore: { volumeID: vector.volumeID } },
    };
    expect(volumeView(volume)).toEqual({ name: "pv", driver: "ebs.csi.aws.com", handle: vector.handle });
    expect(bareHandle(vector.volumeID)).toBe(vector.handle);
  });

  it("of a CSI driver keeps its handle as it is, slashes too", () => {
    const csi = { driver: "ebs.csi.aws.com", volumeHandle: "local-ebs://dev/xvdb" };
    expect(volumeView({ metadata: { name: "pv" }, spec: { csi } })).toEqual({
      name: "pv",
      driver: "ebs.csi.aws.com",
      handle: "local-ebs://dev/xvdb",
    });
  });

  it("that nothing attaches has no driver", () => {
    expect(volumeView({ metadata: { name: "pv" }, spec: { local: { path: "/mnt" } } })).toEqual({
      name: "pv",
    });
  });
});

describe("a PersistentVolumeClaim", () => {
  it("names its volume once it is bound", () => {
    expect(claimView({ spec: { volumeName: "pv" } })).toEqual({ volumeName: "pv" });
    expect(claimView({ spec: {} })).toEqual({});
  });
});

describe("a table of VolumeAttachments", () => {
  const columnDefinitions = ["Name", "Attacher", "PV", "Node", "Attached", "Age"].map((name) => ({ name }));
  const cells = ["csi-1", "ebs.csi.aws.com", "pv-1", "n1", false, "0s"];
  const row = { name: "csi-1", attacher: "ebs.csi.aws.com", volumeName: "pv-1", nodeName: "n1" };

  it("is read row by row", () => {
    const table = { kind: "Table", columnDefinitions, rows: [{ cells, object: null }] };
    expect(attachmentRows(table)).toEqual([row]);
  });

  it("is read by its columns' names, wherever they stand", () => {
    const table = {
      kind: "Table",
      columnDefinitions: columnDefinitions.toReversed(),
      rows: [{ cells: cells.toReversed() }],
    };
    expect(attachmentRows(table)).toEqual([row]);
  });

  it("shows the node id where it comes with metadata", () => {
    const object = { metadata: { annotations: { "csi.alpha.kubernetes.io/node-id": "i-1" } } };
    const table = { kind: "Table", columnDefinitions, rows: [{ cells, object }] };
    expect(attachmentRows(table)).toEqual([{ ...row, nodeId: "i-1" }]);
  });

  it("leaves the volume out for an inline one", () => {
    const inline = cells.with(2, "");
    const [only] = attachmentRows({ kind: "Table", columnDefinitions, rows: [{ cells: inline }] }) ?? [];
    expect(only).not.toHaveProperty("volumeName");
  });

  it("with a column missing is no table, rather than one that says nothing is attached", () => {
    const without = columnDefinitions.filter((column) => column.name !== "Node");
    expect(attachmentRows({ kind: "Table", columnDefinitions: without, rows: [] })).toBeUndefined();
    expect(attachmentRows({ kind: "VolumeAttachmentList", items: [] })).toBeUndefined();
    expect(attachmentRows({ kind: "Table" })).toBeUndefined();
  });
});

it("any JSON makes views of the expected shape and no error", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (whole, part) => {
      const odd = {
        kind: "Table",
        metadata: { name: part, annotations: part },
        spec: { attacher: part, source: part, csi: part, awsElasticBlockStore: part, volumeName: part },
        columnDefinitions: [{ name: "Name" }, { name: "Attacher" }, { name: "PV" }, { name: "Node" }, part],
        rows: [part, { cells: [part, part], object: part }],
      };
      for (const json of [whole, odd]) {
        expect(typeof attachmentView(json).name).toBe("string");
        expect(typeof volumeView(json).name).toBe("string");
        expect(claimView(json)).toBeTypeOf("object");
      }
      expect(attachmentRows(odd)?.every((row) => typeof row.nodeName === "string")).toBe(true);
    }),
  );
});
