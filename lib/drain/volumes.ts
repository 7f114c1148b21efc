/** D11: the verdict per volume, from both sources. */
import type { AttachmentView, PodView } from "./cluster.ts";
import type { Verdict, VolumeVerdict } from "./decision.ts";
import type { Ec2AttachmentView } from "./machine.ts";
import { EBS_DRIVER } from "./names.ts";
import { type Observation, type ResolvedVolume, valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";

const LOCAL_SCHEME = "local-ebs://";

/** A volume that Kubernetes knows here: driver and handle, as far as they can be known. */
interface Subject {
  readonly attachment?: AttachmentView;
  readonly volumeName?: string;
  readonly driver: string;
  readonly handle?: string;
}

/** Everything a verdict looks at. */
interface Sources {
  readonly policy: Policy;
  readonly ec2: readonly Ec2AttachmentView[] | undefined;
  readonly elsewhere: Readonly<Record<string, readonly string[]>> | undefined;
  readonly pinned: ReadonlyMap<string, string>;
  readonly instance: string;
  /** EC2 shows an attachment that no known volume explains: it may be the one behind a VolumeAttachment without a PV. */
  readonly unexplained: boolean;
}

/** Handle and driver of `kubernetes.io/csi/<driver>^<handle>`; undefined for another form. */
export function parseVolumeInUse(
  name: string,
): { readonly driver: string; readonly handle: string } | undefined {
  const match = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/.exec(name);
  return match === null ? undefined : { driver: match[1] ?? "", handle: match[2] ?? "" };
}

/** Managed volumes that the kubelet lists as in use, by handle, node-local ones left out. */
export function managedInUse(volumesInUse: readonly string[], policy: Policy): readonly string[] {
  return volumesInUse.flatMap((name) => {
    const volume = parseVolumeInUse(name);
    return volume !== undefined && policy.drivers.includes(volume.driver) && !isLocal(volume.handle)
      ? [volume.handle]
      : [];
  });
}

export function isLocal(handle: string): boolean {
  return handle.startsWith(LOCAL_SCHEME);
}

/** Volumes that these pods want, by handle, with the pod's name. */
export function wantedBy(pods: readonly PodView[], observation: Observation): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>();
  for (const pod of pods) {
    const name = `${pod.namespace}/${pod.name}`;
    for (const handle of pod.inlineHandles) wanted.set(handle, name);
    for (const claim of pod.claims) {
      const handle = observation.claims[`${pod.namespace}/${claim}`]?.handle;
      if (handle !== undefined) wanted.set(handle, name);
    }
  }
  return wanted;
}

/** EC2's attachments other than the root volume; undefined where this look did not read them. */
export function dataVolumes(observation: Observation): readonly Ec2AttachmentView[] | undefined {
  const root = valueOf(observation.instance)?.rootDevice ?? observation.memory.rootDevice;
  return valueOf(observation.ec2Volumes)?.filter((volume) => volume.device !== root);
}

/**
 * A verdict for each VolumeAttachment of the node, each EC2 attachment that is ours to wait for, and each volume that the kubelet
 * still lists. `staying` are the running pods that stay with the node.
 */
export function judgeVolumes(
  observation: Observation,
  staying: readonly PodView[],
  policy: Policy,
): readonly VolumeVerdict[] {
  const attachments = valueOf(observation.attachments) ?? [];
  const subjects = attachments.map((attachment) => subjectOf(attachment, observation));
  const known = new Set(subjects.flatMap((subject) => subject.handle ?? []));
  const ec2 = dataVolumes(observation);
  const managed = (volume: Ec2AttachmentView): boolean =>
    volume.csi || observation.memory.handles.includes(volume.volumeId) || isWanted(volume, observation);
  const orphans = (ec2 ?? []).filter((volume) => !known.has(volume.volumeId));
  const sources: Sources = {
    policy,
    ec2,
    elsewhere: elsewhereOf(observation),
    pinned: wantedBy(staying, observation),
    instance: observation.task.instance,
    unexplained: orphans.length > 0,
  };
  return [
    ...subjects.map((subject) => judgeAttachment(subject, sources)),
    ...orphans.filter(managed).map((volume) => judgeOrphan(volume, sources)),
    ...judgeInUse(observation, known, sources),
  ];
}

function elsewhereOf(observation: Observation): Sources["elsewhere"] {
  const volumes = valueOf(observation.elsewhere);
  return volumes && Object.fromEntries(volumes.map((volume) => [volume.volumeId, volume.instances]));
}

function isWanted(volume: Ec2AttachmentView, observation: Observation): boolean {
  return [...Object.values(observation.claims), ...Object.values(observation.volumes)].some(
    (resolved) => resolved.handle === volume.volumeId,
  );
}

