/** The volumes of a pod, as a kubelet sees them: through claims and PersistentVolumes to the driver's handle. */
import { createHash } from "node:crypto";
import type { ApiClient } from "./api-client.ts";
import type { PersistentVolume, PersistentVolumeClaim, Pod, PodVolume } from "./api-objects.ts";

export const ebsDriver = "ebs.csi.aws.com";

export interface NodeVolume {
  readonly driver: string;
  /** The driver's name of the volume: for EBS the volume id. */
  readonly handle: string;
}

/** The volume's name in `volumesInUse` and `volumesAttached`. */
export function uniqueName({ driver, handle }: NodeVolume): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** The name that the attach/detach controller gives a VolumeAttachment. */
export function attachmentName({ driver, handle }: NodeVolume, node: string): string {
  return `csi-${createHash("sha256").update(`${handle}${driver}${node}`).digest("hex")}`;
}

export function attachmentPath(volume: NodeVolume, node: string): string {
  return `/apis/storage.k8s.io/v1/volumeattachments/${attachmentName(volume, node)}`;
}

/** @returns undefined while a claim is not bound: the pod has to wait */
export async function volumesOf(client: ApiClient, pod: Pod): Promise<readonly NodeVolume[] | undefined> {
  const volumes: NodeVolume[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    const found = await resolve(client, pod, volume);
    if (found === "not bound") return undefined;
    if (found !== "not persistent") volumes.push(found);
  }
  return volumes;
}

async function resolve(
  client: ApiClient,
  pod: Pod,
  volume: PodVolume,
): Promise<NodeVolume | "not bound" | "not persistent"> {
  if (volume.awsElasticBlockStore) return inTree(volume.awsElasticBlockStore.volumeID);
  const claimName = volume.persistentVolumeClaim?.claimName;
  if (claimName === undefined) return "not persistent";
  const claim = await client.get<PersistentVolumeClaim>(
    `/api/v1/namespaces/${pod.metadata.namespace}/persistentvolumeclaims/${claimName}`,
  );
  if (claim?.spec.volumeName === undefined || claim.status?.phase !== "Bound") return "not bound";
  const path = `/api/v1/persistentvolumes/${claim.spec.volumeName}`;
  const { csi, awsElasticBlockStore } = (await client.get<PersistentVolume>(path))?.spec ?? {};
  if (csi) return { driver: csi.driver, handle: csi.volumeHandle };
  return awsElasticBlockStore ? inTree(awsElasticBlockStore.volumeID) : "not persistent";
}

/** In-tree volumes have been the CSI driver's since 1.23; the zone before the id is of no use to anybody. */
function inTree(volumeId: string): NodeVolume {
  return { driver: ebsDriver, handle: volumeId.slice(volumeId.lastIndexOf("/") + 1) };
}
