/** What hook and drain both read of a node, by two clients that share only the views: each must see the same and fail alike. */
import { ApiConnection } from "../../hook/api-connection.ts";
import { listAttachmentsOfNode } from "../../hook/attachment-list.ts";
import { recordEnd } from "../../hook/node-event.ts";
import { isNodeLocal, readNode } from "../../hook/node-reader.ts";
import { serviceAccount } from "../../hook/service-account.ts";
import type { AttachmentRow, NodeView } from "../../lib/drain/cluster.ts";
import { isLocal } from "../../lib/drain/volumes.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { ClusterConnection } from "../../lib/kubernetes/connection.ts";

export interface NodeReading {
  readonly getNode: (name: string) => Promise<NodeView | undefined>;
  readonly attachmentsOf: (node: string) => Promise<readonly AttachmentRow[]>;
  /** Whether the attachment's volume is one of the node itself (H5, D11). */
  readonly isLocal: (attachment: AttachmentRow) => Promise<boolean>;
  /** One Event on the Node. */
  readonly record: (node: NodeView) => Promise<void>;
  readonly close: () => Promise<void> | void;
}

export type ReadingClient = "the hook's client" | "the drain's adapter";

/** Catches hangs. */
const PATIENCE_MS = 30_000;

/** @param credentials folder with the files `token` and `ca.crt` */
export function hookReading(server: string, credentials: string): NodeReading {
  const connection = new ApiConnection(server, serviceAccount(credentials));
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const end = { rule: "H5", reason: "no attachment is left", detached: true, left: [], held: true } as const;
  return {
    getNode: async (name) => (await readNode(connection, name, signal))?.view,
    attachmentsOf: (node) => listAttachmentsOfNode(connection, node, signal),
    isLocal: (attachment) => isNodeLocal(connection, attachment, signal),
    record: ({ name, uid }) =>
      recordEnd(connection, { node: name, nodeUid: uid, pod: "ebs-csi-node-x" }, end, Date.now()),
    close: () => connection.close(),
  };
}

export function adapterReading(connection: ClusterConnection): NodeReading {
  const port = createClusterPort(connection);
  return {
    getNode: (name) => port.getNode(name),
    attachmentsOf: async (node) => {
      const rows = await port.listAttachmentRows({ withNodeIds: false });
      return rows.filter(({ nodeName }) => nodeName === node);
    },
    isLocal: async ({ name, volumeName }) => {
      const handle =
        volumeName === undefined
          ? (await port.getAttachment(name))?.inlineHandle
          : (await port.getVolume(volumeName))?.handle;
      return isLocal(handle ?? "");
    },
    record: ({ name, uid }) =>
      port.recordEvent({
        node: name,
        nodeUid: uid,
        type: "Normal",
        reason: "VolumesDetached",
        message: "no attachment is left",
        at: Date.now(),
      }),
    close: () => port.close(),
  };
}
