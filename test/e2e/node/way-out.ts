/**
 * The node's ways out: its network reaches nothing of the machine, so each address that something on the node asks is carried,
 * over a unix socket, to a server on the machine's loopback interface.
 */
import { mkdir } from "node:fs/promises";
import { createServer, connect, type Server, type Socket } from "node:net";
import path from "node:path";
import { pipeline } from "node:stream";

export class WayOut {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** Address and port on the node. */
  readonly address: string;
  /** The unix socket. */
  readonly file: string;

  private constructor(server: Server, address: string, file: string) {
    this.#server = server;
    this.address = address;
    this.file = file;
  }

  /** @param wanted.url of the server; connections go to its host and port as they are, encrypted or not */
  static async open(wanted: {
    readonly address: string;
    readonly file: string;
    readonly url: string;
  }): Promise<WayOut> {
    const { address, file, url } = wanted;
    const { hostname, port } = new URL(url);
    await mkdir(path.dirname(file), { recursive: true });
    const server = createServer((inside) => {
      const outside = connect({ host: hostname, port: Number(port) });
      for (const socket of [inside, outside]) {
        way.#sockets.add(socket);
        socket.once("close", () => way.#sockets.delete(socket));
      }
      // Each ends the other, also by an error: a server that is away is a connection that closes.
      pipeline(inside, outside, () => inside.destroy());
      pipeline(outside, inside, () => outside.destroy());
    });
    const way = new WayOut(server, address, file);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(file, resolve);
    });
    return way;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
