/** Everything that can go wrong with a request to the API server, as the PortError that says what to do about it (H7). */
import { textAt } from "../lib/kubernetes/json-fields.ts";
import { isNetworkFailure, reasonOf } from "../lib/kubernetes/failure-details.ts";
import { type FailureKind, PortError } from "../lib/engine/errors.ts";

const LONGEST_MESSAGE = 300;

/** @param status other than 200 and 201 @param body the API's Status object, or plain text */
export function failureOfAnswer(
  operation: string,
  status: number,
  body: string,
  retryAfter: string | undefined,
): PortError {
  const seconds = /^\d+$/u.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
  const message = `${operation}: ${messageOf(body)} (${status})`;
  return new PortError(
    kindOf(status),
    operation,
    message,
    seconds === undefined ? {} : { retryAfter: seconds },
  );
}

function kindOf(status: number): FailureKind {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "forbidden";
    case 404:
      return "not-found";
    case 409:
      return "conflict";
    case 429:
      return "throttled";
    default:
      // 410: the list or watch expired and is begun again. 408: the server's own time-out.
      return status >= 500 || status === 410 || status === 408 ? "server" : "rejected";
  }
}

/** Failures without an answer, or with half a one. */
export function failureOfTransport(operation: string, error: unknown): PortError {
  if (error instanceof PortError) return error;
  const kind = isNetworkFailure(error) || isAbort(error) ? "network" : "server";
  return new PortError(kind, operation, `${operation}: ${reasonOf(error)}`, { cause: error });
}

/** Node's streams tell a connection that ended too early by these. */
function isAbort(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ABORT_ERR" || code === "ERR_STREAM_DESTROYED";
}

function messageOf(body: string): string {
  let message: string | undefined;
  try {
    message = textAt(JSON.parse(body), "message");
  } catch {
    message = body.trim();
  }
  const text = message === undefined || message === "" ? "no reason given" : message;
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;
}
