/** An API server on 127.0.0.1 with what a hook reads, which misbehaves as a test says. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export const NODE = "ip-10-0-1-7.eu-west-1.compute.internal";
export const DRIVER = "ebs.csi.aws.com";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** What a test makes of a request instead of an answer; undefined: nothing special. */
export type Misbehaviour = (asked: Asked, response: ServerResponse) => boolean;

interface Attachment {
  readonly attacher: string;
  readonly node: string;
  readonly volume?: string;
}

type Json = Readonly<Record<string, unknown>>;

export class FakeCluster {
  node: Json | undefined = nodeObject({});
  pod: Json | undefined = podObject({});
  readonly attachments = new Map<string, Attachment>();
  /** By name of the PersistentVolume. */
  readonly handles = new Map<string, string>();
  /** Of the DaemonSet `ds-1`, the oldest first. */
  revisions: readonly string[] = ["rev-1", "rev-2"];
  misbehave: Misbehaviour = () => false;
  readonly asked: Asked[] = [];
  readonly #watches = new Map<ServerResponse, string>();
  readonly #server = createServer((request, response) => this.#receive(request, response));
  connections = 0;
  url = "";

  async start(): Promise<void> {
    this.#server.on("connection", () => (this.connections += 1));
    await new Promise<void>((resolve) =>
      this.#server.listen(this.url === "" ? 0 : Number(new URL(this.url).port), "127.0.0.1", resolve),
    );
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every connection breaks; `start` brings it back at the same address. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  attach(name: string, more: Partial<Attachment> = {}): void {
    this.attachments.set(name, { attacher: DRIVER, node: NODE, ...more });
  }

  /** @param silently whoever watches does not learn of it */
  detach(name: string, silently = false): void {
    this.attachments.delete(name);
    if (!silently) this.tell(name, "DELETED");
  }

  /** An event to whoever watches this attachment. */
  tell(name: string, type: string, object: Json = { metadata: { name } }): void {
    for (const [response, watched] of this.#watches) {
      if (watched === name) response.write(`${JSON.stringify({ type, object })}\n`);
    }
  }

  /** Whatever bytes, to all watches. */
  tellRaw(text: string): void {
    for (const response of this.#watches.keys()) response.write(text);
  }

  watched(): readonly string[] {
    return [...this.#watches.values()];
  }

  /** Breaks the connections of all watches, or ends them in order. */
  endWatches(how: "reset" | "clean"): void {
    for (const response of this.#watches.keys()) {
      if (how === "reset") response.socket?.resetAndDestroy();
      else response.end();
    }
  }

  count(path: string | RegExp): number {
    return this.asked.filter((asked) =>
      typeof path === "string" ? asked.path === path : path.test(asked.path),
    ).length;
  }

  events(): readonly Json[] {
    return this.asked.filter(({ method }) => method === "POST").map(({ body }) => body as Json);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://fake");
      const text = Buffer.concat(pieces).toString();
      const asked: Asked = {
        method: request.method ?? "",
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
      this.asked.push(asked);
      if (!this.misbehave(asked, response)) this.#answer(asked, response);
    });
  }

  #answer(asked: Asked, response: ServerResponse): void {
    const { path, query, method } = asked;
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (method === "POST") return send(response, 201, {});
    if (path.includes("/nodes/")) return sendObject(response, this.node);
    if (path.includes("/pods/")) return sendObject(response, this.pod);
    if (path.endsWith("/controllerrevisions")) return send(response, 200, revisionTable(this.revisions));
    if (path.includes("/persistentvolumes/")) {
      const handle = this.handles.get(name);
      return sendObject(
        response,
        handle === undefined ? undefined : { spec: { csi: { driver: DRIVER, volumeHandle: handle } } },
      );
    }
    if (path.includes("/volumeattachments/")) {
      return sendObject(response, this.attachments.has(name) ? { metadata: { name } } : undefined);
    }
    if (query.get("watch") === "1") return this.#watch(query, response);
    return this.#list(asked, response);
  }

  #watch(query: URLSearchParams, response: ServerResponse): void {
    const name = (query.get("fieldSelector") ?? "").replace("metadata.name=", "");
    this.#watches.set(response, name);
    response.on("close", () => this.#watches.delete(response));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    if (this.attachments.has(name)) this.tell(name, "ADDED");
  }

  /** Table rows in pages, compressed where asked for and larger than 128 KiB, as the real one does. */
  #list({ query, headers }: Asked, response: ServerResponse): void {
    const limit = Number(query.get("limit") ?? "100000");
    const start = Number(query.get("continue") ?? "0");
    const all = [...this.attachments];
    const rows = all.slice(start, start + limit).map(([name, { attacher, node, volume }]) => ({
      cells: [name, attacher, volume ?? "", node, true, "5d"],
      object: null,
    }));
    const next = start + limit < all.length ? { continue: String(start + limit) } : {};
    const text = JSON.stringify(attachmentTable(rows, { resourceVersion: "7", ...next }));
    const isGzip = text.length > 131_072 && headers["accept-encoding"] === "gzip";
    response.writeHead(200, {
      "content-type": "application/json",
      ...(isGzip ? { "content-encoding": "gzip" } : {}),
    });
    response.end(isGzip ? gzipSync(text) : text);
  }
}

