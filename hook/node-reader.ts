/** What a hold reads besides attachments: its Node, its own pod, the DaemonSet's revisions. Rejects with a PortError. */
import type { OwnPod } from "../lib/drain/hold-memory.ts";
import type { NodeView } from "../lib/drain/cluster.ts";
import { isLocal, parseVolumeInUse } from "../lib/drain/volumes.ts";
import { PortError } from "../lib/engine/errors.ts";
import { at, given, isDeleting, mapAt, objectsAt, textAt, textsAt } from "../lib/kubernetes/json-fields.ts";
import { nodeView } from "../lib/kubernetes/node-views.ts";
import { attachmentView, volumeView } from "../lib/kubernetes/storage-views.ts";
import type { ApiConnection } from "./api-connection.ts";
import { AS_TABLE, ATTACHMENTS, METADATA_ONLY } from "./attachment-list.ts";

/** A volume that Kubernetes has, or wants, attached to the node. */
export interface NodeVolume {
  readonly driver: string;
  readonly handle: string;
}

export interface NodeReading {
  readonly view: NodeView;
  /** By the kubelet's `volumesInUse` and the controller's `volumesAttached`: names of attachments follow from them. */
  readonly volumes: readonly NodeVolume[];
}

export interface OwnPodReading extends OwnPod {
  /** Uid of the DaemonSet. */
  readonly owner?: string;
}

export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** `null` is "it is not there". */
export async function readNode(
  connection: ApiConnection,
  name: string,
  signal: AbortSignal,
): Promise<NodeReading | null> {
  const node = await orNull(
    connection.read({ operation: "getNode", path: `/api/v1/nodes/${encodeURIComponent(name)}`, signal }),
  );
  if (node === null) return null;
  // What something else answers in the API server's place is no Node of which nothing is known: that one would not be going away.
  if (textAt(node, "metadata", "name") !== name) {
    throw new PortError("server", "getNode", `getNode: not the Node ${name}`);
  }
  const names = [
    ...textsAt(node, "status", "volumesInUse"),
    ...objectsAt(node, "status", "volumesAttached").flatMap((attached) => textAt(attached, "name") ?? []),
  ];
  return { view: nodeView(node), volumes: [...new Set(names)].flatMap((one) => parseVolumeInUse(one) ?? []) };
}

/** A pod of the same name with another uid is another pod: ours is gone. */
export async function readOwnPod(
  connection: ApiConnection,
  { namespace, name, uid }: PodName,
  signal: AbortSignal,
): Promise<OwnPodReading | null> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  const pod = await orNull(connection.read({ operation: "getOwnPod", path, accept: METADATA_ONLY, signal }));
  if (pod === null || textAt(pod, "metadata", "uid") !== uid) return null;
  const grace = at(pod, "metadata", "deletionGracePeriodSeconds");
  const owner = objectsAt(pod, "metadata", "ownerReferences").find(
    (each) => each["controller"] === true && each["kind"] === "DaemonSet",
  );
  return {
    deleting: isDeleting(pod),
    ...given("graceSeconds", typeof grace === "number" ? grace : undefined),
    ...given("revision", mapAt(pod, "metadata", "labels")["controller-revision-hash"]),
    ...given("owner", textAt(owner, "uid")),
  };
}

/**
 * H3: hash of the newest ControllerRevision of the DaemonSet with this uid; undefined where it has none. As table rows with metadata,
 * because each revision holds a whole pod template.
 */
export async function readNewestRevision(
  connection: ApiConnection,
  namespace: string,
  owner: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const operation = "listRevisions";
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/controllerrevisions?includeObject=Metadata`;
  const table = await connection.read({ operation, path, accept: AS_TABLE, signal });
  const column = objectsAt(table, "columnDefinitions").findIndex((each) => each["name"] === "Revision");
  if (at(table, "kind") !== "Table" || column === -1) {
    throw new PortError("server", operation, `${operation}: not a table of ControllerRevisions`);
  }
  let newest: { readonly revision: number; readonly hash: string | undefined } | undefined;
  for (const row of objectsAt(table, "rows")) {
    const owners = objectsAt(row, "object", "metadata", "ownerReferences");
    const cells = at(row, "cells");
    const revision = Array.isArray(cells) ? Number(cells[column]) : Number.NaN;
    if (!owners.some((each) => each["uid"] === owner) || Number.isNaN(revision)) continue;
    if (newest !== undefined && newest.revision >= revision) continue;
    newest = { revision, hash: mapAt(row, "object", "metadata", "labels")["controller-revision-hash"] };
  }
  return newest?.hash;
}

/** Whether an attachment that only the list told of is node-local; one whose volume cannot be read counts (H5). */
export async function isNodeLocal(
  connection: ApiConnection,
  attachment: { readonly name: string; readonly volumeName?: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { name, volumeName } = attachment;
  if (volumeName === undefined) {
    const path = `${ATTACHMENTS}/${encodeURIComponent(name)}`;
    const found = await orNull(connection.read({ operation: "getAttachment", path, signal }));
    return isLocal(attachmentView(found).inlineHandle ?? "");
  }
  const path = `/api/v1/persistentvolumes/${encodeURIComponent(volumeName)}`;
  const volume = await orNull(connection.read({ operation: "getVolume", path, signal }));
  return isLocal(volumeView(volume).handle ?? "");
}

export async function orNull(reading: Promise<unknown>): Promise<unknown> {
  return reading.catch((error: unknown) => {
    if (error instanceof PortError && error.kind === "not-found") return null;
    throw error;
  });
}
