/** Nodes, volumes and attachments behind HTTP, as far as hook and drain read them; a test may answer in its place. */
import type { ServerResponse } from "node:http";
import { type AskedOfFake, type FakeApi, json, startFakeApi } from "../kubernetes/fake-api.ts";
import type { AttachmentSeed, NodeSeed, VolumeSeed } from "./cluster-harness.ts";
import type { Arranging } from "./node-reading-contract.ts";

type Json = Readonly<Record<string, unknown>>;

/** True: it has answered, or will not. */
export type Misbehaviour = (asked: AskedOfFake, response: ServerResponse) => boolean;

const COLUMNS = ["Name", "Attacher", "PV", "Node", "Attached", "Age"];

export class FakeClusterApi {
  readonly #objects = new Map<string, Json>();
  readonly #attachments = new Map<string, AttachmentSeed>();
  readonly #events: Json[] = [];
  #api: FakeApi | undefined;
  misbehave: Misbehaviour = () => false;

  static async start(): Promise<FakeClusterApi> {
    const cluster = new FakeClusterApi();
    cluster.#api = await startFakeApi((asked, response) => {
      if (!cluster.misbehave(asked, response)) cluster.#answer(asked, response);
    });
    return cluster;
  }

  get url(): string {
    return this.#api?.url ?? "";
  }

  async close(): Promise<void> {
    await this.#api?.close();
  }

  readonly arrange: Arranging = {
    addNode: async (seed) => void this.#objects.set(`/api/v1/nodes/${seed.name}`, nodeOf(seed)),
    addVolume: async (seed) =>
      void this.#objects.set(`/api/v1/persistentvolumes/${seed.name}`, volumeOf(seed)),
    addAttachments: async (seeds) => {
      for (const seed of seeds) this.#attachments.set(seed.name, seed);
    },
    listEvents: async (node) =>
      this.#events
        .filter((event) => (event["involvedObject"] as Json)["name"] === node)
        .map((event) => ({
          type: String(event["type"]),
          reason: String(event["reason"]),
          message: String(event["message"]),
          component: String(event["reportingComponent"]),
        })),
  };

  #answer({ method, url, body }: AskedOfFake, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(url, "http://fake");
    if (method === "POST") {
      this.#events.push(body as Json);
      return json(response, 201, body);
    }
    if (pathname.endsWith("/volumeattachments")) return json(response, 200, this.#page(searchParams));
    const [, name] = /\/volumeattachments\/(.+)$/u.exec(pathname) ?? [];
    const seed = this.#attachments.get(name ?? "");
    const object = seed === undefined ? this.#objects.get(pathname) : attachmentOf(seed);
    if (object === undefined) return refuse(response, 404, "not found");
    return json(response, 200, object);
  }

  /** Sorted by name, as etcd has them. */
  #page(query: URLSearchParams): Json {
    const limit = Number(query.get("limit"));
    const start = Number(query.get("continue") ?? "0");
    const all = [...this.#attachments.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const rows = all.slice(start, start + limit).map(({ name, attacher, nodeName, source }) => ({
      cells: [name, attacher, "volumeName" in source ? source.volumeName : "", nodeName, true, "5d"],
      object: null,
    }));
    const next = start + limit < all.length ? { continue: String(start + limit) } : {};
    return {
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: { resourceVersion: "7", ...next },
      columnDefinitions: COLUMNS.map((name) => ({ name, type: "string" })),
      rows,
    };
  }
}

export function refuse(
  response: ServerResponse,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  json(response, code, { kind: "Status", apiVersion: "v1", status: "Failure", message, code }, headers);
}

function nodeOf({ name, annotations, ready, ...seed }: NodeSeed): Json {
  const at = "2026-10-01T12:00:00Z";
  const condition = ready ?? { status: "True", reason: "KubeletReady", message: "kubelet is ready" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `uid-of-${name}`, resourceVersion: "7", creationTimestamp: at, annotations },
    spec: { providerID: seed.providerId, unschedulable: seed.unschedulable, taints: seed.taints },
    status: {
      nodeInfo: { bootID: seed.bootId ?? `boot-of-${name}` },
      conditions: [{ type: "Ready", ...condition, lastHeartbeatTime: at, lastTransitionTime: at }],
      volumesInUse: seed.volumesInUse,
    },
  };
}

function volumeOf({ name, source }: VolumeSeed): Json {
  const csi = source.kind === "csi" ? { driver: source.driver, volumeHandle: source.handle } : undefined;
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name }, spec: { csi } };
}

function attachmentOf({ name, attacher, nodeName, source }: AttachmentSeed): Json {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name },
    spec: {
      attacher,
      nodeName,
      source:
        "volumeName" in source
          ? { persistentVolumeName: source.volumeName }
          : { inlineVolumeSpec: { csi: { driver: attacher, volumeHandle: source.inlineHandle } } },
    },
  };
}
