/** The cluster contract's harness over a real API server on which no controller, scheduler or kubelet runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { ClusterConnection } from "../../lib/kubernetes/connection.ts";
import type {
  AttachmentSeed,
  ClusterHarness,
  NodeEventRecord,
  NodeSeed,
  PodSeed,
  VolumeSeed,
} from "../contract/cluster-harness.ts";
import type { ApiClient } from "./api-client.ts";
import type { ApiObject } from "./api-objects.ts";

const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/**
 * @param api an administrator's, for what the harness arranges; it stays open
 * @param connection of the port that is tried; `close` ends it
 */
export async function realClusterHarness(
  api: ApiClient,
  connection: ClusterConnection,
): Promise<ClusterHarness> {
  const port = createClusterPort(connection);
  await addServiceAccount(api, "default");
  await addServiceAccount(api, "kube-system");
  return {
    port,
    ...arrangeNodes(api),
    ...arrangePods(api),
    ...arrangeVolumes(api),
    close: () => port.close(),
  };
}

function arrangeNodes(api: ApiClient) {
  return {
    addNode: (seed) => addNode(api, seed),
    addCsiNode: async ({ name, nodeIds }) => {
      const drivers = Object.entries(nodeIds).map(([driver, nodeID]) => ({ name: driver, nodeID }));
      await api.create("/apis/storage.k8s.io/v1/csinodes", {
        ...object("storage.k8s.io/v1", "CSINode", name),
        spec: { drivers },
      });
    },
    renewLease: async (node, renewTime) => {
      const spec = { holderIdentity: node, leaseDurationSeconds: 40, renewTime };
      if ((await api.get(`${LEASES}/${node}`)) !== undefined) {
        await api.patch("merge", `${LEASES}/${node}`, { spec });
        return;
      }
      await api.create(LEASES, { ...object("coordination.k8s.io/v1", "Lease", node), spec });
    },
    listEvents: async (node) => {
      const selector = `involvedObject.kind=Node,involvedObject.name=${node}`;
      const events = await api.list<ApiEvent>(`/api/v1/events?fieldSelector=${encodeURIComponent(selector)}`);
      return events.items.map((event): NodeEventRecord => ({
        type: event.type,
        reason: event.reason,
        message: event.message,
        component: event.reportingComponent,
      }));
    },
  } satisfies Partial<ClusterHarness>;
}

interface ApiEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly reportingComponent: string;
}

async function addNode(api: ApiClient, seed: NodeSeed): Promise<void> {
  const { name, providerId, unschedulable, taints = [], annotations } = seed;
  await api.create("/api/v1/nodes", {
    ...object("v1", "Node", name),
    metadata: { name, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      ...(providerId === undefined ? {} : { providerID: providerId }),
      ...(unschedulable === undefined ? {} : { unschedulable }),
    },
  });
  // Admission taints every new Node not-ready; the node lifecycle controller would take that off.
  await api.patch("merge", `/api/v1/nodes/${name}`, { spec: { taints } });
  const ready = seed.ready ?? { status: "True", reason: "KubeletReady", message: "kubelet is ready" };
  const at = new Date().toISOString().replace(/\.\d+Z$/u, "Z");
  await api.patch("strategic", `/api/v1/nodes/${name}/status`, {
    status: {
      conditions: [{ type: "Ready", ...ready, lastHeartbeatTime: at, lastTransitionTime: at }],
      nodeInfo: { bootID: seed.bootId ?? `boot-of-${name}` },
      volumesInUse: seed.volumesInUse ?? [],
    },
  });
}

function arrangePods(api: ApiClient) {
  return {
    addPod: (seed) => addPod(api, seed),
    addNamespace: async (name) => {
      await api.create("/api/v1/namespaces", object("v1", "Namespace", name));
      await addServiceAccount(api, name);
    },
    endNamespace: async (name) => {
      await api.delete(`/api/v1/namespaces/${name}`);
    },
    addBudget: async ({ namespace, name, labels }) => {
      const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
      await api.create(path, {
        ...object("policy/v1", "PodDisruptionBudget", name),
        spec: { minAvailable: 1, selector: { matchLabels: labels } },
      });
      await api.patch("merge", `${path}/${name}/status`, {
        status: {
          observedGeneration: 1,
          expectedPods: 1,
          desiredHealthy: 1,
          currentHealthy: 1,
          disruptionsAllowed: 0,
        },
      });
    },
  } satisfies Partial<ClusterHarness>;
}

