/** A cluster full of VolumeAttachments, as attach/detach controller and external-attacher leave them. */
import { createHash } from "node:crypto";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import type { ApiClient } from "../e2e/api-client.ts";
import type { ApiObject } from "../e2e/api-objects.ts";
import { ATTACHMENTS, DRIVER } from "../e2e/hook-pod.ts";

/** Each of the client's connections is busy, none waits for another. */
const AT_ONCE = 32;
const PER_NODE = 25;
const REPORT_EVERY = 10_000;

export interface LoadedAttachment {
  readonly name: string;
  readonly handle: string;
  readonly node: string;
}

/** Creates the attachments with the numbers from `from` to below `to`: the same ones each time, 25 on each node. */
export async function loadAttachments(
  api: ApiClient,
  from: number,
  to: number,
  say: (line: string) => void,
): Promise<void> {
  let next = from;
  const work = async (): Promise<void> => {
    for (let number = next++; number < to; number = next++) {
      await addAttachment(api, attachmentOf(number));
      if ((number + 1) % REPORT_EVERY === 0) say(`${number + 1} attachments`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

export function attachmentOf(number: number): LoadedAttachment {
  return attachmentTo(nodeName(10, Math.floor(number / PER_NODE)), number);
}

/** @param network its nodes have addresses of their own @param number below 65,536 */
export function nodeName(network: number, number: number): string {
  return `ip-${network}-0-${number >> 8}-${number & 255}.us-west-2.compute.internal`;
}

export function attachmentTo(node: string, number: number): LoadedAttachment {
  const handle = `vol-0${hex(`volume ${number} of ${node}`, 16)}`;
  return { name: attachmentName(handle, DRIVER, node), handle, node };
}

/** Attached, with the attacher's finalizer, the node-id annotation and the device path, so that lists have their real size. */
export async function addAttachment(api: ApiClient, { name, handle, node }: LoadedAttachment): Promise<void> {
  await api.create(ATTACHMENTS, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: {
      name,
      annotations: { "csi.alpha.kubernetes.io/node-id": `i-0${hex(node, 16)}` },
      finalizers: ["external-attacher/ebs-csi-aws-com"],
    },
    spec: { attacher: DRIVER, nodeName: node, source: { persistentVolumeName: `pvc-${uuid(handle)}` } },
  } as ApiObject);
  // The API server drops the status of what is created.
  await api.patch("merge", `${ATTACHMENTS}/${name}/status`, {
    status: { attached: true, attachmentMetadata: { devicePath: "/dev/xvdaa" } },
  });
}

/** Gone when it resolves, as controller and attacher do it together. */
export async function detach(api: ApiClient, { name }: LoadedAttachment): Promise<void> {
  await api.delete(`${ATTACHMENTS}/${name}`);
  await api.patch("merge", `${ATTACHMENTS}/${name}`, { metadata: { finalizers: null } });
}

function hex(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

function uuid(text: string): string {
  const h = hex(text, 32);
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-a${h.slice(17, 20)}-${h.slice(20, 32)}`;
}
