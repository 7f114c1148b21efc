/** Which volumes a pod means, and the names that the API gives them. */
import { createHash } from "node:crypto";
import { EBS_DRIVER } from "../drain/names.ts";
import type { ApiServer } from "./api-server.ts";
import type { AttachmentObject, PodObject, PodVolumeSource, VolumeObject } from "./cluster-objects.ts";

export interface PodVolume {
  readonly handle: string;
  readonly driver: string;
  readonly source: AttachmentObject["spec"]["source"];
}

/** The pod's CSI volumes; `undefined` while a claim of it is not bound or its PersistentVolume is missing. */
export function volumesOf(api: ApiServer, pod: PodObject): readonly PodVolume[] | undefined {
  const found: PodVolume[] = [];
  for (const source of pod.spec.volumes) {
    if (source.kind === "inline") {
      const handle = bareHandle(source.volumeId);
      found.push({ handle, driver: EBS_DRIVER, source: { inlineHandle: handle } });
      continue;
    }
    const volume = volumeOf(api, pod, source);
    if (volume === undefined) return undefined;
    const csi = csiOf(volume);
    if (csi !== undefined) found.push({ ...csi, source: { volumeName: volume.metadata.name } });
  }
  return found;
}

/** Zones that the pod's volumes bind it to. */
export function zonesOf(api: ApiServer, pod: PodObject): readonly string[] {
  return pod.spec.volumes.flatMap((source) => {
    const zone = source.kind === "inline" ? undefined : volumeOf(api, pod, source)?.spec.zone;
    return zone === undefined ? [] : [zone];
  });
}

export function claimNameOf(pod: PodObject, source: Exclude<PodVolumeSource, { kind: "inline" }>): string {
  return source.kind === "claim" ? source.claimName : `${pod.metadata.name}-${source.volume}`;
}

function volumeOf(
  api: ApiServer,
  pod: PodObject,
  source: Exclude<PodVolumeSource, { kind: "inline" }>,
): VolumeObject | undefined {
  const claim = api.claims.get(claimNameOf(pod, source), pod.metadata.namespace);
  return claim?.spec.volumeName === undefined ? undefined : api.volumes.get(claim.spec.volumeName);
}

/** Driver and handle; `undefined` where no CSI driver is behind it. */
export function csiOf(
  volume: VolumeObject,
): { readonly driver: string; readonly handle: string } | undefined {
  const { source } = volume.spec;
  switch (source.kind) {
    case "csi":
      return { driver: source.driver, handle: source.handle };
    case "in-tree":
      return { driver: EBS_DRIVER, handle: bareHandle(source.volumeId) };
    case "other":
      return undefined;
    default:
      return source satisfies never;
  }
}

/** The handle behind an attachment; `undefined` where its PersistentVolume is missing. */
export function handleOf(api: ApiServer, attachment: AttachmentObject): string | undefined {
  const { source } = attachment.spec;
  if ("inlineHandle" in source) return source.inlineHandle;
  const volume = api.volumes.get(source.volumeName);
  return volume === undefined ? undefined : csiOf(volume)?.handle;
}

/** A node-local volume of the EBS driver: it has an attachment, but EC2 is never asked. */
export function isLocal(handle: string): boolean {
  return handle.startsWith("local-ebs://");
}

/** `vol-…`, `aws://<zone>/vol-…` and `aws:///vol-…` alike. */
function bareHandle(volumeId: string): string {
  return volumeId.slice(volumeId.lastIndexOf("/") + 1);
}

/** As `Node.status.volumesInUse` and `volumesAttached` name a volume. */
export function uniqueName(volume: Pick<PodVolume, "driver" | "handle">): string {
  return `kubernetes.io/csi/${volume.driver}^${volume.handle}`;
}

/** The name that the attach/detach controller gives a VolumeAttachment. */
export function attachmentNameOf(volume: Pick<PodVolume, "driver" | "handle">, node: string): string {
  return `csi-${createHash("sha256").update(`${volume.handle}${volume.driver}${node}`).digest("hex")}`;
}