async function addPod(api: ApiClient, seed: PodSeed): Promise<{ readonly uid: string }> {
  const { namespace, name, node, labels = {}, finalizers = [], claims = [], tolerations = [] } = seed;
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { metadata } = await api.create<ApiObject & { readonly spec: object }>(path, {
    ...object("v1", "Pod", name),
    metadata: { name, labels, finalizers },
    spec: {
      nodeName: node,
      containers: [{ name: "main", image: "example.com/main" }],
      tolerations,
      volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
      ...(seed.priorityClass === undefined ? {} : { priorityClassName: seed.priorityClass }),
    },
  });
  await api.patch("strategic", `${path}/${name}/status`, {
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  });
  return { uid: metadata.uid ?? "" };
}

function arrangeVolumes(api: ApiClient) {
  return {
    addClaim: async ({ namespace, name, volumeName }) => {
      await api.create(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, {
        ...object("v1", "PersistentVolumeClaim", name),
        spec: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
          ...(volumeName === undefined ? {} : { volumeName }),
        },
      });
    },
    addVolume: async ({ name, source }) => {
      await api.create("/api/v1/persistentvolumes", {
        ...object("v1", "PersistentVolume", name),
        spec: volumeSpec(source),
      });
    },
    addAttachments: async (seeds) => {
      // By tens: the API server's priority and fairness has few seats on a small machine.
      for (let start = 0; start < seeds.length; start += 10) {
        const some = seeds.slice(start, start + 10);
        await Promise.all(some.map((seed) => api.create(ATTACHMENTS, attachmentObject(seed))));
      }
    },
    failDetach: async (name, message) => {
      await api.delete(`${ATTACHMENTS}/${name}`);
      await api.patch("merge", `${ATTACHMENTS}/${name}/status`, {
        status: { attached: true, detachError: { message, time: "2026-10-01T12:00:00Z" } },
      });
    },
  } satisfies Partial<ClusterHarness>;
}

function volumeSpec(source: VolumeSeed["source"]): Readonly<Record<string, unknown>> {
  const common = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } };
  switch (source.kind) {
    case "csi":
      return { ...common, csi: { driver: source.driver, volumeHandle: source.handle } };
    case "in-tree":
      return { ...common, awsElasticBlockStore: { volumeID: source.volumeId } };
    case "nfs":
      return { ...common, nfs: { server: "nfs.example.com", path: "/" } };
    default:
      return source satisfies never;
  }
}

function attachmentObject({ name, attacher, nodeName, source, nodeId }: AttachmentSeed): ApiObject {
  // An inline volume has no capacity: the API server refuses one here and demands it of a PersistentVolume.
  const inline = (volumeHandle: string) => ({
    accessModes: ["ReadWriteOnce"],
    csi: { driver: attacher, volumeHandle },
  });
  return {
    ...object("storage.k8s.io/v1", "VolumeAttachment", name),
    metadata: {
      name,
      finalizers: [`external-attacher/${attacher.replaceAll(".", "-")}`],
      ...(nodeId === undefined ? {} : { annotations: { "csi.alpha.kubernetes.io/node-id": nodeId } }),
    },
    spec: {
      attacher,
      nodeName,
      source:
        "volumeName" in source
          ? { persistentVolumeName: source.volumeName }
          : { inlineVolumeSpec: inline(source.inlineHandle) },
    },
  } as ApiObject;
}

function object(apiVersion: string, kind: string, name: string) {
  return { apiVersion, kind, metadata: { name } };
}

/** Pods are admitted only where the default ServiceAccount exists; the system's namespaces themselves appear a moment after the start. */
async function addServiceAccount(api: ApiClient, namespace: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const account = object("v1", "ServiceAccount", "default");
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    const { status, body } = await api.request("POST", path, account);
    if (status === 201 || status === 409) return;
    if (attempt === 50) throw new Error(`no ServiceAccount in ${namespace}: ${JSON.stringify(body)}`);
    await sleep(200);
  }
}
