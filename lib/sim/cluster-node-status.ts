/** What a kubelet writes of its node: Node, CSINode and Lease. */
import { EBS_DRIVER } from "../drain/names.ts";
import { isoOf } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import type { NodeObject, ReadyCondition } from "./cluster-objects.ts";
import { readyOf } from "./cluster-objects.ts";
import { ZONE_LABEL } from "./scheduler.ts";

export interface NodeIdentity {
  readonly name: string;
  readonly instance: string;
  readonly zone: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Node ids of other CSI drivers on it. */
  readonly otherDrivers: Readonly<Record<string, string>>;
}

export const READY = {
  status: "True",
  reason: "KubeletReady",
  message: "kubelet is posting ready status",
} as const;
export const STARTING = {
  status: "False",
  reason: "KubeletNotReady",
  message: "container runtime network not ready",
} as const;
export const SHUTTING_DOWN = {
  status: "False",
  reason: "KubeletNotReady",
  message: "node is shutting down",
} as const;

/**
 * Registers the node. A kubelet that finds a Node of its name adopts it: provider id, taints, cordon and annotations stay, only
 * the boot id is new.
 */
export function registerNode(context: ClusterContext, identity: NodeIdentity, bootID: string): void {
  const { api, note, clock } = context;
  const { name, instance, zone } = identity;
  const existing = api.nodes.get(name);
  if (existing === undefined) {
    const ready: ReadyCondition = { type: "Ready", ...STARTING, lastTransitionTime: clock.now() };
    api.nodes.create(
      {
        name,
        labels: { "kubernetes.io/hostname": name, [ZONE_LABEL]: zone, ...identity.labels },
        annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
      },
      {
        spec: { providerID: `aws:///${zone}/${instance}` },
        status: { nodeInfo: { bootID }, conditions: [ready] },
      },
    );
    note("node", name, `registered for ${instance}`);
  } else {
    api.nodes.update(existing, ({ status }) => {
      status.nodeInfo = { bootID };
    });
    setReady(context, existing, STARTING);
    note("node", name, `was previously registered, now ${instance}`);
  }
  if (api.csiNodes.get(name) === undefined) {
    api.csiNodes.create({ name }, { spec: { drivers: { ...identity.otherDrivers } } });
  }
  renewLease(context, name);
}

/** Sets the Ready condition; its transition time changes only with its status. */
export function setReady(
  context: ClusterContext,
  node: NodeObject,
  ready: Pick<ReadyCondition, "status" | "reason" | "message">,
): void {
  const current = readyOf(node);
  if (current?.status === ready.status && current.message === ready.message) return;
  context.note("node", node.metadata.name, `Ready ${ready.status}: ${ready.message}`);
  const lastTransitionTime =
    current?.status === ready.status ? current.lastTransitionTime : context.clock.now();
  context.api.nodes.update(node, ({ status }) => {
    status.conditions = [{ type: "Ready", ...ready, lastTransitionTime }];
  });
}

export function reportInUse(context: ClusterContext, node: NodeObject, names: readonly string[]): void {
  if ((node.status.volumesInUse ?? []).join() === names.join()) return;
  context.api.nodes.update(node, ({ status }) => {
    status.volumesInUse = [...names];
  });
  context.note("node", node.metadata.name, `volumesInUse: ${names.length}`);
}

export function renewLease({ api, clock }: ClusterContext, name: string): void {
  const renewTime = isoOf(clock.now()).replace("Z", "000Z");
  const lease = api.leases.get(name, LEASE_NAMESPACE);
  if (lease === undefined) api.leases.create({ name, namespace: LEASE_NAMESPACE }, { spec: { renewTime } });
  else {
    api.leases.update(lease, ({ spec }) => {
      spec.renewTime = renewTime;
    });
  }
}

export const LEASE_NAMESPACE = "kube-node-lease";

/** The registrar's work: the driver's node id in CSINode, or its removal. */
export function setDriver({ api }: ClusterContext, name: string, nodeId: string | undefined): void {
  const csiNode = api.csiNodes.get(name);
  if (csiNode === undefined || csiNode.spec.drivers[EBS_DRIVER] === nodeId) return;
  api.csiNodes.update(csiNode, ({ spec }) => {
    const { [EBS_DRIVER]: _, ...others } = spec.drivers;
    spec.drivers = nodeId === undefined ? others : { ...others, [EBS_DRIVER]: nodeId };
  });
}
