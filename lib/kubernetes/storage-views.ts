/** Volumes and their attachments as the domain sees them. The input is the API's JSON, plain or as client-node's classes hold it. */
import type { AttachmentRow, AttachmentView, VolumeView } from "../drain/cluster.ts";
import { EBS_DRIVER, NODE_ID_ANNOTATION } from "../drain/names.ts";
import { at, given, isDeleting, objectsAt, textAt } from "./json-fields.ts";

export function attachmentView(attachment: unknown): AttachmentView {
  return {
    name: textAt(attachment, "metadata", "name") ?? "",
    attacher: textAt(attachment, "spec", "attacher") ?? "",
    nodeName: textAt(attachment, "spec", "nodeName") ?? "",
    ...given("volumeName", textAt(attachment, "spec", "source", "persistentVolumeName")),
    ...given("inlineHandle", sourceOf(at(attachment, "spec", "source", "inlineVolumeSpec"))?.handle),
    deleting: isDeleting(attachment),
    ...given("detachError", textAt(attachment, "status", "detachError", "message")),
  };
}

export function volumeView(volume: unknown): VolumeView {
  return { name: textAt(volume, "metadata", "name") ?? "", ...sourceOf(at(volume, "spec")) };
}

/** `spec.volumeName` of a PersistentVolumeClaim. */
export function claimView(claim: unknown): { readonly volumeName?: string } {
  return given("volumeName", textAt(claim, "spec", "volumeName"));
}

/** Driver and handle of a PersistentVolumeSpec; undefined for a volume that nothing attaches (NFS, local, …). */
function sourceOf(spec: unknown): { readonly driver: string; readonly handle: string } | undefined {
  const [driver, handle] = [textAt(spec, "csi", "driver"), textAt(spec, "csi", "volumeHandle")];
  if (driver !== undefined && handle !== undefined) return { driver, handle };
  const inTree = textAt(spec, "awsElasticBlockStore", "volumeID");
  return inTree === undefined ? undefined : { driver: EBS_DRIVER, handle: bareHandle(inTree) };
}

/** The `vol-…` of an in-tree volumeID: `vol-…`, `aws://<zone>/vol-…` or `aws:///vol-…`. */
export function bareHandle(volumeId: string): string {
  return volumeId.slice(volumeId.lastIndexOf("/") + 1);
}

/** The columns that an attachment's row is read from. */
const COLUMNS = ["Name", "Attacher", "PV", "Node"] as const;

/**
 * Rows of a Table (meta.k8s.io/v1) of VolumeAttachments.
 * @returns undefined where this is no such table: taken for an empty one it would say that nothing is attached
 */
export function attachmentRows(table: unknown): readonly AttachmentRow[] | undefined {
  if (at(table, "kind") !== "Table") return undefined;
  const names = objectsAt(table, "columnDefinitions").map((column) => column["name"]);
  const indexes = COLUMNS.map((column) => names.indexOf(column));
  if (indexes.includes(-1)) return undefined;
  return objectsAt(table, "rows").map((row) => {
    const cells = at(row, "cells");
    const [name, attacher, volumeName, nodeName] = indexes.map((index) => cellText(cells, index));
    return {
      name: name ?? "",
      attacher: attacher ?? "",
      nodeName: nodeName ?? "",
      ...given("volumeName", volumeName),
      ...given("nodeId", textAt(row, "object", "metadata", "annotations", NODE_ID_ANNOTATION)),
    };
  });
}

function cellText(cells: unknown, index: number): string | undefined {
  const cell: unknown = Array.isArray(cells) ? cells[index] : undefined;
  return typeof cell === "string" && cell !== "" ? cell : undefined;
}
