/** The kubelet's graceful node shutdown: ordinary pods first, then the critical ones, each group with its budget. */
import type { Pod } from "./api-objects.ts";

export interface ShutdownBudget {
  /** `shutdownGracePeriod`: for all pods together. */
  readonly seconds: number;
  /** `shutdownGracePeriodCriticalPods`: the part of it that is kept for the critical ones. */
  readonly criticalSeconds: number;
}

export class NodeShutdown {
  readonly #budget: ShutdownBudget;
  #group: "ordinary" | "critical" = "ordinary";

  constructor(budget: ShutdownBudget) {
    this.#budget = budget;
  }

  /** The time that a pod gets to end; undefined while it is not its turn. */
  graceMs(pod: Pod): number | undefined {
    const own = pod.spec.terminationGracePeriodSeconds ?? 30;
    if (!isCritical(pod)) return Math.min(own, this.ordinaryMs / 1000) * 1000;
    return this.#group === "critical" ? Math.min(own, this.#budget.criticalSeconds) * 1000 : undefined;
  }

  get ordinaryMs(): number {
    return (this.#budget.seconds - this.#budget.criticalSeconds) * 1000;
  }

  get criticalMs(): number {
    return this.#budget.criticalSeconds * 1000;
  }

  beginCritical(): void {
    this.#group = "critical";
  }
}

/** By the two classes that every cluster has; the kubelet compares their priority. */
export function isCritical(pod: Pod): boolean {
  return pod.spec.priorityClassName?.startsWith("system-") === true;
}
