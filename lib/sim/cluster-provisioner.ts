/** Generic ephemeral volumes: claims that come and go with their pod, and the provisioner that makes their volumes. */
import { EBS_DRIVER } from "../drain/names.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";
import { claimNameOf } from "./cluster-volumes.ts";
import { ZONE_LABEL } from "./scheduler.ts";

export type CreateVolume = (zone: string, name: string) => string;

export function startProvisioner(context: ClusterContext, createVolume: CreateVolume | undefined): void {
  const { api, clock } = context;
  api.pods.watch((pod, change) => {
    const names = ephemeralClaims(pod);
    if (names.length === 0) return;
    if (change === "removed") {
      clock.after(draw(context, context.timing.watch), () => release(context, pod));
      return;
    }
    for (const name of names) claimFor(context, pod, name, createVolume);
  });
  api.attachments.watch(({ spec: { source } }, change) => {
    if (change === "removed" && "volumeName" in source) removeReleased(context, source.volumeName);
  });
}

function ephemeralClaims(pod: PodObject): readonly string[] {
  return pod.spec.volumes.flatMap((volume) =>
    volume.kind === "ephemeral" ? [claimNameOf(pod, volume)] : [],
  );
}

/** The claim at once, its volume once the node is chosen (WaitForFirstConsumer). */
function claimFor(
  { api }: ClusterContext,
  pod: PodObject,
  name: string,
  createVolume: CreateVolume | undefined,
): void {
  const { namespace = "" } = pod.metadata;
  const claim = api.claims.get(name, namespace) ?? api.claims.create({ name, namespace }, { spec: {} });
  const zone = pod.spec.nodeName && api.nodes.get(pod.spec.nodeName)?.metadata.labels[ZONE_LABEL];
  if (claim.spec.volumeName !== undefined || zone === undefined) return;
  if (createVolume === undefined) throw new Error(`no createVolume for the ephemeral volume ${name}`);
  const volumeName = `pvc-${claim.metadata.uid}`;
  const handle = createVolume(zone, volumeName);
  api.volumes.create(
    { name: volumeName },
    { spec: { source: { kind: "csi", driver: EBS_DRIVER, handle }, zone } },
  );
  api.claims.update(claim, ({ spec }) => {
    spec.volumeName = volumeName;
  });
}

/** The claim goes with its pod; the volume stays until it is attached nowhere. */
function release(context: ClusterContext, pod: PodObject): void {
  const { api } = context;
  for (const name of ephemeralClaims(pod)) {
    const claim = api.claims.get(name, pod.metadata.namespace);
    if (claim === undefined) continue;
    api.claims.delete(claim);
    if (claim.spec.volumeName !== undefined) removeReleased(context, claim.spec.volumeName);
  }
}

function removeReleased({ api }: ClusterContext, volumeName: string): void {
  const volume = api.volumes.get(volumeName);
  const isClaimed = api.claims.list().some(({ spec }) => spec.volumeName === volumeName);
  const isAttached = api.attachments
    .list()
    .some(({ spec: { source } }) => "volumeName" in source && source.volumeName === volumeName);
  // Volumes of claims that people make outlive their pods (Retain).
  if (volume !== undefined && volumeName.startsWith("pvc-") && !isClaimed && !isAttached) {
    api.volumes.delete(volume);
  }
}
