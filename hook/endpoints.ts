/** What the hook serves: the preStop of the pod's containers, and what probes and Prometheus ask. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { shorten } from "../lib/drain/raw-json.ts";
import type { HoldEnd } from "./hold-end.ts";
import { completionText } from "./hold-end.ts";
import type { Log } from "./log-line.ts";
import { errorFields } from "../lib/engine/errors.ts";

export interface Endpoints {
  readonly preStop: (container: string | undefined) => Promise<HoldEnd>;
  /** Rejects with what is missing. */
  readonly ready: () => Promise<void>;
  readonly metrics: () => string;
  readonly log: Log;
}

/** Not listening yet. The kubelet waits for a preStop as long as the pod's grace period lasts, and so does the server. */
export function createEndpoints(endpoints: Endpoints): Server {
  const server = createServer({ requestTimeout: 0, headersTimeout: 10_000, keepAliveTimeout: 1_000 });
  server.timeout = 0;
  server.on("request", (request, response) => {
    answer(endpoints, request, response).catch((error: unknown) => {
      endpoints.log("error", "a request failed", errorFields(error));
      send(response, 500, "failed");
    });
  });
  return server;
}

async function answer(
  endpoints: Endpoints,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://hook");
  switch (url.pathname) {
    case "/pre-stop":
      return preStop(endpoints, url, response);
    case "/healthz":
      return send(response, 200, "ok");
    case "/readyz":
      return ready(endpoints, response);
    case "/metrics":
      response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
      return send(response, 200, endpoints.metrics());
    default:
      return send(response, 404, "not found");
  }
}

async function preStop({ preStop: hold, log }: Endpoints, url: URL, response: ServerResponse): Promise<void> {
  const container = url.searchParams.get("container") ?? undefined;
  const asked = container === undefined ? {} : { container: shorten(container) };
  log("info", "asked", asked);
  response.on("close", () => {
    if (!response.writableEnded) log("warn", "whoever asked went away without the answer", asked);
  });
  const end = await hold(container);
  send(response, 200, `${end.rule}: ${end.reason}${completionText(end.completion)}`);
}

async function ready({ ready: check }: Endpoints, response: ServerResponse): Promise<void> {
  try {
    await check();
    send(response, 200, "ok");
  } catch (error) {
    send(response, 503, error instanceof Error ? error.message : String(error));
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  if (response.writableEnded || response.destroyed) return;
  if (!response.headersSent) response.statusCode = status;
  response.end(`${text.trimEnd()}\n`);
}
