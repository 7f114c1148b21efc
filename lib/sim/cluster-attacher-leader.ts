/** Which pod of the CSI controller leads. A new leader comes only once the old one's lease has run out. */
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";
import { isFinished } from "./cluster-objects.ts";
import { Gate } from "./cluster-work-queue.ts";

export class AttacherLeader {
  /** Open while a leader is at work. In a scene without pods of the CSI controller it works elsewhere, always. */
  readonly gate: Gate;
  readonly #context: ClusterContext;
  readonly #candidates = new Map<string, PodObject>();
  #leader: string | undefined;
  #isLeased = false;

  constructor(context: ClusterContext) {
    this.#context = context;
    this.gate = new Gate(context.api.gate);
    context.api.pods.watch((pod, change) => {
      if (!pod.spec.containers.includes("csi-attacher")) return;
      const { uid } = pod.metadata;
      if (change === "removed" || isFinished(pod)) this.containersEnded(uid);
      else if (pod.status.containersRunning) this.#candidates.set(uid, pod);
      this.#elect();
    });
  }

  /** A kubelet tells, or a machine's end: the API may learn of it much later. */
  containersEnded(uid: string): void {
    this.#candidates.delete(uid);
    if (this.#leader !== uid) return;
    this.#leader = undefined;
    this.#isLeased = true;
    this.gate.close("no leader");
    this.#context.note("attachment", "csi-attacher", "leader gone");
    this.#context.clock.after(draw(this.#context, this.#context.timing.leaderLease), () => {
      this.#isLeased = false;
      this.#elect();
    });
  }

  #elect(): void {
    if (this.#leader !== undefined || this.#isLeased) return;
    const [next] = this.#candidates.values();
    if (next === undefined) return;
    this.#leader = next.metadata.uid;
    this.#context.note("attachment", "csi-attacher", `${next.metadata.name} leads`);
    this.gate.open("no leader");
  }
}
