/** The simulated API's objects as the domain sees them. */
import type {
  AttachmentRow,
  AttachmentView,
  CsiNodeView,
  LeaseView,
  NodeView,
  PodView,
  Toleration,
  VolumeView,
} from "../drain/cluster.ts";
import { NODE_ID_ANNOTATION, WORK_ANNOTATION } from "../drain/names.ts";
import type {
  AttachmentObject,
  CsiNodeObject,
  LeaseObject,
  NodeObject,
  PodObject,
  VolumeObject,
} from "./cluster-objects.ts";
import { isDeleting, isMirror, readyOf } from "./cluster-objects.ts";
import { claimNameOf, csiOf } from "./cluster-volumes.ts";

export function nodeViewOf({ metadata, spec, status }: NodeObject): NodeView {
  const ready = readyOf({ metadata, spec, status });
  const work = metadata.annotations?.[WORK_ANNOTATION];
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    bootId: status.nodeInfo.bootID,
    unschedulable: spec.unschedulable ?? false,
    taints: (spec.taints ?? []).map((taint) => ({ ...taint })),
    hasAnnotations: metadata.annotations !== undefined,
    ready: {
      status: ready?.status ?? "Unknown",
      reason: ready?.reason ?? "",
      message: ready?.message ?? "",
      since: ready?.lastTransitionTime ?? metadata.creationTimestamp,
    },
    volumesInUse: [...(status.volumesInUse ?? [])],
    deleting: metadata.deletionTimestamp !== undefined,
    ...(spec.providerID === undefined ? {} : { providerId: spec.providerID }),
    ...(work === undefined ? {} : { work }),
  };
}

export function podViewOf(pod: PodObject): PodView {
  const { metadata, spec, status } = pod;
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    uid: metadata.uid,
    nodeName: spec.nodeName ?? "",
    phase: status.phase,
    createdAt: metadata.creationTimestamp,
    deleting: isDeleting(pod),
    mirror: isMirror(pod),
    graceSeconds: spec.terminationGracePeriodSeconds,
    tolerations: spec.tolerations.map(tolerationViewOf),
    labels: { ...metadata.labels },
    containers: [...spec.containers],
    claims: spec.volumes.flatMap((volume) => (volume.kind === "inline" ? [] : [claimNameOf(pod, volume)])),
    inlineHandles: spec.volumes.flatMap((volume) =>
      volume.kind === "inline" ? [volume.volumeId.slice(volume.volumeId.lastIndexOf("/") + 1)] : [],
    ),
    ...(metadata.controller === undefined
      ? {}
      : { controller: { kind: metadata.controller.kind, name: metadata.controller.name } }),
    ...(spec.priorityClassName === undefined ? {} : { priorityClass: spec.priorityClassName }),
    ...(status.disruptionTarget === undefined ? {} : { disruptionTarget: status.disruptionTarget.reason }),
  };
}

function tolerationViewOf({ key, operator, value, effect }: Toleration): Toleration {
  return {
    ...(key === undefined ? {} : { key }),
    ...(operator === undefined ? {} : { operator }),
    ...(value === undefined ? {} : { value }),
    ...(effect === undefined ? {} : { effect }),
  };
}

export function attachmentViewOf(attachment: AttachmentObject): AttachmentView {
  const { metadata, spec, status } = attachment;
  return {
    name: metadata.name,
    attacher: spec.attacher,
    nodeName: spec.nodeName,
    ...spec.source,
    deleting: isDeleting(attachment),
    ...(status.detachError === undefined ? {} : { detachError: status.detachError }),
  };
}

export function attachmentRowOf({ metadata, spec }: AttachmentObject, withNodeId: boolean): AttachmentRow {
  const nodeId = metadata.annotations?.[NODE_ID_ANNOTATION];
  return {
    name: metadata.name,
    attacher: spec.attacher,
    nodeName: spec.nodeName,
    ...("volumeName" in spec.source ? { volumeName: spec.source.volumeName } : {}),
    ...(withNodeId && nodeId !== undefined ? { nodeId } : {}),
  };
}

export function volumeViewOf(volume: VolumeObject): VolumeView {
  return { name: volume.metadata.name, ...csiOf(volume) };
}

export function csiNodeViewOf({ metadata, spec }: CsiNodeObject): CsiNodeView {
  return { name: metadata.name, nodeIds: { ...spec.drivers } };
}

export function leaseViewOf({ metadata, spec }: LeaseObject): LeaseView {
  return { name: metadata.name, renewTime: spec.renewTime };
}
