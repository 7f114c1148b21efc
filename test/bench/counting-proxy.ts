/**
 * Between a client and the API server, to count what the client receives. It ends TLS itself, because only whoever sees the requests
 * can tell the bytes of the list from the others.
 */
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, type Server, createServer, request } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Certificate } from "../e2e/certificates.ts";

/** Bytes to the client, TLS and its handshakes included, TCP's own not. */
export interface Received {
  readonly total: number;
  /** Of answers to lists of all VolumeAttachments. */
  readonly list: number;
}

export class CountingProxy {
  readonly #server: Server;
  readonly #upstream: URL;
  readonly #agent: Agent;
  /** By the client's port. */
  readonly #connections = new Map<number, Socket>();
  #ended = 0;
  #list = 0;

  private constructor(server: Server, upstream: URL, agent: Agent) {
    this.#server = server;
    this.#upstream = upstream;
    this.#agent = agent;
    server.on("connection", (socket: Socket) => this.#count(socket));
    server.on("request", (asked, answer) => this.#forward(asked, answer));
  }

  /** @param certificate what it serves with @param caFile authorities of the API server's certificate */
  static async start(server: string, certificate: Certificate, caFile: string): Promise<CountingProxy> {
    const [key, cert, ca] = await Promise.all([
      readFile(certificate.keyFile),
      readFile(certificate.certFile),
      readFile(caFile),
    ]);
    const listening = createServer({ key, cert });
    const proxy = new CountingProxy(listening, new URL(server), new Agent({ keepAlive: true, ca }));
    await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  received(): Received {
    const open = [...this.#connections.values()].reduce((sum, socket) => sum + socket.bytesWritten, 0);
    return { total: this.#ended + open, list: this.#list };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#agent.destroy();
  }

  /** The socket below TLS: what it has written is what goes over the wire. */
  #count(socket: Socket): void {
    const port = socket.remotePort ?? 0;
    this.#connections.set(port, socket);
    socket.on("close", () => {
      this.#ended += socket.bytesWritten;
      this.#connections.delete(port);
    });
  }

  #forward(asked: IncomingMessage, answer: ServerResponse): void {
    const { method, headers, url: path = "/" } = asked;
    const forwarded = request(
      new URL(path, this.#upstream),
      { method, headers, agent: this.#agent },
      (given) => {
        answer.writeHead(given.statusCode ?? 502, given.headers);
        answer.flushHeaders();
        given.pipe(answer);
      },
    );
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    if (isAttachmentList(path)) this.#countList(asked, answer);
    asked.pipe(forwarded);
  }

  /** One connection carries one answer at a time. */
  #countList(asked: IncomingMessage, answer: ServerResponse): void {
    const socket = this.#connections.get(asked.socket.remotePort ?? 0);
    if (socket === undefined) throw new Error("a request on no connection");
    const before = socket.bytesWritten;
    // Once it is closed, its last bytes have been handed on.
    answer.on("finish", () => (this.#list += socket.bytesWritten - before));
  }
}

/** @param path with its query */
export function isAttachmentList(path: string): boolean {
  const { pathname, searchParams } = new URL(path, "http://api");
  return pathname.endsWith("/volumeattachments") && !searchParams.has("watch");
}
