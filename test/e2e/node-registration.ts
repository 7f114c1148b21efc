/** What a kubelet writes about its machine: Node, CSINode and Lease. */
import { ApiRequestError, type ApiClient } from "./api-client.ts";
import type { ApiObject, Condition, CsiNode, CsiNodeDriver, Node } from "./api-objects.ts";

export interface Machine {
  readonly instanceId: string;
  readonly zone: string;
  readonly bootId: string;
}

export const nodePath = (name: string): string => `/api/v1/nodes/${name}`;
const csiNodes = "/apis/storage.k8s.io/v1/csinodes";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/**
 * Creates the Node, or adopts one of the same name as the real kubelet does: provider id, taints, unschedulable and
 * annotations stay as somebody else left them. The status that follows changes the bootID.
 */
export async function registerNode(
  client: ApiClient,
  name: string,
  machine: Machine,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": machine.zone,
        "topology.kubernetes.io/region": machine.zone.slice(0, -1),
        "topology.ebs.csi.aws.com/zone": machine.zone,
        ...labels,
      },
      // Without it the controller manager attaches nothing to the node.
      annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
    },
    spec: { providerID: `aws:///${machine.zone}/${machine.instanceId}` },
  };
  await client.create("/api/v1/nodes", node).catch(ignoreConflict);
}

export function nodeStatus(machine: Machine, ready: Condition, volumesInUse: readonly string[]): object {
  const size = { cpu: "16", memory: "64Gi", pods: "110" };
  return {
    status: {
      capacity: size,
      allocatable: size,
      conditions: [ready],
      nodeInfo: {
        machineID: machine.instanceId,
        systemUUID: machine.instanceId,
        bootID: machine.bootId,
        kernelVersion: "6.12",
        osImage: "stand-in",
        containerRuntimeVersion: "stand-in://1",
        kubeletVersion: "v1.37.2",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
      volumesInUse,
    },
  };
}

/**
 * Registers a driver under the machine's instance id. The entry of another machine is removed first, in a request of
 * its own: an entry is immutable, and the real kubelet gets there by a failed registration, which it undoes.
 */
export async function registerDriver(
  client: ApiClient,
  node: Node,
  name: string,
  instanceId: string,
): Promise<void> {
  const path = `${csiNodes}/${node.metadata.name}`;
  const present = await client.get<CsiNode>(path);
  const driver: CsiNodeDriver = {
    name,
    nodeID: instanceId,
    topologyKeys: ["topology.ebs.csi.aws.com/zone"],
    allocatable: { count: 25 },
  };
  if (present === undefined) {
    await client.create(csiNodes, csiNode(node, [driver])).catch(ignoreConflict);
    return;
  }
  const others = (present.spec.drivers ?? []).filter((entry) => entry.name !== name);
  const old = present.spec.drivers?.find((entry) => entry.name === name);
  if (old?.nodeID === instanceId) return;
  if (old) await client.patch("merge", path, { spec: { drivers: others } });
  await client.patch("merge", path, { spec: { drivers: [...others, driver] } });
}

/** What a kubelet does when the driver's registration socket goes. */
export async function unregisterDriver(client: ApiClient, node: string, name: string): Promise<void> {
  const path = `${csiNodes}/${node}`;
  const present = await client.get<CsiNode>(path);
  if (present === undefined) return;
  const drivers = (present.spec.drivers ?? []).filter((entry) => entry.name !== name);
  await client.patch("merge", path, { spec: { drivers } });
}

export async function renewLease(client: ApiClient, node: Node): Promise<void> {
  const { name } = node.metadata;
  const spec = {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace("Z", "000Z"), // microseconds
  };
  const answer = await client.request("PATCH", `${leases}/${name}`, { spec }, "application/merge-patch+json");
  if (answer.status === 404) await client.create(leases, { ...lease(node), spec } as ApiObject);
}

function lease(node: Node): ApiObject {
  const metadata = {
    name: node.metadata.name,
    namespace: "kube-node-lease",
    ownerReferences: [ownedBy(node)],
  };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
}

function csiNode(node: Node, drivers: readonly CsiNodeDriver[]): CsiNode {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: {
      name: node.metadata.name,
      // Says that in-tree EBS volumes are the CSI driver's; without it they are never attached.
      annotations: { "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs" },
      ownerReferences: [ownedBy(node)],
    },
    spec: { drivers },
  };
}

function ownedBy(node: Node): Readonly<Record<string, unknown>> {
  return { apiVersion: "v1", kind: "Node", name: node.metadata.name, uid: node.metadata.uid };
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof ApiRequestError && error.status === 409)) throw error;
}
