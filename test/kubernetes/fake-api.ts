/** A web server on 127.0.0.1 that answers as a test says, and remembers what it was asked. */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedOfFake {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export interface FakeApi {
  readonly url: string;
  readonly asked: readonly AskedOfFake[];
  /** Connections that were ever made. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

/** @param answer gets each request once its body is complete; one that it leaves unanswered stays open */
export async function startFakeApi(
  answer: (asked: AskedOfFake, response: ServerResponse) => void,
): Promise<FakeApi> {
  const asked: AskedOfFake[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString();
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
      asked.push(one);
      answer(one, response);
    });
  });
  server.on("connection", () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    connections: () => connections,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}
