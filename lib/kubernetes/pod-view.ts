/** A pod as the domain sees it. The input is the API's JSON, plain or as client-node's classes hold it. */
import type { PodView, Toleration } from "../drain/cluster.ts";
import {
  at,
  conditionOf,
  given,
  instantAt,
  isDeleting,
  mapAt,
  numberAt,
  objectsAt,
  textAt,
} from "./json-fields.ts";
import { bareHandle } from "./storage-views.ts";

const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

const PHASES: readonly PodView["phase"][] = ["Pending", "Running", "Succeeded", "Failed", "Unknown"];

export function podView(pod: unknown): PodView {
  const phase = textAt(pod, "status", "phase");
  return {
    namespace: textAt(pod, "metadata", "namespace") ?? "",
    name: textAt(pod, "metadata", "name") ?? "",
    uid: textAt(pod, "metadata", "uid") ?? "",
    nodeName: textAt(pod, "spec", "nodeName") ?? "",
    phase: PHASES.find((candidate) => candidate === phase) ?? "Unknown",
    createdAt: instantAt(pod, "metadata", "creationTimestamp") ?? 0,
    deleting: isDeleting(pod),
    ...given("controller", controllerOf(pod)),
    mirror: at(pod, "metadata", "annotations", MIRROR_ANNOTATION) !== undefined,
    ...given("graceSeconds", numberAt(pod, "spec", "terminationGracePeriodSeconds")),
    ...given("priorityClass", textAt(pod, "spec", "priorityClassName")),
    tolerations: objectsAt(pod, "spec", "tolerations").map(tolerationView),
    labels: mapAt(pod, "metadata", "labels"),
    containers: containersOf(pod),
    claims: claimsOf(pod),
    inlineHandles: inlineHandlesOf(pod),
    ...given("disruptionTarget", disruptionOf(pod)),
  };
}

function controllerOf(pod: unknown): PodView["controller"] {
  const owner = objectsAt(pod, "metadata", "ownerReferences").find((one) => one["controller"] === true);
  if (owner === undefined) return undefined;
  return { kind: textAt(owner, "kind") ?? "", name: textAt(owner, "name") ?? "" };
}

export function tolerationView(toleration: unknown): Toleration {
  return {
    ...given("key", textAt(toleration, "key")),
    ...given("operator", textAt(toleration, "operator") as Toleration["operator"]),
    ...given("value", textAt(toleration, "value")),
    ...given("effect", textAt(toleration, "effect")),
  };
}

/** Native sidecars too: they are init containers in name only. */
function containersOf(pod: unknown): readonly string[] {
  const sidecars = objectsAt(pod, "spec", "initContainers").filter(
    (container) => container["restartPolicy"] === "Always",
  );
  return [...sidecars, ...objectsAt(pod, "spec", "containers")].flatMap(
    (container) => textAt(container, "name") ?? [],
  );
}

/** The claim of a generic ephemeral volume is named after its pod and volume. */
function claimsOf(pod: unknown): readonly string[] {
  const podName = textAt(pod, "metadata", "name") ?? "";
  return objectsAt(pod, "spec", "volumes").flatMap((volume) => {
    const claim = textAt(volume, "persistentVolumeClaim", "claimName");
    if (claim !== undefined) return [claim];
    const name = textAt(volume, "name");
    return at(volume, "ephemeral") === undefined || name === undefined ? [] : [`${podName}-${name}`];
  });
}

function inlineHandlesOf(pod: unknown): readonly string[] {
  return objectsAt(pod, "spec", "volumes").flatMap((volume) => {
    const volumeId = textAt(volume, "awsElasticBlockStore", "volumeID");
    return volumeId === undefined ? [] : [bareHandle(volumeId)];
  });
}

function disruptionOf(pod: unknown): string | undefined {
  const condition = conditionOf(pod, "DisruptionTarget");
  return condition?.["status"] === "True" ? textAt(condition, "reason") : undefined;
}
