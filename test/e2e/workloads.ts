/** Builders of what runs in a test's cluster: a test states only what differs. */
import type { ApiClient } from "./api-client.ts";
import type { ApiObject } from "./api-objects.ts";
import { finishSecondsAnnotation, stopSecondsAnnotation } from "./pod-life.ts";
import { ebsDriver } from "./pod-volumes.ts";

/** Where objects of a kind are created; `{}` stands for the namespace. */
const collections: Readonly<Record<string, string>> = {
  CSIDriver: "/apis/storage.k8s.io/v1/csidrivers",
  StorageClass: "/apis/storage.k8s.io/v1/storageclasses",
  VolumeAttachment: "/apis/storage.k8s.io/v1/volumeattachments",
  PersistentVolume: "/api/v1/persistentvolumes",
  PersistentVolumeClaim: "/api/v1/namespaces/{}/persistentvolumeclaims",
  Pod: "/api/v1/namespaces/{}/pods",
  StatefulSet: "/apis/apps/v1/namespaces/{}/statefulsets",
  Deployment: "/apis/apps/v1/namespaces/{}/deployments",
  DaemonSet: "/apis/apps/v1/namespaces/{}/daemonsets",
  PodDisruptionBudget: "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
};

/** Creates objects one after the other. @throws ApiRequestError for the first that is refused */
export async function createAll(client: ApiClient, objects: readonly ApiObject[]): Promise<void> {
  for (const object of objects) {
    const collection = collections[object.kind];
    if (collection === undefined) throw new Error(`nobody said where ${object.kind} objects are created`);
    await client.create(collection.replace("{}", object.metadata.namespace ?? "default"), object);
  }
}

const storageClassName = "ebs";

/** The driver and a class of its volumes; once per cluster. Volumes are made by hand: nothing provisions. */
export function ebsStorage(): readonly ApiObject[] {
  return [
    object(
      "storage.k8s.io/v1",
      "CSIDriver",
      { name: ebsDriver },
      {
        spec: { attachRequired: true, podInfoOnMount: false },
      },
    ),
    object(
      "storage.k8s.io/v1",
      "StorageClass",
      { name: storageClassName },
      {
        provisioner: ebsDriver,
        volumeBindingMode: "WaitForFirstConsumer",
      },
    ),
  ];
}

export interface PodBehaviour {
  /** What its containers need after SIGTERM. */
  readonly stopSeconds?: number;
  /** It succeeds by itself after this time. */
  readonly finishSeconds?: number;
  readonly graceSeconds?: number;
  readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly priorityClassName?: string;
  readonly containers?: readonly Readonly<Record<string, unknown>>[];
}

/** A StatefulSet whose pod number N has the volume `volumeIds[N]`, with the volumes themselves. */
export function statefulSet(
  wanted: {
    readonly name: string;
    readonly volumeIds: readonly string[];
    readonly namespace?: string;
  } & PodBehaviour,
): readonly ApiObject[] {
  const { name, volumeIds, namespace = "default" } = wanted;
  const volumes = volumeIds.map((volumeId, ordinal) =>
    ebsVolume({ volumeId, claim: `data-${name}-${ordinal}`, namespace }),
  );
  const claim = {
    accessModes: ["ReadWriteOnce"],
    storageClassName,
    resources: { requests: { storage: "4Gi" } },
  };
  const set = object(
    "apps/v1",
    "StatefulSet",
    { name, namespace },
    {
      spec: {
        replicas: volumeIds.length,
        serviceName: name,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: { app: name } },
        template: podTemplate(name, wanted),
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
      },
    },
  );
  return [...volumes, set];
}

/** A Deployment without volumes. */
export function deployment(
  wanted: { readonly name: string; readonly replicas: number; readonly namespace?: string } & PodBehaviour,
): ApiObject {
  const { name, replicas, namespace = "default" } = wanted;
  return object(
    "apps/v1",
    "Deployment",
    { name, namespace },
    {
      spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(name, wanted) },
    },
  );
}

