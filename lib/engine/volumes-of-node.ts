/** Attachments of one node without reading the cluster: names computed from its own volumes, plus the list where it is due. */
import type { AttachmentRow, AttachmentView, PodView } from "../drain/cluster.ts";
import { needsAttachmentList } from "../drain/needs.ts";
import { EBS_DRIVER } from "../drain/names.ts";
import { type Observation, type Reading, type ResolvedVolume, valueOf } from "../drain/observation.ts";
import { parseVolumeInUse } from "../drain/volumes.ts";
import { attachmentName } from "./attachment-name.ts";
import type { Looking } from "./observe.ts";
import { present } from "./reading.ts";

/** Resolves the pods' claims that are new, then reads every attachment that has a name. */
export async function resolveVolumes(looking: Looking, before: Observation): Promise<Observation> {
  const claims = await resolveClaims(looking, before);
  return readAttachments(looking, { ...before, claims: claims.resolved }, claims.failed);
}

/** GETs the attachments of all names known so far and resolves the PersistentVolumes behind those that are there. */
async function readAttachments(
  looking: Looking,
  before: Observation,
  failed?: Reading<never>,
  more: readonly string[] = [],
): Promise<Observation> {
  // Without the list that would have named them, no name to read is no sign that none is there.
  if (before.attachments.kind === "failed") return before;
  const { cluster } = looking.ports;
  const known = valueOf(before.attachments) ?? [];
  const names = [...new Set([...namesToRead(before), ...more])].filter(
    (name) => !known.some((attachment) => attachment.name === name),
  );
  const read = await Promise.all(
    names.map((name) => looking.reader.read("kubernetes.getAttachment", () => cluster.getAttachment(name))),
  );
  const found = failed ?? present(read);
  if (found.kind !== "read") return { ...before, attachments: found };
  const attachments = [...known, ...found.value];
  return { ...before, ...(await resolveAttached(looking, before, attachments)) };
}

/** The cluster's list where it is due; rows of this node that no name led to are then read as well. */
export async function listAttachments(looking: Looking, before: Observation): Promise<Observation> {
  if (!needsAttachmentList(before)) return before;
  const nodeName = before.memory.node?.name ?? valueOf(before.node)?.name;
  const withNodeIds = nodeName === undefined;
  const all = await looking.reader.readAll("kubernetes.listAttachmentRows", () =>
    looking.ports.cluster.listAttachmentRows({ withNodeIds }),
  );
  if (all.kind !== "read") {
    // Without its first list the gone work knows no name at all: that is blindness, not "nothing is left".
    return before.task.kind === "gone"
      ? { ...before, rows: all, attachments: all }
      : { ...before, rows: all };
  }
  const rows = all.value.filter((row) => isRowOf(row, nodeName, before.task.instance));
  const seen: Observation = { ...before, rows: { kind: "read", value: rows } };
  if (before.attachments.kind !== "read") return seen;
  return readAttachments(
    looking,
    seen,
    undefined,
    rows.map((row) => row.name),
  );
}

function isRowOf(row: AttachmentRow, nodeName: string | undefined, instance: string): boolean {
  return nodeName === undefined ? row.nodeId?.endsWith(instance) === true : row.nodeName === nodeName;
}

/** Names seen before, and those that the node's own volumes give: its pods', the kubelet's list, and while agreeing all ever seen. */
function namesToRead(observation: Observation): readonly string[] {
  const { memory } = observation;
  const nodeName =
    memory.node?.name ?? valueOf(observation.node)?.name ?? valueOf(observation.rows)?.[0]?.nodeName;
  const listed = (valueOf(observation.rows) ?? []).map((row) => row.name);
  if (nodeName === undefined) return [...memory.attachments, ...listed];
  const inUse = (valueOf(observation.node)?.volumesInUse ?? []).flatMap(
    (name) => parseVolumeInUse(name) ?? [],
  );
  const wanted = (valueOf(observation.pods) ?? []).flatMap((pod) => volumesOf(pod, observation));
  const seen = memory.agreed === "" ? [] : memory.handles.map((handle) => ({ driver: EBS_DRIVER, handle }));
  const computed = [...inUse, ...wanted, ...seen].map(({ driver, handle }) =>
    attachmentName(handle, driver, nodeName),
  );
  return [...memory.attachments, ...listed, ...computed];
}

function volumesOf(
  pod: PodView,
  observation: Observation,
): readonly { readonly driver: string; readonly handle: string }[] {
  const claimed = pod.claims.flatMap((claim) => {
    const volume = observation.claims[`${pod.namespace}/${claim}`];
    return volume?.driver !== undefined && volume.handle !== undefined
      ? [{ driver: volume.driver, handle: volume.handle }]
      : [];
  });
  return [...claimed, ...pod.inlineHandles.map((handle) => ({ driver: EBS_DRIVER, handle }))];
}

interface ResolvedClaims {
  readonly resolved: Readonly<Record<string, ResolvedVolume>>;
  readonly failed?: Reading<never>;
}

/** A claim's volume never changes once bound: each is resolved once per work. A claim that failed to read makes the look blind. */
async function resolveClaims({ ports, reader }: Looking, before: Observation): Promise<ResolvedClaims> {
  const wanted = new Map<string, { namespace: string; name: string }>();
  for (const pod of valueOf(before.pods) ?? []) {
    for (const name of pod.claims) {
      const key = `${pod.namespace}/${name}`;
      if (before.claims[key]?.volumeName === undefined) wanted.set(key, { namespace: pod.namespace, name });
    }
  }
  const resolved: Record<string, ResolvedVolume> = { ...before.claims };
  let failed: Reading<never> | undefined;
  await Promise.all(
    [...wanted].map(async ([key, { namespace, name }]) => {
      const claim = await reader.read("kubernetes.getClaim", () => ports.cluster.getClaim(namespace, name));
      const volumeName = valueOf(claim)?.volumeName;
      if (claim.kind === "failed") failed = claim;
      if (volumeName === undefined) return;
      const volume = await reader.read("kubernetes.getVolume", () => ports.cluster.getVolume(volumeName));
      if (volume.kind === "failed") failed = volume;
      const found = valueOf(volume);
      if (found) resolved[key] = resolvedFrom(volumeName, found);
    }),
  );
  return failed === undefined ? { resolved } : { resolved, failed };
}

function resolvedFrom(volumeName: string, found: { driver?: string; handle?: string }): ResolvedVolume {
  return {
    volumeName,
    ...(found.driver === undefined ? {} : { driver: found.driver }),
    ...(found.handle === undefined ? {} : { handle: found.handle }),
  };
}

/** PersistentVolumes behind attachments that no pod's claim led to. */
async function resolveAttached(
  { ports, reader }: Looking,
  before: Observation,
  attachments: readonly AttachmentView[],
): Promise<Pick<Observation, "attachments" | "volumes">> {
  const volumes: Record<string, ResolvedVolume> = { ...before.volumes };
  for (const volume of Object.values(before.claims)) {
    if (volume.volumeName !== undefined) volumes[volume.volumeName] = volume;
  }
  const missing = [...new Set(attachments.flatMap((attachment) => attachment.volumeName ?? []))].filter(
    (name) => volumes[name]?.handle === undefined,
  );
  const read = await Promise.all(
    missing.map((name) => reader.read("kubernetes.getVolume", () => ports.cluster.getVolume(name))),
  );
  const found = present(read);
  if (found.kind !== "read") return { attachments: found, volumes };
  for (const volume of found.value) volumes[volume.name] = resolvedFrom(volume.name, volume);
  return { attachments: { kind: "read", value: attachments }, volumes };
}
