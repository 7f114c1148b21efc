/** Builders of scenes: workloads with their volumes, budgets and the CSI driver's own pods. A scene states only what matters to it. */
import { EBS_DRIVER, HOOK_LABEL } from "../drain/names.ts";
import { SECOND } from "../drain/time.ts";
import type { PodTemplate, PodToleration, PodVolumeSource } from "./cluster-objects.ts";
import type { SimulatedCluster } from "./cluster.ts";

export const CSI_NODE_SET = "ebs-csi-node";
export const CSI_CONTROLLER = "ebs-csi-controller";

/** What every workload may say of its pods. */
export interface PodsSpec {
  readonly name: string;
  /** Default: `default`. */
  readonly namespace?: string;
  /** Beside `app`, which is the workload's name. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly containers?: readonly string[];
  readonly tolerations?: readonly PodToleration[];
  readonly priorityClass?: string;
  readonly graceSeconds?: number;
  /** Milliseconds from SIGTERM until the pod has stopped by itself. Default: 1 s. */
  readonly stopsAfter?: number;
  /** A PodDisruptionBudget over the pods, named like the workload. */
  readonly budget?: { readonly minAvailable?: number | string; readonly maxUnavailable?: number | string };
}

export interface StatefulSetSpec extends PodsSpec {
  readonly replicas?: number;
  /** Handles per ordinal; default: one new volume per replica, from `createVolume`. */
  readonly handles?: readonly (readonly string[])[];
  /** Zone of the replica's volumes, round robin. Default: `eu-west-1a`. */
  readonly zones?: readonly string[];
  /** How the PersistentVolumes name their volumes. Default: `csi`. */
  readonly source?: "csi" | "in-tree";
  readonly podManagementPolicy?: "OrderedReady" | "Parallel";
}

/** A StatefulSet with a claim and a volume per replica; the handles by ordinal. */
export function addStatefulSet(cluster: SimulatedCluster, spec: StatefulSetSpec): string[][] {
  const namespace = spec.namespace ?? "default";
  const handles = Array.from({ length: spec.replicas ?? 1 }, (_, ordinal) => {
    const zones = spec.zones ?? ["eu-west-1a"];
    const zone = zones[ordinal % zones.length] ?? "eu-west-1a";
    const own = spec.handles?.[ordinal] ?? [cluster.newVolume(zone, `pv-${spec.name}-${ordinal}`)];
    return own.map((handle, index) => {
      const claim = claimName(spec.name, ordinal, index);
      addClaim(cluster, { name: claim, namespace, handle, zone, source: spec.source ?? "csi" });
      return handle;
    });
  });
  const template = templateOf(spec, (ordinal) =>
    (handles[ordinal] ?? []).map((_, index) => ({
      kind: "claim",
      claimName: claimName(spec.name, ordinal, index),
    })),
  );
  cluster.api.statefulSets.create(
    { name: spec.name, namespace },
    {
      spec: {
        replicas: handles.length,
        template,
        ...(spec.podManagementPolicy === undefined ? {} : { podManagementPolicy: spec.podManagementPolicy }),
      },
    },
  );
  addBudget(cluster, spec);
  return handles;
}

function claimName(name: string, ordinal: number, index: number): string {
  return index === 0 ? `data-${name}-${ordinal}` : `data${index}-${name}-${ordinal}`;
}

export interface ClaimSpec {
  readonly name: string;
  readonly namespace?: string;
  readonly handle: string;
  readonly driver?: string;
  readonly zone?: string;
  readonly source?: "csi" | "in-tree";
}

/** A bound claim and its PersistentVolume `pv-<claim>`; the volume's name. */
export function addClaim(cluster: SimulatedCluster, spec: ClaimSpec): string {
  const volumeName = `pv-${spec.name}`;
  const { handle, zone } = spec;
  cluster.api.volumes.create(
    { name: volumeName },
    {
      spec: {
        source:
          spec.source === "in-tree"
            ? { kind: "in-tree", volumeId: `aws://${zone ?? ""}/${handle}` }
            : { kind: "csi", driver: spec.driver ?? EBS_DRIVER, handle },
        ...(zone === undefined ? {} : { zone }),
      },
    },
  );
  cluster.api.claims.create(
    { name: spec.name, namespace: spec.namespace ?? "default" },
    { spec: { volumeName } },
  );
  return volumeName;
}

export interface DeploymentSpec extends PodsSpec {
  readonly replicas?: number;
  /** Volumes of every pod, such as `{ kind: "ephemeral", volume: "scratch" }`. */
  readonly volumes?: readonly PodVolumeSource[];
}

export function addDeployment(cluster: SimulatedCluster, spec: DeploymentSpec): void {
  const template = templateOf(spec, () => spec.volumes ?? []);
  cluster.api.replicaSets.create(
    { name: spec.name, namespace: spec.namespace ?? "default" },
    { spec: { replicas: spec.replicas ?? 1, template } },
  );
  addBudget(cluster, spec);
}

export function addDaemonSet(
  cluster: SimulatedCluster,
  spec: Omit<DeploymentSpec, "replicas" | "budget">,
): void {
  const template = templateOf(spec, () => spec.volumes ?? []);
  cluster.api.daemonSets.create(
    { name: spec.name, namespace: spec.namespace ?? "kube-system" },
    { spec: { replicas: 1, template } },
  );
}

/** The CSI driver's node pods; with `hook` they carry the label of the product's hook. */
export function addCsiNodePods(
  cluster: SimulatedCluster,
  options: { readonly hook?: boolean; readonly graceSeconds?: number } = {},
): void {
  addDaemonSet(cluster, {
    name: CSI_NODE_SET,
    containers: ["ebs-plugin", "node-driver-registrar", "liveness-probe"],
    priorityClass: "system-node-critical",
    tolerations: [{ operator: "Exists" }],
    graceSeconds: options.graceSeconds ?? 30,
    stopsAfter: 200,
    ...(options.hook === true ? { labels: { [HOOK_LABEL]: "true" } } : {}),
  });
}

/** The CSI driver's controller: one of its pods leads, and the lease delays the next one (C33). */
export function addCsiController(cluster: SimulatedCluster, replicas = 2): void {
  addDeployment(cluster, {
    name: CSI_CONTROLLER,
    namespace: "kube-system",
    replicas,
    containers: ["ebs-plugin", "csi-attacher"],
    priorityClass: "system-cluster-critical",
    tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
  });
}

export function addBudget(cluster: SimulatedCluster, spec: PodsSpec): void {
  if (spec.budget === undefined) return;
  cluster.api.budgets.create(
    { name: spec.name, namespace: spec.namespace ?? "default" },
    { spec: { selector: { app: spec.name }, ...spec.budget } },
  );
}

export function templateOf(spec: PodsSpec, volumesOf: PodTemplate["volumesOf"]): PodTemplate {
  return {
    labels: { app: spec.name, ...spec.labels },
    containers: spec.containers ?? ["main"],
    tolerations: spec.tolerations ?? [],
    terminationGracePeriodSeconds: spec.graceSeconds ?? 30,
    stopsAfter: spec.stopsAfter ?? SECOND,
    volumesOf,
    ...(spec.priorityClass === undefined ? {} : { priorityClassName: spec.priorityClass }),
  };
}
