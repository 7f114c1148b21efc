/**
 * Every error code of EC2, Auto Scaling and Lambda that means something to us, in one place. What leaves an adapter is a PortError
 * of the kind that tells the caller what to do.
 */
import type { FailureKind } from "../engine/errors.ts";
import { PortError } from "../engine/errors.ts";
import type { IamRule } from "../engine/permissions.ts";
import {
  AUTO_SCALING_PERMISSIONS,
  EC2_PERMISSIONS,
  ENDPOINT_PERMISSIONS,
  EXECUTIONS_PERMISSIONS,
  GROUP_HOOKS_PERMISSIONS,
} from "../engine/permissions.ts";

/** The permission table by operation; a refusal names what to grant. */
const IAM_RULES: Readonly<Record<string, readonly IamRule[]>> = {
  ...named("ec2", EC2_PERMISSIONS),
  ...named("autoScaling", AUTO_SCALING_PERMISSIONS),
  ...named("groupHooks", GROUP_HOOKS_PERMISSIONS),
  ...named("executions", EXECUTIONS_PERMISSIONS),
  "eks.describeCluster": ENDPOINT_PERMISSIONS,
};

function named(
  service: string,
  permissions: Readonly<Record<string, readonly IamRule[]>>,
): Readonly<Record<string, readonly IamRule[]>> {
  return Object.fromEntries(
    Object.entries(permissions).map(([method, rules]) => [`${service}.${method}`, rules]),
  );
}

const THROTTLED: ReadonlySet<string> = new Set([
  "BandwidthLimitExceeded",
  "EC2ThrottledException",
  "LimitExceededException",
  "RequestLimitExceeded",
  "RequestThrottled",
  "RequestThrottledException",
  "SlowDown",
  "Throttled",
  "ThrottledException",
  "Throttling",
  "ThrottlingException",
  "TooManyRequestsException",
]);

const UNAUTHENTICATED: ReadonlySet<string> = new Set([
  "AuthFailure",
  "ExpiredToken",
  "ExpiredTokenException",
  "IncompleteSignature",
  "InvalidClientTokenId",
  "InvalidSignatureException",
  "MissingAuthenticationToken",
  "RequestExpired",
  "SignatureDoesNotMatch",
  "UnrecognizedClientException",
  // The SDK found no credentials, or could not fetch them.
  "CredentialsProviderError",
  "TokenProviderError",
]);

const FORBIDDEN: ReadonlySet<string> = new Set([
  "AccessDenied",
  "AccessDeniedException",
  "UnauthorizedOperation",
  "OptInRequired",
]);

const NOT_FOUND: ReadonlySet<string> = new Set([
  "InvalidInstanceID.NotFound",
  "InvalidVolume.NotFound",
  "ResourceNotFoundException",
]);

const SERVER: ReadonlySet<string> = new Set([
  "InternalError",
  "InternalFailure",
  "ResourceConflictException",
  "ResourceContention",
  "ResourceContentionFault",
  "ResourceNotReadyException",
  "ServiceException",
  "ServiceUnavailable",
  "ServiceUnavailableException",
  "Unavailable",
]);

const NETWORK: ReadonlySet<string> = new Set([
  "AbortError",
  "NetworkingError",
  "RequestTimeout",
  "RequestTimeoutException",
  "TimeoutError",
]);

/** The vendor's code: on the wire where there was an answer, else Node's or the SDK's own. */
export function codeOf(error: unknown): string {
  return textOf(error, "Code") ?? textOf(error, "code") ?? textOf(error, "name") ?? "";
}

/** Runs calls of an AWS client; whatever they reject with becomes a PortError of this operation. */
export function withPortErrors<T>(operation: string, ask: () => Promise<T>): Promise<T> {
  return ask().catch((error: unknown) => {
    throw toPortError(operation, error);
  });
}

/** Any error of an AWS client as a PortError of this operation. */
export function toPortError(operation: string, error: unknown): PortError {
  if (error instanceof PortError) return error;
  const code = codeOf(error);
  const message = textOf(error, "message") ?? String(error);
  const kind = kindOf(error, code, message);
  const told = `${code === "" ? "" : `${code}: `}${message}`;
  const text = kind === "forbidden" ? `${adviceFor(operation)}${told}` : told;
  return new PortError(kind, operation, `${operation}: ${text}`, { cause: error });
}

/** Auto Scaling knows no such group: it says so in words, under a code that it has for all kinds of refusals. */
export function isUnknownGroup(error: unknown): boolean {
  return error instanceof PortError && /AutoScalingGroup name not found/i.test(error.message);
}

function adviceFor(operation: string): string {
  const rules = IAM_RULES[operation] ?? [];
  return rules.length === 0 ? "" : `grant ${rules.map((rule) => rule.action).join(" and ")}: `;
}

function kindOf(error: unknown, code: string, message: string): FailureKind {
  if (/No active Lifecycle Action/i.test(message)) return "no-active-action";
  const names = [code, textOf(error, "name") ?? ""];
  const isOneOf = (codes: ReadonlySet<string>): boolean => names.some((name) => codes.has(name));
  if (isOneOf(THROTTLED)) return "throttled";
  if (isOneOf(UNAUTHENTICATED)) return "unauthenticated";
  if (isOneOf(FORBIDDEN)) return "forbidden";
  if (isOneOf(NOT_FOUND)) return "not-found";
  if (isOneOf(SERVER)) return "server";
  if (isOneOf(NETWORK)) return "network";
  return kindOfStatus(statusOf(error), textOf(error, "code"));
}

function kindOfStatus(status: number | undefined, systemCode: string | undefined): FailureKind {
  // Without an answer a code is the transport's: ECONNRESET, ENOTFOUND, EPROTO, CERT_HAS_EXPIRED, ….
  if (status === undefined) return systemCode === undefined ? "rejected" : "network";
  if (status >= 500) return "server";
  switch (status) {
    case 429:
      return "throttled";
    case 401:
      return "unauthenticated";
    case 403:
      return "forbidden";
    default:
      return "rejected";
  }
}

function statusOf(error: unknown): number | undefined {
  const metadata = fieldOf(error, "$metadata");
  const status = fieldOf(metadata, "httpStatusCode");
  return typeof status === "number" ? status : undefined;
}

function textOf(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
