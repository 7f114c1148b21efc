/** Node, CSINode and Lease as the domain sees them. The input is the API's JSON, plain or as client-node's classes hold it. */
import type { CsiNodeView, LeaseView, NodeView, Taint } from "../drain/cluster.ts";
import { WORK_ANNOTATION } from "../drain/names.ts";
import { isObject } from "../drain/raw-json.ts";
import {
  at,
  conditionOf,
  given,
  instantAt,
  isDeleting,
  mapAt,
  objectsAt,
  textAt,
  textsAt,
} from "./json-fields.ts";

export function nodeView(node: unknown): NodeView {
  return {
    name: textAt(node, "metadata", "name") ?? "",
    uid: textAt(node, "metadata", "uid") ?? "",
    resourceVersion: textAt(node, "metadata", "resourceVersion") ?? "",
    ...given("providerId", textAt(node, "spec", "providerID")),
    bootId: textAt(node, "status", "nodeInfo", "bootID") ?? "",
    unschedulable: at(node, "spec", "unschedulable") === true,
    // None is left out: a JSON patch removes them by index.
    taints: objectsAt(node, "spec", "taints").map(taintView),
    ...given("work", mapAt(node, "metadata", "annotations")[WORK_ANNOTATION]),
    hasAnnotations: isObject(at(node, "metadata", "annotations")),
    ready: readyView(node),
    volumesInUse: textsAt(node, "status", "volumesInUse"),
    deleting: isDeleting(node),
  };
}

function taintView(taint: unknown): Taint {
  return {
    key: textAt(taint, "key") ?? "",
    ...given("value", textAt(taint, "value")),
    effect: (textAt(taint, "effect") ?? "NoSchedule") as Taint["effect"],
    ...given("since", instantAt(taint, "timeAdded")),
  };
}

/** A Node whose kubelet never reported is Unknown since it was made. */
function readyView(node: unknown): NodeView["ready"] {
  const condition = conditionOf(node, "Ready");
  const status = textAt(condition, "status");
  return {
    status: status === "True" || status === "False" ? status : "Unknown",
    reason: textAt(condition, "reason") ?? "",
    message: textAt(condition, "message") ?? "",
    since:
      instantAt(condition, "lastTransitionTime") ?? instantAt(node, "metadata", "creationTimestamp") ?? 0,
  };
}

export function csiNodeView(csiNode: unknown): CsiNodeView {
  const ids = objectsAt(csiNode, "spec", "drivers").flatMap((driver) => {
    const [name, id] = [textAt(driver, "name"), textAt(driver, "nodeID")];
    return name === undefined || id === undefined ? [] : [[name, id] as const];
  });
  return { name: textAt(csiNode, "metadata", "name") ?? "", nodeIds: Object.fromEntries(ids) };
}

export function leaseView(lease: unknown): LeaseView {
  const renewed = at(lease, "spec", "renewTime");
  return {
    name: textAt(lease, "metadata", "name") ?? "",
    // client-node leaves this one time as text: as a Date it would lose the microseconds that tell two renewals apart.
    renewTime: renewed instanceof Date ? renewed.toISOString() : (textAt(lease, "spec", "renewTime") ?? ""),
  };
}
