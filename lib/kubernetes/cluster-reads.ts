/** What a drain reads of a cluster. */
import { CoordinationV1Api, CoreV1Api, StorageV1Api } from "@kubernetes/client-node";
import { LEASE_NAMESPACE } from "../engine/permissions.ts";
import type { ClusterReads } from "../engine/ports.ts";
import { attachmentPage } from "./attachment-table.ts";
import { type Ask, found } from "./calls.ts";
import type { ClusterConnection } from "./connection.ts";
import { csiNodeView, leaseView, nodeView } from "./node-views.ts";
import { type Page, listPages } from "./pages.ts";
import { podView } from "./pod-view.ts";
import { attachmentView, claimView, volumeView } from "./storage-views.ts";

/** kubectl's own: a page of Nodes with all their images is about 5 MB then. */
const PAGE_SIZE = 500;

export function clusterReads(connection: ClusterConnection, ask: Ask): ClusterReads {
  return { ...nodeReads(connection, ask), ...podReads(connection, ask), ...attachmentReads(connection, ask) };
}

function nodeReads(connection: ClusterConnection, ask: Ask) {
  const core = connection.makeApiClient(CoreV1Api);
  const storage = connection.makeApiClient(StorageV1Api);
  const coordination = connection.makeApiClient(CoordinationV1Api);
  return {
    getNode: async (name) => {
      const node = await ask("getNode", `read of Node ${name}`, () => found(name, core.readNode({ name })));
      return node === undefined ? undefined : nodeView(node);
    },
    listNodes: async () => {
      const nodes = await ask("listNodes", "list of Nodes", () =>
        listPages(async (next) => pageOf(await core.listNode({ limit: PAGE_SIZE, ...from(next) }))),
      );
      return nodes.map(nodeView);
    },
    getCsiNode: async (name) => {
      const node = await ask("getCsiNode", `read of CSINode ${name}`, () =>
        found(name, storage.readCSINode({ name })),
      );
      return node === undefined ? undefined : csiNodeView(node);
    },
    getLease: async (name) => {
      const lease = await ask("getLease", `read of Lease ${LEASE_NAMESPACE}/${name}`, () =>
        found(name, coordination.readNamespacedLease({ namespace: LEASE_NAMESPACE, name })),
      );
      return lease === undefined ? undefined : leaseView(lease);
    },
  } satisfies Partial<ClusterReads>;
}

function podReads(connection: ClusterConnection, ask: Ask) {
  const core = connection.makeApiClient(CoreV1Api);
  return {
    listPodsOnNode: async (nodeName) => {
      const options = { fieldSelector: `spec.nodeName=${nodeName}`, limit: PAGE_SIZE };
      const pods = await ask("listPodsOnNode", `list of pods on Node ${nodeName}`, () =>
        listPages(async (next) => pageOf(await core.listPodForAllNamespaces({ ...options, ...from(next) }))),
      );
      return pods.map(podView);
    },
    getClaim: async (namespace, name) => {
      const claim = await ask("getClaim", `read of PersistentVolumeClaim ${namespace}/${name}`, () =>
        found(name, core.readNamespacedPersistentVolumeClaim({ namespace, name })),
      );
      return claim === undefined ? undefined : claimView(claim);
    },
  } satisfies Partial<ClusterReads>;
}

function attachmentReads(connection: ClusterConnection, ask: Ask) {
  const core = connection.makeApiClient(CoreV1Api);
  const storage = connection.makeApiClient(StorageV1Api);
  return {
    getVolume: async (name) => {
      const volume = await ask("getVolume", `read of PersistentVolume ${name}`, () =>
        found(name, core.readPersistentVolume({ name })),
      );
      return volume === undefined ? undefined : volumeView(volume);
    },
    getAttachment: async (name) => {
      const attachment = await ask("getAttachment", `read of VolumeAttachment ${name}`, () =>
        found(name, storage.readVolumeAttachment({ name })),
      );
      return attachment === undefined ? undefined : attachmentView(attachment);
    },
    listAttachmentRows: ({ withNodeIds }) =>
      ask("listAttachmentRows", "list of VolumeAttachments", () =>
        listPages((next) => attachmentPage(connection, withNodeIds, next)),
      ),
  } satisfies Partial<ClusterReads>;
}

function from(next: string | undefined): { readonly _continue?: string } {
  return next === undefined ? {} : { _continue: next };
}

function pageOf<Item>(list: {
  readonly items: readonly Item[];
  readonly metadata?: { readonly _continue?: string };
}): Page<Item> {
  if (!Array.isArray(list.items)) throw new SyntaxError("not a list");
  const { _continue: next } = list.metadata ?? {};
  return { items: list.items, next };
}
