/** What tests keep asking the API server. */
import type { ApiClient } from "./api-client.ts";
import type { CsiNode, CsiNodeDriver, Pod, VolumeAttachment } from "./api-objects.ts";
import { attachmentPath, ebsDriver } from "./pod-volumes.ts";

export const podPath = (name: string, namespace = "default"): string =>
  `/api/v1/namespaces/${namespace}/pods/${name}`;

/** A running pod of the name, on the node where one is given. */
export async function isRunning(client: ApiClient, path: string, node?: string): Promise<boolean> {
  const pod = await client.get<Pod>(path);
  return pod?.status?.phase === "Running" && (node === undefined || pod.spec.nodeName === node);
}

export async function uidOf(client: ApiClient, path: string): Promise<string | undefined> {
  return (await client.get<Pod>(path))?.metadata.uid;
}

/** The attachment of an EBS volume to a node. */
export function attachmentOf(
  client: ApiClient,
  volumeId: string,
  node: string,
): Promise<VolumeAttachment | undefined> {
  return client.get(attachmentPath({ driver: ebsDriver, handle: volumeId }, node));
}

/** The CSI drivers that are registered on a node. */
export async function driversOf(client: ApiClient, node: string): Promise<readonly CsiNodeDriver[]> {
  const csiNode = await client.get<CsiNode>(`/apis/storage.k8s.io/v1/csinodes/${node}`);
  return csiNode?.spec.drivers ?? [];
}

/** Asks for an eviction as `kubectl drain` does, and returns the answer: 201, 429, 404. */
export async function evict(
  client: ApiClient,
  path: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
  return client.request("POST", `${path}/eviction`, eviction);
}

export async function setUnschedulable(
  client: ApiClient,
  node: string,
  unschedulable: boolean,
): Promise<void> {
  await client.patch("merge", `/api/v1/nodes/${node}`, { spec: { unschedulable } });
}
