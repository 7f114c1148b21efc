/** The engine's ClusterPort straight onto the simulated API server, in virtual time and through the faults. */
import type { PatchOperation } from "../drain/cluster.ts";
import { DISRUPTION_REASON, PRODUCT } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import type { FailureKind } from "../engine/errors.ts";
import { PortError } from "../engine/errors.ts";
import type { ClusterChanges, ClusterPort, ClusterReads, NodeEvent, PodRef } from "../engine/ports.ts";
import type { ApiServer } from "./api-server.ts";
import { ApiFault } from "./api-server.ts";
import type { VirtualClock } from "./clock.ts";
import { evict, violatedBudgets } from "./cluster-eviction.ts";
import { LEASE_NAMESPACE } from "./cluster-node-status.ts";
import { patchNode } from "./cluster-node-patch.ts";
import type { PodObject } from "./cluster-objects.ts";
import {
  attachmentRowOf,
  attachmentViewOf,
  csiNodeViewOf,
  leaseViewOf,
  nodeViewOf,
  podViewOf,
  volumeViewOf,
} from "./cluster-views.ts";
import type { Faults } from "./faults.ts";
import { callThroughFaults } from "./faults.ts";

/** A change as it reached the API server; one that a fault kept from it is not among them. */
export interface ChangeRecord {
  readonly method: keyof ClusterChanges;
  /** When the caller asked, and when the server acted. */
  readonly askedAt: Instant;
  readonly at: Instant;
  readonly outcome: "done" | FailureKind;
  /** The Node of it: patched, told in the Event, or that of the pod with this very uid. */
  readonly node?: string;
  readonly pod?: PodRef;
  readonly graceSeconds?: number;
  readonly patch?: readonly PatchOperation[];
  readonly event?: NodeEvent;
  /** Whether the pod was asked to end already. */
  readonly wasDeleting?: boolean;
  /** PodDisruptionBudgets that the pod's end violates at this moment (I5). */
  readonly violates?: readonly string[];
  /** Whether a kubelet works for the Node at this moment, whatever its Ready says, and on which machine (I9). */
  readonly kubeletLives?: boolean;
  readonly livingInstance?: string;
}

export interface SimulatedClusterPort extends ClusterPort {
  readonly changes: readonly ChangeRecord[];
  /** Requests so far, by port method. */
  readonly calls: () => Readonly<Record<string, number>>;
}

/** What the port needs of a cluster. */
export interface ServedCluster {
  readonly api: ApiServer;
  /** False while the API server cannot be reached by its clients. */
  readonly isReachable: () => boolean;
  readonly hasLivingKubelet: (node: string) => boolean;
  readonly kubeletOf: (
    node: string,
  ) => { readonly options: { readonly instance: string }; readonly hasStarted: boolean } | undefined;
}

/** A Node that is gone is nobody's, though a kubelet may still run under its name. */
function lifeOf(cluster: ServedCluster, node: string): Details {
  if (!cluster.hasLivingKubelet(node) || cluster.kubeletOf(node)?.hasStarted !== true) {
    return { node, kubeletLives: false };
  }
  const isThere = cluster.api.nodes.get(node) !== undefined;
  const instance = isThere ? cluster.kubeletOf(node)?.options.instance : undefined;
  return { node, kubeletLives: true, ...(instance === undefined ? {} : { livingInstance: instance }) };
}

type Call = <T>(method: keyof ClusterPort, effect: () => T) => Promise<T>;
type Details = Omit<ChangeRecord, "method" | "askedAt" | "at" | "outcome">;
type Change = (method: keyof ClusterChanges, look: () => Details, effect: () => void) => Promise<void>;

export function simulatedClusterPort(
  cluster: ServedCluster,
  clock: VirtualClock,
  faults: Faults,
): SimulatedClusterPort {
  const counts: Record<string, number> = {};
  const changes: ChangeRecord[] = [];
  const call: Call = (method, effect) => {
    counts[method] = (counts[method] ?? 0) + 1;
    const operation = `kubernetes.${method}`;
    return callThroughFaults(clock, faults, operation, () => {
      if (!cluster.isReachable())
        throw new PortError("network", operation, `${operation}: connection refused`);
      return effect();
    }).catch((error: unknown) => {
      throw error instanceof ApiFault ? portErrorOf(operation, error) : error;
    });
  };
  const change: Change = (method, look, effect) => {
    const askedAt = clock.now();
    return call(method, () => {
      const record = { method, askedAt, at: clock.now(), ...look() };
      try {
        effect();
        changes.push({ ...record, outcome: "done" });
      } catch (error) {
        changes.push({ ...record, outcome: error instanceof ApiFault ? kindOf(error) : "rejected" });
        throw error;
      }
    });
  };
  return {
    ...readsOf(cluster.api, call),
    ...changesOf(cluster, change, clock),
    changes,
    calls: () => ({ ...counts }),
  };
}