/** A DaemonSet; its pods tolerate every taint, as those of a CSI driver do. */
export function daemonSet(
  wanted: { readonly name: string; readonly namespace?: string } & PodBehaviour,
): ApiObject {
  const { name, namespace = "default", tolerations = [{ operator: "Exists" }] } = wanted;
  return object(
    "apps/v1",
    "DaemonSet",
    { name, namespace },
    {
      spec: {
        selector: { matchLabels: { app: name } },
        template: podTemplate(name, { ...wanted, tolerations }),
      },
    },
  );
}

/** A pod that nobody makes again: bound to a node by its name, or left to the scheduler. */
export function barePod(
  wanted: {
    readonly name: string;
    readonly namespace?: string;
    readonly nodeName?: string;
    readonly claims?: readonly string[];
  } & PodBehaviour,
): ApiObject {
  const { name, namespace = "default", nodeName, claims = [] } = wanted;
  const { metadata, spec } = podTemplate(name, wanted);
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return object(
    "v1",
    "Pod",
    { ...metadata, name, namespace },
    {
      spec: { ...spec, volumes, ...(nodeName === undefined ? {} : { nodeName }) },
    },
  );
}

/** At most `maxUnavailable` pods of an app may be away; 0 blocks every eviction. */
export function disruptionBudget(app: string, maxUnavailable: number, namespace = "default"): ApiObject {
  return object(
    "policy/v1",
    "PodDisruptionBudget",
    { name: app, namespace },
    {
      spec: { maxUnavailable, selector: { matchLabels: { app } } },
    },
  );
}

/** A PersistentVolume of the EBS driver, kept for one claim. */
export function ebsVolume(wanted: VolumeForClaim): ApiObject {
  return persistentVolume(wanted, {
    csi: { driver: ebsDriver, volumeHandle: wanted.volumeId, fsType: "ext4" },
  });
}

/** The same as it was written before CSI: volume id and zone in one string. */
export function inTreeVolume(wanted: VolumeForClaim & { readonly zone: string }): ApiObject {
  const volumeID = `aws://${wanted.zone}/${wanted.volumeId}`;
  return persistentVolume(wanted, { awsElasticBlockStore: { volumeID, fsType: "ext4" } });
}

export interface VolumeForClaim {
  readonly volumeId: string;
  readonly claim: string;
  readonly namespace?: string;
}

/** A claim for a volume that was made for it; StatefulSets make their own. */
export function claim(name: string, namespace = "default"): ApiObject {
  return object(
    "v1",
    "PersistentVolumeClaim",
    { name, namespace },
    {
      spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: "4Gi" } } },
    },
  );
}

/** An attachment of another driver, which nobody here will ever carry out or undo. */
export function othersAttachment(wanted: {
  readonly name: string;
  readonly nodeName: string;
  readonly attacher: string;
}): ApiObject {
  const { name, nodeName, attacher } = wanted;
  return object(
    "storage.k8s.io/v1",
    "VolumeAttachment",
    { name },
    {
      spec: { attacher, nodeName, source: { persistentVolumeName: `pv-${name}` } },
    },
  );
}

function persistentVolume(wanted: VolumeForClaim, source: Readonly<Record<string, unknown>>): ApiObject {
  return object(
    "v1",
    "PersistentVolume",
    { name: `pv-${wanted.volumeId}` },
    {
      spec: {
        ...source,
        storageClassName,
        capacity: { storage: "4Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        claimRef: { namespace: wanted.namespace ?? "default", name: wanted.claim },
      },
    },
  );
}

function podTemplate(app: string, behaviour: PodBehaviour) {
  const { stopSeconds, finishSeconds, graceSeconds, labels, annotations, containers, ...rest } = behaviour;
  const { tolerations, nodeSelector, priorityClassName } = rest;
  return {
    metadata: {
      labels: { app, ...labels },
      annotations: {
        ...annotations,
        ...(stopSeconds === undefined ? {} : { [stopSecondsAnnotation]: String(stopSeconds) }),
        ...(finishSeconds === undefined ? {} : { [finishSecondsAnnotation]: String(finishSeconds) }),
      },
    },
    spec: {
      containers: containers ?? [{ name: "main", image: "stand-in" }],
      ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
      ...(tolerations === undefined ? {} : { tolerations }),
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
    },
  };
}

function object(
  apiVersion: string,
  kind: string,
  metadata: ApiObject["metadata"],
  others: Readonly<Record<string, unknown>>,
): ApiObject {
  return { apiVersion, kind, metadata, ...others };
}
