/** Builders of scenes: pods that no controller made, and attachments that no pod explains. */
import { EBS_DRIVER, NODE_ID_ANNOTATION } from "../drain/names.ts";
import { ATTACHER_FINALIZER } from "./attacher.ts";
import type { AttachmentObject, PodObject, PodVolumeSource } from "./cluster-objects.ts";
import { MIRROR_ANNOTATION } from "./cluster-objects.ts";
import type { PodsSpec } from "./cluster-scene.ts";
import { addBudget, templateOf } from "./cluster-scene.ts";
import { attachmentNameOf } from "./cluster-volumes.ts";
import type { SimulatedCluster } from "./cluster.ts";
import { DEFAULT_TOLERATIONS } from "./workload-controllers.ts";

export interface BarePodSpec extends PodsSpec {
  /** Bound to this node; else the scheduler chooses. */
  readonly node?: string;
  readonly volumes?: readonly PodVolumeSource[];
  readonly finalizers?: readonly string[];
}

/** A pod without a controller: nobody makes another one. Its uid. */
export function addBarePod(cluster: SimulatedCluster, spec: BarePodSpec): string {
  const pod = createPod(cluster, spec, { phase: "Pending", ready: false, containersRunning: false });
  addBudget(cluster, spec);
  return pod.metadata.uid;
}

/** A static pod of the node, as its mirror shows it: running, and back again whenever it is deleted. Its uid. */
export function addMirrorPod(cluster: SimulatedCluster, spec: PodsSpec & { readonly node: string }): string {
  const mirror = { ...spec, tolerations: [{ operator: "Exists" as const }] };
  const pod = createPod(
    cluster,
    mirror,
    { phase: "Running", ready: true, containersRunning: true },
    {
      [MIRROR_ANNOTATION]: spec.name,
    },
  );
  return pod.metadata.uid;
}

function createPod(
  { api }: SimulatedCluster,
  spec: BarePodSpec,
  status: PodObject["status"],
  annotations?: Record<string, string>,
): PodObject {
  const { labels, volumesOf, ...template } = templateOf(spec, () => spec.volumes ?? []);
  return api.pods.create(
    {
      name: spec.name,
      namespace: spec.namespace ?? "default",
      labels: { ...labels },
      finalizers: [...(spec.finalizers ?? [])],
      ...(annotations === undefined ? {} : { annotations }),
    },
    {
      spec: {
        ...template,
        volumes: volumesOf(0),
        tolerations: [...template.tolerations, ...DEFAULT_TOLERATIONS],
        ...(spec.node === undefined ? {} : { nodeName: spec.node }),
      },
      status,
    },
  );
}

/** An attachment of another driver (NFS, iSCSI, EFS): its own attacher has it attached, and no detach is ever asked for (C25). */
export function addForeignAttachment(
  { api }: SimulatedCluster,
  spec: { readonly node: string; readonly driver?: string; readonly name?: string },
): string {
  const attacher = spec.driver ?? "efs.csi.aws.com";
  const name = spec.name ?? attachmentNameOf({ driver: attacher, handle: `pv-of-${attacher}` }, spec.node);
  api.attachments.create(
    { name },
    {
      spec: { attacher, nodeName: spec.node, source: { volumeName: `pv-of-${attacher}` } },
      status: { attached: true },
    },
  );
  return name;
}

/** An attachment that nobody will delete: kube-controller-manager has forgotten it, and EC2 has no part in it. Its name. */
export function leakAttachment(
  cluster: SimulatedCluster,
  spec: { readonly node: string; readonly handle: string; readonly volumeName: string },
): string {
  const name = attachmentNameOf({ driver: EBS_DRIVER, handle: spec.handle }, spec.node);
  const instance = cluster.kubeletOf(spec.node)?.options.instance ?? "";
  cluster.api.attachments.create(
    { name, finalizers: [ATTACHER_FINALIZER], annotations: { [NODE_ID_ANNOTATION]: instance } },
    {
      spec: { attacher: EBS_DRIVER, nodeName: spec.node, source: { volumeName: spec.volumeName } },
      status: { attached: true },
    },
  );
  return name;
}

/** An attachment made by some other tool, under a name of its own; the attacher serves it like any. */
export function addNamedAttachment(
  { api }: SimulatedCluster,
  spec: { readonly name: string; readonly node: string; readonly source: AttachmentObject["spec"]["source"] },
): void {
  api.attachments.create(
    { name: spec.name },
    { spec: { attacher: EBS_DRIVER, nodeName: spec.node, source: spec.source }, status: { attached: false } },
  );
}

/** Somebody deletes the attachment by hand. */
export function deleteAttachment({ api }: SimulatedCluster, name: string): void {
  api.attachments.delete(api.attachments.require(name));
}

/** Somebody deletes the PersistentVolume under a living attachment: that one never goes by itself. */
export function losePersistentVolume({ api }: SimulatedCluster, name: string): void {
  api.volumes.remove(api.volumes.require(name));
}

/** The namespace's end is asked for at this moment: nothing new is created in it, and its pods are deleted. */
export function endNamespace({ api }: SimulatedCluster, namespace: string): void {
  api.terminatingNamespaces.add(namespace);
  for (const { metadata } of api.pods.list()) {
    if (metadata.namespace === namespace) api.deletePod(namespace, metadata.name, { uid: metadata.uid });
  }
}
