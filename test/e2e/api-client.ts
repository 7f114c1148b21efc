/**
 * A REST client for the tests' own use. Not client-node: the harness watches what the product does, so it should not
 * share the product's library, and one pooled client serves a hundred stand-in kubelets.
 */
import { Agent, request } from "undici";
import type { ApiObject } from "./api-objects.ts";

export interface ApiAccess {
  readonly server: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface ApiList<T> {
  readonly items: readonly T[];
  readonly metadata: { readonly resourceVersion: string };
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** How a PATCH is meant. Strategic: lists of conditions are merged by type, as kubelets need it. */
const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** No call of a test takes this long; without it a hung API server hangs the test until its own time-out. */
const timeoutMs = 30_000;

export class ApiRequestError extends Error {
  override readonly name = "ApiRequestError";
  readonly status: number;

  constructor(call: string, answer: ApiAnswer) {
    super(`${call}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 500)}`);
    this.status = answer.status;
  }
}

export class ApiClient {
  readonly #server: string;
  readonly #agent: Agent;

  constructor(access: ApiAccess) {
    this.#server = access.server;
    this.#agent = new Agent({ connections: 32, connect: access, keepAliveTimeout: 30_000 });
  }

  /** Any answer is an answer; throws only where there is none. */
  async request(method: string, path: string, body?: unknown, type = "application/json"): Promise<ApiAnswer> {
    const response = await request(this.#server + path, {
      dispatcher: this.#agent,
      method: method as "GET",
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": type }) },
      body: body === undefined ? null : JSON.stringify(body),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: parsed(text) };
  }

  /** @returns undefined for 404; @throws ApiRequestError */
  async get<T>(path: string): Promise<T | undefined> {
    const answer = await this.request("GET", path);
    return answer.status === 404 ? undefined : (successful(`GET ${path}`, answer) as T);
  }

  /** @throws ApiRequestError */
  async list<T>(path: string): Promise<ApiList<T>> {
    return successful(`GET ${path}`, await this.request("GET", path)) as ApiList<T>;
  }

  /** @param path of the collection; @throws ApiRequestError, also where the object exists (409) */
  async create<T extends ApiObject>(path: string, object: T): Promise<T> {
    return successful(`POST ${path}`, await this.request("POST", path, object)) as T;
  }

  /** @throws ApiRequestError */
  async patch(kind: keyof typeof patchTypes, path: string, patch: unknown): Promise<unknown> {
    return successful(`PATCH ${path}`, await this.request("PATCH", path, patch, patchTypes[kind]));
  }

  /** Deletes; gone already is fine. @throws ApiRequestError, 409 where a precondition fails */
  async delete(path: string, options: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const answer = await this.request("DELETE", path, {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...options,
    });
    if (answer.status !== 404) successful(`DELETE ${path}`, answer);
  }

  /** Ends when the server closes the watch; throws when the connection breaks or `signal` is aborted. */
  async *watch<T>(
    path: string,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const separator = path.includes("?") ? "&" : "?";
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
    const response = await request(`${this.#server}${path}${separator}${query}`, {
      dispatcher: this.#agent,
      headers: { accept: "application/json" },
      headersTimeout: timeoutMs,
      bodyTimeout: 0, // a watch may well be silent
      signal,
    });
    if (response.statusCode !== 200) {
      const answer = { status: response.statusCode, body: await response.body.text() };
      throw new ApiRequestError(`watch ${path}`, answer);
    }
    for await (const line of lines(response.body)) yield JSON.parse(line) as WatchEvent<T>;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

function successful(call: string, answer: ApiAnswer): unknown {
  if (answer.status >= 300) throw new ApiRequestError(call, answer);
  return answer.body;
}

/** Not node:readline: that swallows a stream's error, and a broken watch must be seen as broken. */
async function* lines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const complete = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = complete.pop() ?? "";
    yield* complete.filter((line) => line !== "");
  }
}

/** The API server answers some errors in plain text, for example 429 from priority and fairness. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
