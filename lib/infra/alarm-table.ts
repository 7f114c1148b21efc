/** What is worth waking somebody for. Each row has an article in docs/runbook.md, under the row's id. */
import type { MetricName } from "../drain/names.ts";

/** A metric of the product: over all clusters and groups, or for one cause. */
export interface ProductAlarm {
  /** Also the article's anchor. */
  readonly id: string;
  readonly metric: MetricName;
  readonly cause?: string;
  /** Sum within `minutes` from which it is an alarm. */
  readonly threshold: number;
  readonly minutes: number;
  readonly meaning: string;
}

/** Not a number of events but of kinds of trouble: one alarm for each thing that somebody does about it. */
export const PRODUCT_ALARMS: readonly ProductAlarm[] = [
  {
    id: "deadline-reached",
    metric: "DrainDeadlines",
    threshold: 1,
    minutes: 5,
    meaning: "A drain's time was over before its volumes were free (D13).",
  },
  {
    id: "deadline-near",
    metric: "DeadlinesNear",
    threshold: 1,
    minutes: 5,
    meaning: "Half or nine tenths of a drain's time have passed, and something still blocks it (D13).",
  },
  {
    id: "no-progress",
    metric: "NoProgress",
    threshold: 1,
    minutes: 5,
    meaning: "Work is open, and nothing has moved for ten minutes.",
  },
  {
    id: "completed-by-other",
    metric: "CompletedByOther",
    threshold: 1,
    minutes: 5,
    meaning: "Somebody else ended a lifecycle action of ours, perhaps with volumes attached (D2).",
  },
  {
    id: "unheld-termination",
    metric: "UnheldTerminations",
    threshold: 1,
    minutes: 5,
    meaning: "A machine went with volumes attached, and nobody was asked before (D14).",
  },
  {
    // The dispatcher looks every ten minutes.
    id: "group-without-hook",
    metric: "GroupsWithoutHook",
    threshold: 1,
    minutes: 15,
    meaning: "A configured group does not have the lifecycle hook, or not as the policy says.",
  },
  {
    id: "node-adopted",
    metric: "NodesAdopted",
    threshold: 1,
    minutes: 5,
    meaning:
      "A living kubelet has the Node of a machine that is gone; its volumes are left to Kubernetes (D14).",
  },
  {
    // One answer that is late is not yet an outage.
    id: "cluster-unreachable-network",
    metric: "ClusterUnreachable",
    cause: "network",
    threshold: 3,
    minutes: 5,
    meaning: "An API server does not answer (D17).",
  },
  {
    // A passing fault looks the same, and is gone with the next token.
    id: "cluster-unreachable-authentication",
    metric: "ClusterUnreachable",
    cause: "authentication",
    threshold: 3,
    minutes: 5,
    meaning: "A cluster does not know the functions' roles: 401 (D17).",
  },
  {
    id: "cluster-unreachable-authorization",
    metric: "ClusterUnreachable",
    cause: "authorization",
    threshold: 1,
    minutes: 5,
    meaning: "A cluster refuses what the functions need: 403 (D17).",
  },
  {
    id: "internal-error",
    metric: "ApiErrors",
    cause: "bug",
    threshold: 1,
    minutes: 5,
    meaning: "A look or a sweep ended with an error that ebs-drain did not expect.",
  },
];
