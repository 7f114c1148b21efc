/** What `doctor` has to say: what is so, why it matters, and the command that mends it. */
import { PortError } from "../engine/errors.ts";

export const AREAS = [
  "cluster",
  "rights",
  "access",
  "aws",
  "lifecycle hooks",
  "csi driver",
  "other drainers",
  "budgets",
  "zones",
] as const;
export type Area = (typeof AREAS)[number];

/** `error`: drains fail or volumes are torn away. `warning`: they take longer or need a person. `unknown`: could not be looked at. */
export type Level = "ok" | "unknown" | "warning" | "error";

export interface Finding {
  readonly area: Area;
  readonly level: Level;
  readonly what: string;
  /** Absent where all is well. */
  readonly why?: string;
  readonly fix?: string;
}

export function ok(area: Area, what: string): Finding {
  return { area, level: "ok", what };
}

export function problem(
  area: Area,
  level: Exclude<Level, "ok">,
  what: string,
  why: string,
  fix: string,
): Finding {
  return { area, level, what, why, fix };
}

/** The area's findings, or the one that it could not be looked at. Bugs are thrown. */
export async function lookedAt(
  area: Area,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof PortError)) throw error;
    return [unseen(area, error)];
  }
}

/** Without rights an area is unknown; without a connection or credentials that is the finding. */
function unseen(area: Area, error: PortError): Finding {
  switch (error.kind) {
    case "network":
      return problem(
        area,
        "error",
        error.message,
        "nothing can be drained that cannot be reached; the functions need a route to it as well",
        area === "cluster"
          ? "curl -k SERVER/livez   # a private endpoint needs a VPN here, and `vpc` in the deployment's configuration"
          : "aws sts get-caller-identity   # without an answer the network is the cause",
      );
    case "unauthenticated":
      return problem(
        area,
        "error",
        error.message,
        "whoever is refused sees nothing: a drain goes blind (D17) and completes at its deadline only",
        area === "cluster"
          ? "aws eks update-kubeconfig --name CLUSTER   # and: aws eks list-access-entries --cluster-name CLUSTER"
          : "aws sso login   # or choose with --profile",
      );
    case "forbidden":
      return problem(
        area,
        "unknown",
        error.message,
        "this could not be looked at",
        "grant it, or ask who may",
      );
    case "throttled":
    case "server":
    case "not-found":
    case "conflict":
    case "disruption-budget":
    case "namespace-terminating":
    case "no-active-action":
    case "rejected":
      return problem(area, "unknown", error.message, "this could not be looked at", "run doctor again");
    default:
      return error.kind satisfies never;
  }
}