function readsOf(api: ApiServer, call: Call): ClusterReads {
  return {
    getNode: (name) => call("getNode", () => viewOf(api.nodes.get(name), nodeViewOf)),
    listNodes: () => call("listNodes", () => api.nodes.list().map(nodeViewOf)),
    listPodsOnNode: (node) => call("listPodsOnNode", () => api.podsOn(node).map(podViewOf)),
    getClaim: (namespace, name) =>
      call("getClaim", () => viewOf(api.claims.get(name, namespace), ({ spec }) => ({ ...spec }))),
    getVolume: (name) => call("getVolume", () => viewOf(api.volumes.get(name), volumeViewOf)),
    getAttachment: (name) => call("getAttachment", () => viewOf(api.attachments.get(name), attachmentViewOf)),
    listAttachmentRows: ({ withNodeIds }) =>
      call("listAttachmentRows", () =>
        api.attachments.list().map((attachment) => attachmentRowOf(attachment, withNodeIds)),
      ),
    getCsiNode: (name) => call("getCsiNode", () => viewOf(api.csiNodes.get(name), csiNodeViewOf)),
    getLease: (node) => call("getLease", () => viewOf(api.leases.get(node, LEASE_NAMESPACE), leaseViewOf)),
  };
}

function viewOf<T, V>(object: T | undefined, view: (object: T) => V): V | undefined {
  return object === undefined ? undefined : view(object);
}

function changesOf(cluster: ServedCluster, change: Change, clock: VirtualClock): ClusterChanges {
  const { api } = cluster;
  const ofNode = (node: string): Details => lifeOf(cluster, node);
  const ofPod = (pod: PodRef, graceSeconds?: number): Details => ({
    pod,
    ...(graceSeconds === undefined ? {} : { graceSeconds }),
    ...podDetails(cluster, pod),
  });
  const deletionOf = (pod: PodRef, graceSeconds?: number) => ({
    uid: pod.uid,
    ...(graceSeconds === undefined ? {} : { graceSeconds }),
  });
  return {
    patchNode: async (name, patch) => {
      let view;
      await change(
        "patchNode",
        () => ({ ...ofNode(name), patch }),
        () => {
          view = nodeViewOf(patchNode(api, name, patch));
        },
      );
      return view ?? nodeViewOf(api.nodes.require(name));
    },
    evictPod: (pod, grace) =>
      change(
        "evictPod",
        () => ofPod(pod, grace),
        () => evict(api, pod, deletionOf(pod, grace)),
      ),
    deletePod: (pod, grace) =>
      change(
        "deletePod",
        () => ofPod(pod, grace),
        () => api.deletePod(pod.namespace, pod.name, deletionOf(pod, grace)),
      ),
    failPod: (pod, message) =>
      change(
        "failPod",
        () => ofPod(pod),
        () => failPod(api, pod, message),
      ),
    recordEvent: (event) =>
      change(
        "recordEvent",
        () => ({ ...ofNode(event.node), event }),
        () => recordEvent(api, event, clock.now()),
      ),
  };
}

function podDetails(cluster: ServedCluster, ref: PodRef): Details {
  const pod = cluster.api.pods.get(ref.name, ref.namespace);
  if (pod?.metadata.uid !== ref.uid) return {};
  const { nodeName } = pod.spec;
  return {
    wasDeleting: pod.metadata.deletionTimestamp !== undefined,
    violates: violatedBudgets(cluster.api, pod),
    ...(nodeName === undefined ? {} : lifeOf(cluster, nodeName)),
  };
}

function failPod(api: ApiServer, ref: PodRef, message: string): void {
  const pod: PodObject = api.pods.require(ref.name, ref.namespace);
  if (pod.metadata.uid !== ref.uid)
    throw new ApiFault(409, `the pod's UID is ${pod.metadata.uid}, not ${ref.uid}`);
  api.pods.update(pod, ({ status }) => {
    status.phase = "Failed";
    status.ready = false;
    status.disruptionTarget = { reason: DISRUPTION_REASON, message };
  });
}

function recordEvent(api: ApiServer, event: NodeEvent, now: Instant): void {
  const { node, type, reason, message } = event;
  const isThere = api.events.some(
    (other) => other.node === node && other.reason === reason && other.message === message,
  );
  if (!isThere) api.events.push({ node, type, reason, message, component: PRODUCT, at: now });
}

function portErrorOf(operation: string, fault: ApiFault): PortError {
  return new PortError(kindOf(fault), operation, `${fault.message} (${fault.code})`, {
    cause: fault,
    ...(fault.budget === undefined ? {} : { budget: fault.budget }),
  });
}

function kindOf({ code, causeReason }: ApiFault): FailureKind {
  switch (code) {
    case 403:
      return causeReason === "NamespaceTerminating" ? "namespace-terminating" : "forbidden";
    case 404:
      return "not-found";
    case 409:
    case 422:
      return "conflict";
    case 429:
      return causeReason === "DisruptionBudget" ? "disruption-budget" : "throttled";
    case 500:
      return "server";
    default:
      return code satisfies never;
  }
}