function subjectOf(attachment: AttachmentView, observation: Observation): Subject {
  const resolved: ResolvedVolume =
    attachment.volumeName === undefined ? {} : (observation.volumes[attachment.volumeName] ?? {});
  const handle = attachment.inlineHandle ?? resolved.handle;
  return {
    attachment,
    driver: attachment.attacher,
    ...(attachment.volumeName === undefined ? {} : { volumeName: attachment.volumeName }),
    ...(handle === undefined ? {} : { handle }),
  };
}

function verdict(subject: Subject, kind: Verdict, blocks: boolean, why: string): VolumeVerdict {
  return {
    verdict: kind,
    blocks,
    why,
    driver: subject.driver,
    ...(subject.attachment === undefined ? {} : { attachment: subject.attachment.name }),
    ...(subject.volumeName === undefined ? {} : { volumeName: subject.volumeName }),
    ...(subject.handle === undefined ? {} : { handle: subject.handle }),
  };
}

function judgeAttachment(subject: Subject, sources: Sources): VolumeVerdict {
  const { handle } = subject;
  if (!sources.policy.drivers.includes(subject.driver)) {
    return verdict(subject, "foreign", false, `attached by ${subject.driver}, which is not a managed driver`);
  }
  if (handle === undefined) {
    return verdict(
      subject,
      "volumeless",
      sources.unexplained || sources.ec2 === undefined,
      sources.unexplained
        ? "its PersistentVolume is missing and EC2 shows an attachment that nothing else explains"
        : "its PersistentVolume is missing: no controller will ever remove it",
    );
  }
  if (isLocal(handle)) return verdict(subject, "local", false, "node-local: EC2 has nothing to detach");
  const pod = sources.pinned.get(handle);
  if (pod !== undefined) return verdict(subject, "pinned", false, `${pod} stays with the node and uses it`);
  return judgeManaged(subject, handle, sources);
}

function judgeManaged(subject: Subject, handle: string, sources: Sources): VolumeVerdict {
  const inEc2 = sources.ec2?.find((volume) => volume.volumeId === handle);
  const deleting = subject.attachment?.deleting === true;
  const failure = subject.attachment?.detachError;
  if (inEc2 !== undefined) return judgeByEc2(subject, inEc2, deleting, failure);
  if (sources.ec2 !== undefined) {
    const holders = sources.elsewhere?.[handle]?.filter((holder) => holder !== sources.instance) ?? [];
    return holders.length > 0
      ? verdict(subject, "moved", false, `EC2 has it attached to ${holders.join(", ")}`)
      : verdict(subject, "leaked", false, "its VolumeAttachment is left, EC2 shows no attachment here");
  }
  return deleting
    ? verdict(
        subject,
        "detaching",
        true,
        failure === undefined ? "its detach was asked for" : `detach fails: ${failure}`,
      )
    : verdict(subject, "attached", true, "its VolumeAttachment is there");
}

function judgeByEc2(
  subject: Subject,
  inEc2: Ec2AttachmentView,
  deleting: boolean,
  failure: string | undefined,
): VolumeVerdict {
  const detail = failure === undefined ? "" : `; detach fails: ${failure}`;
  switch (inEc2.state) {
    case "busy":
      return verdict(subject, "busy", true, `EC2 says busy: still mounted in the instance${detail}`);
    case "detaching":
      return verdict(subject, "detaching", true, `EC2 is detaching it${detail}`);
    case "attaching":
    case "attached":
      return deleting
        ? verdict(subject, "detaching", true, `its detach was asked for, EC2 says ${inEc2.state}${detail}`)
        : verdict(subject, "attached", true, `EC2 says ${inEc2.state}`);
    default:
      return inEc2.state satisfies never;
  }
}

/** Attachment gone but EC2 still attached: blocks. */
function judgeOrphan(volume: Ec2AttachmentView, sources: Sources): VolumeVerdict {
  const subject: Subject = { driver: EBS_DRIVER, handle: volume.volumeId };
  const pod = sources.pinned.get(volume.volumeId);
  if (pod !== undefined) return verdict(subject, "pinned", false, `${pod} stays with the node and uses it`);
  const kind = volume.state === "attaching" ? "attached" : volume.state;
  return verdict(subject, kind, true, `no VolumeAttachment is left, EC2 still says ${volume.state}`);
}

/** Listed by the kubelet, known to neither source yet: still mounted, unless EC2 was read and shows it nowhere here. */
function judgeInUse(
  observation: Observation,
  known: ReadonlySet<string>,
  sources: Sources,
): readonly VolumeVerdict[] {
  const node = valueOf(observation.node);
  if (!node || sources.ec2 !== undefined) return [];
  return managedInUse(node.volumesInUse, sources.policy)
    .filter((handle) => !known.has(handle) && !sources.pinned.has(handle))
    .map((handle) =>
      verdict({ driver: EBS_DRIVER, handle }, "attached", true, "the kubelet still lists it in volumesInUse"),
    );
}