export function attachmentTable(rows: readonly unknown[], metadata: Json = {}): Json {
  const names = ["Name", "Attacher", "PV", "Node", "Attached", "Age"];
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    columnDefinitions: names.map((name) => ({
      name,
      type: "string",
      format: "",
      description: `a [${name}] "row"`,
      priority: 0,
    })),
    rows,
  };
}

function revisionTable(hashes: readonly string[]): Json {
  const row = (hash: string, revision: number, uid: string) => ({
    cells: [`ebs-csi-node-${hash}`, "daemonset.apps/ebs-csi-node", revision, "5d"],
    object: { metadata: { ownerReferences: [{ uid }], labels: { "controller-revision-hash": hash } } },
  });
  return {
    kind: "Table",
    metadata: {},
    columnDefinitions: ["Name", "Controller", "Revision", "Age"].map((name) => ({ name })),
    rows: [
      ...hashes.map((hash, index) => row(hash, index + 1, "ds-1")),
      row("other", 99, "another"),
    ].toReversed(),
  };
}

export function nodeObject(change: {
  readonly cordoned?: boolean;
  readonly work?: string;
  readonly taints?: readonly Json[];
  readonly volumesInUse?: readonly string[];
  readonly message?: string;
}): Json {
  return {
    metadata: {
      name: NODE,
      uid: "node-uid",
      ...(change.work === undefined ? {} : { annotations: { "ebs-drain.dev/work": change.work } }),
    },
    spec: { unschedulable: change.cordoned ?? false, taints: change.taints ?? [] },
    status: {
      nodeInfo: { bootID: "boot-1" },
      volumesInUse: change.volumesInUse ?? [],
      conditions: [
        {
          type: "Ready",
          status: change.message === undefined ? "True" : "False",
          message: change.message ?? "",
        },
      ],
    },
  };
}

export function podObject(change: {
  readonly deleting?: boolean;
  readonly grace?: number;
  readonly revision?: string;
}): Json {
  const deleting = change.deleting ?? true;
  return {
    metadata: {
      name: "ebs-csi-node-x",
      uid: "pod-uid",
      labels: { "controller-revision-hash": change.revision ?? "rev-2" },
      ownerReferences: [{ kind: "DaemonSet", name: "ebs-csi-node", uid: "ds-1", controller: true }],
      ...(deleting
        ? { deletionTimestamp: "2026-10-01T12:00:00Z", deletionGracePeriodSeconds: change.grace ?? 60 }
        : {}),
    },
  };
}

export function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function refuse(response: ServerResponse, status: number, message = "refused"): true {
  send(response, status, { kind: "Status", status: "Failure", message, code: status });
  return true;
}

function sendObject(response: ServerResponse, object: Json | undefined): void {
  if (object === undefined) refuse(response, 404, "not found");
  else send(response, 200, object);
}
