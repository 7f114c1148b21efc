/** Builders of what runs in a test's cluster: a test states only what differs. */
import { object, type TestObject } from "./create-all.ts";
import { podTemplate, type PodBehaviour } from "./pod-template.ts";
import { ebsVolume, storageClassName } from "./volume-objects.ts";

/** A StatefulSet whose pod number N has the volume `volumeIds[N]`, with the volumes themselves. */
export function statefulSet(
  wanted: {
    readonly name: string;
    readonly volumeIds: readonly string[];
    readonly namespace?: string;
  } & PodBehaviour,
): readonly TestObject[] {
  const { name, volumeIds, namespace = "default" } = wanted;
  const volumes = volumeIds.map((volumeId, ordinal) =>
    ebsVolume({ volumeId, claim: `data-${name}-${ordinal}`, namespace }),
  );
  const claim = {
    accessModes: ["ReadWriteOnce"],
    storageClassName,
    resources: { requests: { storage: "4Gi" } },
  };
  const set = object("StatefulSet", {
    metadata: { name, namespace },
    spec: {
      replicas: volumeIds.length,
      serviceName: name,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: { app: name } },
      template: podTemplate(name, wanted),
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
    },
  });
  return [...volumes, set];
}

/** A Deployment without volumes. */
export function deployment(
  wanted: { readonly name: string; readonly replicas: number; readonly namespace?: string } & PodBehaviour,
): TestObject {
  const { name, replicas, namespace = "default" } = wanted;
  return object("Deployment", {
    metadata: { name, namespace },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: podTemplate(name, wanted) },
  });
}

/** A DaemonSet; its pods tolerate every taint, as those of a CSI driver do. */
export function daemonSet(
  wanted: { readonly name: string; readonly namespace?: string } & PodBehaviour,
): TestObject {
  const { name, namespace = "default", tolerations = [{ operator: "Exists" }] } = wanted;
  return object("DaemonSet", {
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: podTemplate(name, { ...wanted, tolerations }),
    },
  });
}

/** A pod that nobody makes again: bound to a node by its name, or left to the scheduler. */
export function barePod(
  wanted: {
    readonly name: string;
    readonly namespace?: string;
    readonly nodeName?: string;
    readonly claims?: readonly string[];
  } & PodBehaviour,
): TestObject {
  const { name, namespace = "default", nodeName, claims = [] } = wanted;
  const { metadata, spec } = podTemplate(name, wanted);
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return object("Pod", {
    metadata: { ...metadata, name, namespace },
    spec: { ...spec, volumes, ...(nodeName === undefined ? {} : { nodeName }) },
  });
}

/** At most `maxUnavailable` pods of an app may be away; 0 blocks every eviction. */
export function disruptionBudget(app: string, maxUnavailable: number, namespace = "default"): TestObject {
  return object("PodDisruptionBudget", {
    metadata: { name: app, namespace },
    spec: { maxUnavailable, selector: { matchLabels: { app } } },
  });
}
