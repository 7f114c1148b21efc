/** A pod as its kubelet has it: more than the API says, and for longer than its object lives. */
import type { Instant } from "../drain/time.ts";
import type { PodGroup } from "./cluster-node-shutdown.ts";
import type { PodObject } from "./cluster-objects.ts";

type Stage = "waiting" | "starting" | "running" | "stopping" | "ended";

export interface LocalPod {
  readonly pod: PodObject;
  stage: Stage;
  why: "deleted" | "shutdown";
  endsAt?: Instant;
  cancelEnd?: () => void;
  readonly whenEnded: (() => void)[];
}

/** Its containers run. */
export function isActive({ stage }: LocalPod): boolean {
  return stage === "running" || stage === "stopping";
}

export function markShutdown(status: PodObject["status"]): void {
  status.reason = "Terminated";
  status.disruptionTarget = {
    reason: "TerminationByKubelet",
    message: "Pod was terminated in response to imminent node shutdown.",
  };
}

export function groupOf(pod: PodObject): PodGroup {
  return pod.spec.priorityClassName?.startsWith("system-") === true ? "critical" : "ordinary";
}
