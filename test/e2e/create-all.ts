/** Creating objects of any kind that a test needs. */
import type { ApiClient } from "./api-client.ts";
import type { ApiObject } from "./api-objects.ts";

const core = "v1";
const storage = "storage.k8s.io/v1";
const apps = "apps/v1";

/** Of each kind its API version and the name of its collection; `inNamespace` where it lives in one. */
const kinds = {
  CSIDriver: { apiVersion: storage, collection: "csidrivers", inNamespace: false },
  StorageClass: { apiVersion: storage, collection: "storageclasses", inNamespace: false },
  VolumeAttachment: { apiVersion: storage, collection: "volumeattachments", inNamespace: false },
  Namespace: { apiVersion: core, collection: "namespaces", inNamespace: false },
  PersistentVolume: { apiVersion: core, collection: "persistentvolumes", inNamespace: false },
  PersistentVolumeClaim: { apiVersion: core, collection: "persistentvolumeclaims", inNamespace: true },
  Pod: { apiVersion: core, collection: "pods", inNamespace: true },
  StatefulSet: { apiVersion: apps, collection: "statefulsets", inNamespace: true },
  Deployment: { apiVersion: apps, collection: "deployments", inNamespace: true },
  DaemonSet: { apiVersion: apps, collection: "daemonsets", inNamespace: true },
  PodDisruptionBudget: { apiVersion: "policy/v1", collection: "poddisruptionbudgets", inNamespace: true },
} as const;

type Kind = keyof typeof kinds;

export interface TestObject extends ApiObject {
  readonly kind: Kind;
}

export function object(
  kind: Kind,
  content: Pick<ApiObject, "metadata"> & Readonly<Record<string, unknown>>,
): TestObject {
  return { apiVersion: kinds[kind].apiVersion, kind, ...content };
}

/** Creates objects one after the other. @throws ApiRequestError for the first that is refused */
export async function createAll(client: ApiClient, objects: readonly TestObject[]): Promise<void> {
  for (const object of objects) await client.create(collectionPath(object), object);
}

function collectionPath({ kind, metadata }: TestObject): string {
  const { apiVersion, collection, inNamespace } = kinds[kind];
  const root = apiVersion === core ? "/api" : "/apis";
  const namespace = inNamespace ? `/namespaces/${metadata.namespace ?? "default"}` : "";
  return `${root}/${apiVersion}${namespace}/${collection}`;
}
