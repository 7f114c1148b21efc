/** Everything that can go wrong with a call to the API server, as the PortError that says what to do about it. */
import { ApiException } from "@kubernetes/client-node";
import { KUBERNETES_GROUP } from "../drain/names.ts";
import { type FailureKind, PortError } from "../engine/errors.ts";
import { CLUSTER_PERMISSIONS } from "../engine/permissions.ts";
import type { ClusterPort } from "../engine/ports.ts";
import { INSPECTION_PERMISSIONS, type InspectionMethod } from "./inspection.ts";
import { CredentialsError } from "./connection.ts";
import { type Status, isNetworkFailure, reasonOf, statusOf } from "./failure-details.ts";

/** What was asked of which API server, for the message. */
export interface Call {
  readonly method: keyof ClusterPort | InspectionMethod;
  /** Such as `patch of Node ip-10-0-0-1`. */
  readonly asked: string;
  /** The API server's URL. */
  readonly server: string;
}

interface Finding {
  readonly kind: FailureKind;
  readonly why: string;
  readonly retryAfter?: number;
  readonly budget?: string;
}

export function toPortError(call: Call, error: unknown): PortError {
  if (error instanceof PortError) return error;
  const { kind, why, ...details } = findingOf(call, error);
  return new PortError(kind, `kubernetes.${call.method}`, `${call.asked} at ${hostOf(call.server)}: ${why}`, {
    ...details,
    cause: error,
  });
}

function hostOf(server: string): string {
  return URL.canParse(server) ? new URL(server).host : server;
}

function findingOf(call: Call, error: unknown): Finding {
  if (error instanceof ApiException) return answered(call, error);
  if (error instanceof CredentialsError) return { kind: "unauthenticated", why: error.message };
  if (isNetworkFailure(error)) {
    return {
      kind: "network",
      why: `the API server cannot be reached (${reasonOf(error)}). If this lasts, check the route to its endpoint and that its security group admits us`,
    };
  }
  // Half an answer, or a proxy's page instead of one.
  if (error instanceof SyntaxError)
    return { kind: "server", why: `the answer is not JSON: ${error.message}` };
  return { kind: "rejected", why: `failed on our side: ${reasonOf(error)}` };
}

function answered(call: Call, error: ApiException<unknown>): Finding {
  const status = statusOf(error);
  const finding = byCode(call, error.code, status);
  return status.retryAfter === undefined ? finding : { ...finding, retryAfter: status.retryAfter };
}

function byCode(call: Call, code: number, status: Status): Finding {
  const why = `${status.message} (${code})`;
  switch (code) {
    case 401:
      return { kind: "unauthenticated", why: unauthenticated() };
    case 403:
      return refusal(call, status, why);
    case 404:
      return { kind: "not-found", why };
    case 409:
      return { kind: "conflict", why };
    case 410:
      return { kind: "server", why: `${why}; the list expired while it was read` };
    case 422:
      return unprocessable(status, why);
    case 429:
      return throttled(status, why);
    default:
      return { kind: code >= 500 || code === 408 ? "server" : "rejected", why };
  }
}

/** client-node drops the body of a 401, and it would not tell the causes apart either. */
function unauthenticated(): string {
  return (
    "the credentials were refused (401). Either EKS could not check the token just now, or it has expired, or the role has no " +
    `EKS access entry: create one with the Kubernetes group ${KUBERNETES_GROUP}`
  );
}

function refusal(call: Call, status: Status, why: string): Finding {
  if (status.causes.some((cause) => cause.reason === "NamespaceTerminating")) {
    return { kind: "namespace-terminating", why };
  }
  // The eviction API's answer to a budget in a bad state, such as too many evictions that its controller has not yet seen.
  if (status.kind?.toLowerCase().startsWith("poddisruptionbudget") === true) {
    return { kind: "disruption-budget", why, ...(status.name === undefined ? {} : { budget: status.name }) };
  }
  const rules = { ...CLUSTER_PERMISSIONS, ...INSPECTION_PERMISSIONS }[call.method];
  const needed = rules.map(
    (rule) =>
      `${rule.verbs.join(", ")} on ${rule.resource}${rule.apiGroup === "" ? "" : `.${rule.apiGroup}`}`,
  );
  const fix =
    call.method in INSPECTION_PERMISSIONS
      ? "grant it to whoever runs this command"
      : `apply manifests/rbac.yaml and give the role's EKS access entry the Kubernetes group ${KUBERNETES_GROUP}`;
  return { kind: "forbidden", why: `${why}. It needs ${needed.join(" and ")}: ${fix}` };
}

/** A JSON patch that cannot be applied to what is there now comes without any detail; a wrong object comes with causes. */
function unprocessable(status: Status, why: string): Finding {
  if (status.causes.length === 0 && status.name === undefined) {
    return { kind: "conflict", why: `the object is not (any more) what the patch expects: ${why}` };
  }
  const isOtherObject = status.causes.some((cause) => cause.field === "metadata.uid");
  return { kind: isOtherObject ? "conflict" : "rejected", why };
}

/** A 429 of API priority and fairness is plain text or has no such cause. */
function throttled(status: Status, why: string): Finding {
  const causes = status.causes.filter((cause) => cause.reason === "DisruptionBudget");
  if (causes.length === 0) return { kind: "throttled", why };
  const messages = causes.map((cause) => cause.message);
  const budgets = messages.flatMap((message) => /disruption budget (\S+)/iu.exec(message)?.[1] ?? []);
  return {
    kind: "disruption-budget",
    why: `${why} ${messages.join("; ")}`.trim(),
    ...(budgets.length === 0 ? {} : { budget: budgets.join(", ") }),
  };
}
