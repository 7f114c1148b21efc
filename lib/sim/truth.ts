/** What is really so in the simulated world, without ports, lag or faults: what invariants are judged by. */
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
    .filter(
      ({ metadata, spec }) =>
        metadata.controller?.kind === "DaemonSet" ||
        spec.tolerations.some(
          ({ key, operator }) => operator === "Exists" && key === "node.kubernetes.io/unschedulable",
        ),
    );
  return new Set(staying.flatMap((pod) => (volumesOf(api, pod) ?? []).map(({ handle }) => handle)));
}
