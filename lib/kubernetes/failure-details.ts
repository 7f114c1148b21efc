/** What a failed call to the API server says about itself. */
import type { ApiException } from "@kubernetes/client-node";
import { at, objectsAt, textAt } from "./json-fields.ts";

export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** The API's Status object, or what can be said where the answer is something else. */
export interface Status {
  readonly message: string;
  /** `details.kind` and `details.name`. */
  readonly kind?: string;
  readonly name?: string;
  readonly causes: readonly StatusCause[];
  /** Seconds. */
  readonly retryAfter?: number;
}

/** The API repeats whole objects in some messages. */
const LONGEST_MESSAGE = 400;

export function statusOf(error: ApiException<unknown>): Status {
  const body = parsed(error.body);
  const [kind, name] = [textAt(body, "details", "kind"), textAt(body, "details", "name")];
  const retryAfter =
    secondsOf(error.headers["retry-after"]) ?? secondsOf(at(body, "details", "retryAfterSeconds"));
  return {
    message: shorten(textAt(body, "message") ?? (typeof body === "string" ? body.trim() : "no reason given")),
    ...(kind === undefined ? {} : { kind }),
    ...(name === undefined ? {} : { name }),
    causes: objectsAt(body, "details", "causes").map((cause) => ({
      reason: textAt(cause, "reason") ?? "",
      message: textAt(cause, "message") ?? "",
      field: textAt(cause, "field") ?? "",
    })),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string") return body;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function shorten(message: string): string {
  return message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
}

function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
}

/** Codes of sockets, DNS, TLS and undici: no answer came, or only a part of it. */
const NETWORK_CODE =
  /^(?:E[A-Z]*(?:CONN|HOST|NET|PIPE|TIMEDOUT|ADDR|AI_AGAIN|NOTFOUND|PROTO)[A-Z_]*|UND_ERR_[A-Z_]+|ERR_(?:TLS|SSL|SOCKET)_[A-Z_]+|[A-Z_]*CERT[A-Z_]*|[A-Z_]*SIGNATURE[A-Z_]*)$/u;

/** Whether the error, or one that caused it, is of the network. */
export function isNetworkFailure(error: unknown): boolean {
  return chainOf(error).some((link) => {
    const code = (link as { readonly code?: unknown }).code;
    return typeof code === "string" && NETWORK_CODE.test(code);
  });
}

/** The innermost reason: fetch itself only says that it failed. */
export function reasonOf(error: unknown): string {
  const last = chainOf(error).at(-1);
  if (last === undefined) return String(error);
  const code = (last as { readonly code?: unknown }).code;
  const message = last.message === "" ? last.name : last.message;
  return shorten(typeof code === "string" && !message.includes(code) ? `${code}: ${message}` : message);
}

/** The error and its causes; of an AggregateError (one per address tried) the first. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  let current: unknown = error;
  while (current instanceof Error && chain.length < 8) {
    chain.push(current);
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return chain;
}
