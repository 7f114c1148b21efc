/**
 * What can go wrong at a port, classified by what the caller must do. Adapters turn every vendor's error into one of these;
 * nothing else leaves them.
 */
export type FailureKind =
  /** The service cannot be reached: refused, reset, no answer in time, no such host, TLS. Try again. */
  | "network"
  /** Asked to slow down (429 of API priority and fairness, Throttling, RequestLimitExceeded). Back off. */
  | "throttled"
  /** The service failed (5xx, ResourceContentionFault). Try again. */
  | "server"
  /** 401: try again with a fresh token; a passing fault looks the same as a missing access entry. */
  | "unauthenticated"
  /** 403, AccessDenied, UnauthorizedOperation: configuration; retrying alone mends nothing. */
  | "forbidden"
  /** What was asked for is not there. */
  | "not-found"
  /** A precondition failed: another uid, another resourceVersion, a JSON patch's `test`. Observe again. */
  | "conflict"
  /** The eviction API answered 429 with cause DisruptionBudget. */
  | "disruption-budget"
  /** The namespace is terminating: its pods go by themselves. */
  | "namespace-terminating"
  /** "No active Lifecycle Action found": done, expired or wrong alike. */
  | "no-active-action"
  /** Refused as malformed or otherwise (4xx): a bug or a version skew of ours. */
  | "rejected";

export class PortError extends Error {
  readonly kind: FailureKind;
  /** The port method, such as `kubernetes.evict`. */
  readonly operation: string;
  /** Seconds the service asked to wait, where it did. */
  readonly retryAfter?: number;
  /** The PodDisruptionBudgets named in the answer, where it names any. */
  readonly budget?: string;

  constructor(
    kind: FailureKind,
    operation: string,
    message: string,
    details: { readonly retryAfter?: number; readonly budget?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "PortError";
    this.kind = kind;
    this.operation = operation;
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter;
    if (details.budget !== undefined) this.budget = details.budget;
  }
}

/** Whether the same call may succeed later without anybody changing anything. */
export function isRetryable(kind: FailureKind): boolean {
  switch (kind) {
    case "network":
    case "throttled":
    case "server":
    case "unauthenticated":
    case "disruption-budget":
      return true;
    case "forbidden":
    case "not-found":
    case "conflict":
    case "namespace-terminating":
    case "no-active-action":
    case "rejected":
      return false;
    default:
      return kind satisfies never;
  }
}

/**
 * An error as fields of a log line. `error` is the message. A PortError adds the kind that says what to do and the operation; anything
 * else is unexpected and adds its stack, which says where.
 */
export function errorFields(error: unknown): Readonly<Record<string, string>> {
  if (error instanceof PortError) {
    return { error: error.message, kind: error.kind, operation: error.operation };
  }
  if (!(error instanceof Error)) return { error: String(error) };
  return {
    error: `${error.name}: ${error.message}`,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
  };
}
