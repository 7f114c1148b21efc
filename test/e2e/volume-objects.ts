/** Builders of storage: classes, PersistentVolumes, claims and attachments. */
import { object, type TestObject } from "./create-all.ts";
import { ebsDriver } from "./pod-volumes.ts";

export const storageClassName = "ebs";

/** The driver and a class of its volumes; once per cluster. Volumes are made by hand: nothing provisions. */
export function ebsStorage(): readonly TestObject[] {
  return [
    object("CSIDriver", {
      metadata: { name: ebsDriver },
      spec: { attachRequired: true, podInfoOnMount: false },
    }),
    object("StorageClass", {
      metadata: { name: storageClassName },
      provisioner: ebsDriver,
      volumeBindingMode: "WaitForFirstConsumer",
    }),
  ];
}

/** A PersistentVolume of the EBS driver, kept for one claim. */
export function ebsVolume(wanted: VolumeForClaim): TestObject {
  return persistentVolume(wanted, {
    csi: { driver: ebsDriver, volumeHandle: wanted.volumeId, fsType: "ext4" },
  });
}

/** The same as it was written before CSI: volume id and zone in one string. */
export function inTreeVolume(wanted: VolumeForClaim & { readonly zone: string }): TestObject {
  const volumeID = `aws://${wanted.zone}/${wanted.volumeId}`;
  return persistentVolume(wanted, { awsElasticBlockStore: { volumeID, fsType: "ext4" } });
}

export interface VolumeForClaim {
  readonly volumeId: string;
  readonly claim: string;
  readonly namespace?: string;
}

/** A claim for a volume that was made for it; StatefulSets make their own. */
export function claim(name: string, namespace = "default"): TestObject {
  return object("PersistentVolumeClaim", {
    metadata: { name, namespace },
    spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: "4Gi" } } },
  });
}

/** An attachment of another driver, which nobody here will ever carry out or undo. */
export function othersAttachment(wanted: {
  readonly name: string;
  readonly nodeName: string;
  readonly attacher: string;
}): TestObject {
  const { name, nodeName, attacher } = wanted;
  return object("VolumeAttachment", {
    metadata: { name },
    spec: { attacher, nodeName, source: { persistentVolumeName: `pv-${name}` } },
  });
}

function persistentVolume(wanted: VolumeForClaim, source: Readonly<Record<string, unknown>>): TestObject {
  return object("PersistentVolume", {
    metadata: { name: `pv-${wanted.volumeId}` },
    spec: {
      ...source,
      storageClassName,
      capacity: { storage: "4Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      claimRef: { namespace: wanted.namespace ?? "default", name: wanted.claim },
    },
  });
}
