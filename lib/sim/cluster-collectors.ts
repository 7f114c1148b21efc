/** What clears away after nodes: pod GC, the cloud controller, and the garbage collector of what a Node owns. */
import { OUT_OF_SERVICE_TAINT } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw, untilNext } from "./cluster-context.ts";
import { LEASE_NAMESPACE } from "./cluster-node-status.ts";
import type { NodeObject, PodObject } from "./cluster-objects.ts";
import { hasTaint, isDeleting, isFinished, isReady } from "./cluster-objects.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

const DISRUPTION = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };
const SHUTDOWN_TAINT = "node.cloudprovider.kubernetes.io/shutdown";

/**
 * Pod GC, every 20 s: pods of a Node that is gone, 40 s after that was first noticed; terminating pods of a Node that is
 * out of service and not ready. While a Node of the name exists, its pods are no orphans.
 */
export function startPodCollector(context: ClusterContext): void {
  const { api, clock, controllerManager, timing } = context;
  const { period, quarantine } = timing.podCollection;
  const phase = draw(context, [0, period - 1]);
  const missing = new Map<string, Instant>();
  const queue = new WorkQueue(
    clock,
    controllerManager,
    () => untilNext(clock.now(), period, phase),
    (key) => {
      for (const name of missing.keys()) if (api.nodes.get(name) !== undefined) missing.delete(name);
      const left = api.pods.list().filter((pod) => !isCollected(pod));
      if (left.length > 0) queue.add(key);
    },
  );
  const isCollected = (pod: PodObject): boolean => {
    const { nodeName } = pod.spec;
    if (nodeName === undefined) return true;
    const node = api.nodes.get(nodeName);
    if (node === undefined) {
      const since = missing.get(nodeName) ?? clock.now();
      missing.set(nodeName, since);
      if (clock.now() - since < quarantine) return false;
    } else if (!isDeleting(pod) || !isOutOfService(node)) return true;
    else if (isReady(node)) return false;
    return collect(context, pod);
  };
  api.nodes.watch((node, change) => {
    if (change === "removed" || isOutOfService(node)) queue.add("all");
  });
  api.pods.watch(({ spec: { nodeName } }, change) => {
    if (change === "removed" || nodeName === undefined) return;
    const node = api.nodes.get(nodeName);
    if (node === undefined || isOutOfService(node)) queue.add("all");
  });
}

function isOutOfService(node: NodeObject): boolean {
  return hasTaint(node, OUT_OF_SERVICE_TAINT);
}

function collect({ api, note }: ClusterContext, pod: PodObject): boolean {
  const { name, namespace = "", uid } = pod.metadata;
  note("pod", name, "collected");
  if (!isFinished(pod)) {
    api.pods.update(pod, ({ status }) => {
      status.phase = "Failed";
      status.ready = false;
      status.disruptionTarget = DISRUPTION;
    });
  }
  api.deletePod(namespace, name, { uid, graceSeconds: 0 });
  return true;
}

/** Deletes a Node that is not ready and whose instance is gone; marks one whose instance is stopped. */
export function startCloudController(context: ClusterContext, period: number): void {
  const { api, clock, host } = context;
  const phase = draw(context, [0, period - 1]);
  const queue = new WorkQueue(
    clock,
    api.gate,
    () => untilNext(clock.now(), period, phase),
    (name) => {
      const node = api.nodes.get(name);
      if (node === undefined || isReady(node)) return;
      const instance = node.spec.providerID?.split("/").at(-1);
      if (instance === undefined) return;
      const state = host.instance(instance)?.state ?? "terminated";
      if (state === "terminated") {
        context.note("node", name, `deleted: ${instance} does not exist`);
        return api.nodes.delete(node);
      }
      if (state === "stopped" && !hasTaint(node, SHUTDOWN_TAINT)) {
        api.nodes.update(node, ({ spec }) => {
          spec.taints = [...(spec.taints ?? []), { key: SHUTDOWN_TAINT, effect: "NoSchedule" }];
        });
      }
      queue.add(name);
    },
  );
  api.nodes.watch((node, change) => {
    if (change === "removed") return;
    if (!isReady(node)) queue.add(node.metadata.name);
    else if (hasTaint(node, SHUTDOWN_TAINT)) {
      api.nodes.update(node, ({ spec }) => {
        spec.taints = spec.taints?.filter(({ key }) => key !== SHUTDOWN_TAINT) ?? [];
      });
    }
  });
}

/** CSINode and Lease have the Node as their owner. */
export function startOwnerCollector(context: ClusterContext): void {
  const { api, clock, controllerManager, timing } = context;
  const queue = new WorkQueue(
    clock,
    controllerManager,
    () => draw(context, timing.watch),
    (name) => {
      if (api.nodes.get(name) !== undefined) return;
      const csiNode = api.csiNodes.get(name);
      if (csiNode !== undefined) api.csiNodes.delete(csiNode);
      const lease = api.leases.get(name, LEASE_NAMESPACE);
      if (lease !== undefined) api.leases.delete(lease);
    },
  );
  api.nodes.watch(({ metadata }, change) => {
    if (change === "removed") queue.add(metadata.name);
  });
}
