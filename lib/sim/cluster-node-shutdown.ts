/** The kubelet's graceful node shutdown: ordinary pods first, then the critical ones, the CSI node pod among them. */
import type { BootTimers } from "./cluster-boot-timers.ts";

/** `shutdownGracePeriod` and, within it, `shutdownGracePeriodCriticalPods`, in milliseconds. */
export interface ShutdownBudget {
  readonly total: number;
  readonly critical: number;
}

export type PodGroup = "ordinary" | "critical";

export interface NodeToShutDown {
  readonly timers: BootTimers;
  readonly stopPods: (group: PodGroup, graceMilliseconds: number) => void;
  /** Whether every pod of the group is unpublished: the group change waits for that, not for the unstage. */
  readonly isDone: (group: PodGroup) => boolean;
  /** The kubelet lets the machine power off. */
  readonly letGo: () => void;
}

export class NodeShutdown {
  readonly #node: NodeToShutDown;
  readonly #budget: ShutdownBudget;
  #group: PodGroup | "over" = "ordinary";

  constructor(node: NodeToShutDown, budget: ShutdownBudget) {
    this.#node = node;
    this.#budget = budget;
    this.#stop("ordinary", budget.total - budget.critical);
  }

  /** Called whenever a pod is unpublished. */
  readonly podDone = (): void => {
    if (this.#group !== "over" && this.#node.isDone(this.#group)) this.#next(this.#group);
  };

  #stop(group: PodGroup, budget: number): void {
    this.#group = group;
    this.#node.stopPods(group, budget);
    this.#node.timers.after(budget, () => this.#next(group));
    this.#node.timers.after(0, this.podDone);
  }

  #next(after: PodGroup): void {
    if (this.#group !== after) return;
    if (after === "ordinary") return this.#stop("critical", this.#budget.critical);
    this.#group = "over";
    this.#node.letGo();
  }
}
