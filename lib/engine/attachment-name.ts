import { createHash } from "node:crypto";

/**
 * Name that the attach/detach controller gives a VolumeAttachment: `csi-` and the SHA-256 of handle, driver and node name, just
 * concatenated. A short cut for finding one without a list; other tools give other names.
 */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash("sha256").update(`${handle}${driver}${nodeName}`).digest("hex")}`;
}
