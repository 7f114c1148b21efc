/**
 * The API server over node:https: pooled connections, a token that is read anew for each request, time-outs, gzip. client-node would
 * double the hook's memory (docs/decisions). Everything rejects with a PortError and nothing else.
 */
import * as http from "node:http";
import * as https from "node:https";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { PortError } from "../lib/engine/errors.ts";
import { failureOfAnswer, failureOfTransport } from "./api-failures.ts";
import type { Credentials } from "./service-account.ts";

export interface ApiRequest {
  /** For messages and counters, such as `getNode`. */
  readonly operation: string;
  /** With its query. */
  readonly path: string;
  readonly accept?: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Milliseconds until the answer's head, and between two pieces of its body. */
  readonly timeout?: number;
  /** Once it is answered it may well say nothing for a long time: a watch. */
  readonly mayBeSilent?: boolean;
}

/** An answer with status 200 or 201, its body still to be read. */
export interface ApiAnswer {
  readonly body: Readable;
  /** Ends the connection: what is left of the body is not wanted. */
  readonly abandon: () => void;
}

/** An API server that does not answer a read in this time is in trouble. */
const TIMEOUT = 5_000;
/** Watches hold their connections; the rest of what a hold asks at once is little. */
const MOST_CONNECTIONS = 24;
const LONGEST_REFUSAL = 8_192;

export class ApiConnection {
  readonly #server: URL;
  readonly #credentials: Credentials;
  readonly #onFailure: (error: PortError) => void;
  #agent: Promise<http.Agent> | undefined;

  /** @param onFailure counts; it is told of each failed request */
  constructor(server: string, credentials: Credentials, onFailure: (error: PortError) => void = () => {}) {
    this.#server = new URL(server);
    this.#credentials = credentials;
    this.#onFailure = onFailure;
  }

  /** @throws PortError, also where the signal is aborted */
  async open(request: ApiRequest): Promise<ApiAnswer> {
    try {
      return await this.#open(request);
    } catch (error) {
      const failure = error instanceof PortError ? error : failureOfTransport(request.operation, error);
      // Another authority may have signed the API server's certificate since the file was read.
      if (failure.kind === "network") this.#dropAgent();
      if (request.signal?.aborted !== true) this.#onFailure(failure);
      throw failure;
    }
  }

  /** The answer's JSON. */
  async read(request: ApiRequest): Promise<unknown> {
    const { body } = await this.open(request);
    try {
      const text = await textOf(body, Number.POSITIVE_INFINITY);
      return JSON.parse(text) as unknown;
    } catch (error) {
      const failure = failureOfTransport(request.operation, error);
      if (request.signal?.aborted !== true) this.#onFailure(failure);
      throw failure;
    }
  }

  close(): void {
    this.#dropAgent();
  }

  /** Ends idle connections. What was agreed with the server is kept and makes the next ones cheaper. */
  rest(): void {
    this.#agent?.then(endIdle, () => {});
  }

  async #open(request: ApiRequest): Promise<ApiAnswer> {
    const [agent, token] = await Promise.all([this.#pool(), this.#credentials.token()]).catch(
      (cause: unknown) => {
        throw new PortError("unauthenticated", request.operation, `no credentials: ${String(cause)}`, {
          cause,
        });
      },
    );
    const answer = await this.#send(request, agent, token).catch((error: unknown) => {
      // The API server had ended an idle connection of the pool in the very moment of its use.
      if (!(error instanceof StaleConnection) || request.body !== undefined) throw error;
      return this.#send(request, agent, token);
    });
    const body = answer.headers["content-encoding"] === "gzip" ? unzipped(answer) : answer;
    const status = answer.statusCode ?? 0;
    if (status === 200 || status === 201) return { body, abandon: () => answer.destroy() };
    const text = await textOf(body, LONGEST_REFUSAL).catch(() => "");
    throw failureOfAnswer(request.operation, status, text, answer.headers["retry-after"]);
  }

  #send(request: ApiRequest, agent: http.Agent, token: string): Promise<http.IncomingMessage> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options: http.RequestOptions = {
      agent,
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        accept: request.accept ?? "application/json",
        "accept-encoding": "gzip",
        "user-agent": "ebs-drain-hook",
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
      timeout: request.timeout ?? TIMEOUT,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    };
    const url = new URL(request.path, this.#server);
    return new Promise((resolve, reject) => {
      const asked = (url.protocol === "http:" ? http : https).request(url, options, (answer) => {
        if (request.mayBeSilent === true) asked.setTimeout(0);
        resolve(answer);
      });
      asked.on("timeout", () => asked.destroy(new SilenceError(request.timeout ?? TIMEOUT)));
      asked.on("error", (error) => {
        const isStale = asked.reusedSocket && "code" in error && error.code === "ECONNRESET";
        reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
      });
      asked.end(body);
    });
  }

  #pool(): Promise<http.Agent> {
    if (this.#agent !== undefined) return this.#agent;
    const settings = {
      keepAlive: true,
      maxSockets: MOST_CONNECTIONS,
      maxFreeSockets: 4,
      scheduling: "lifo",
    } as const;
    const agent =
      this.#server.protocol === "http:"
        ? Promise.resolve(new http.Agent(settings))
        : this.#credentials.authorities().then((ca) => new https.Agent({ ...settings, ca }));
    this.#agent = agent;
    agent.catch(() => this.#dropAgent());
    return agent;
  }

  /** Requests that are under way keep their connections; idle ones are ended. */
  #dropAgent(): void {
    const agent = this.#agent;
    this.#agent = undefined;
    agent?.then(endIdle, () => {});
  }
}

class StaleConnection extends Error {
  readonly code = "ECONNRESET";
}

class SilenceError extends Error {
  readonly code = "ETIMEDOUT";

  constructor(milliseconds: number) {
    super(`no answer for ${milliseconds / 1_000} s`);
  }
}

function endIdle(agent: http.Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) sockets?.forEach((socket) => socket.destroy());
}

/** An error of the answer is one of the unzipped text: pipe alone would leave that waiting. */
function unzipped(answer: http.IncomingMessage): Readable {
  const text = createGunzip();
  answer.on("error", (error) => text.destroy(error));
  answer.on("aborted", () => text.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" })));
  text.on("close", () => answer.destroy());
  return answer.pipe(text);
}

async function textOf(body: Readable, most: number): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) break;
  }
  return Buffer.concat(pieces).toString("utf8");
}
