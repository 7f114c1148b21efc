/** What is really so in the simulated world, without ports, lag or faults: what invariants are judged by. */
import type { PodObject } from "./cluster-objects.ts";
import { volumesOf } from "./cluster-volumes.ts";
import type { World } from "./world.ts";

/**
 * EBS volumes that the machine holds and that count: attached (or attaching, detaching, busy) in EC2, made by the CSI driver, and not
 * kept by a pod that stays with the node.
 */
export function volumesHeld(world: World, instance: string): readonly string[] {
  const pinned = pinnedVolumes(world, instance);
  return world.ec2
    .describeVolumes()
    .map(({ id }) => id)
    .filter((id) => world.ec2.volumeState(id, instance) !== "none")
    .filter((id) => isOfCsiDriver(world, id) && !pinned.has(id));
}

function isOfCsiDriver(world: World, volumeId: string): boolean {
  return world.cluster.api.volumes.list().some(({ spec: { source } }) => {
    switch (source.kind) {
      case "csi":
        return source.handle === volumeId;
      case "in-tree":
        return source.volumeId.endsWith(volumeId);
      case "other":
        return false;
      default:
        return source satisfies never;
    }
  });
}

/** Running DaemonSet pods, and pods that came back to the cordoned node, keep theirs to the end. */
function pinnedVolumes(world: World, instance: string): ReadonlySet<string> {
  const { api } = world.cluster;
  const staying = world
    .namesOf([instance])
    .flatMap((name) => api.podsOn(name))
    .filter((pod) => pod.metadata.controller?.kind === "DaemonSet" || toleratesCordon(pod));
  return new Set(staying.flatMap((pod) => (volumesOf(api, pod) ?? []).map(({ handle }) => handle)));
}

/** It may come back to the cordoned node, as often as it is evicted (D8). */
function toleratesCordon({ spec }: PodObject): boolean {
  return spec.tolerations.some(
    ({ key, operator }) => operator === "Exists" && key === "node.kubernetes.io/unschedulable",
  );
}

/** Pods whose containers still run on the machine and that have to go: D9's, C3's. */
export function podsRunning(world: World, instance: string): readonly string[] {
  const { api } = world.cluster;
  // A machine that hibernates keeps its processes, but they do not run.
  if (world.ec2.instance(instance)?.state !== "running") return [];
  return world.namesOf([instance]).flatMap((name) => {
    // D4: without a Node there is nothing to evict from; what ran there is lost to the cluster already.
    if (api.nodes.get(name) === undefined) return [];
    const kubelet = world.cluster.kubeletOf(name);
    if (kubelet === undefined || !kubelet.isOn || kubelet.options.instance !== instance) return [];
    const running = kubelet.running();
    return api
      .podsOn(name)
      .filter(({ metadata }) => running.includes(metadata.uid) && metadata.controller?.kind !== "DaemonSet")
      .filter((pod) => !toleratesCordon(pod))
      .map(({ metadata }) => metadata.name);
  });
}
