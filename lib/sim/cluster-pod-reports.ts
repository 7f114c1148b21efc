/** The kubelet's status manager: what it has to say of its pods, in order, as soon as it reaches the API. */
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";
import { isDeleting } from "./cluster-objects.ts";
import type { Gate } from "./cluster-work-queue.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

interface Unsent {
  readonly pod: PodObject;
  readonly writes: (() => void)[];
}

export class PodReports {
  readonly #context: ClusterContext;
  readonly #queue: WorkQueue;
  readonly #unsent = new Map<string, Unsent>();

  /** `gate`: open while the kubelet reaches the API. */
  constructor(context: ClusterContext, gate: Gate) {
    this.#context = context;
    this.#queue = new WorkQueue(
      context.clock,
      gate,
      () => draw(context, context.timing.watch),
      (uid) => this.#send(uid),
    );
  }

  status(pod: PodObject, change: (status: PodObject["status"]) => void): void {
    this.#add(pod, () => this.#context.api.pods.update(pod, ({ status }) => change(status)));
  }

  /** Nothing is left of the pod: its object goes, if somebody asked for that. */
  end(pod: PodObject): void {
    const { name, namespace = "", uid } = pod.metadata;
    this.#add(pod, () => {
      if (isDeleting(pod)) this.#context.api.deletePod(namespace, name, { uid, graceSeconds: 0 });
    });
  }

  /** The machine is off: what was not said never will be. */
  drop(): void {
    this.#unsent.clear();
  }

  #add(pod: PodObject, write: () => void): void {
    const { uid } = pod.metadata;
    const unsent = this.#unsent.get(uid) ?? { pod, writes: [] };
    unsent.writes.push(write);
    this.#unsent.set(uid, unsent);
    this.#queue.add(uid);
  }

  #send(uid: string): void {
    const unsent = this.#unsent.get(uid);
    if (unsent === undefined) return;
    this.#unsent.delete(uid);
    for (const write of unsent.writes) if (this.#context.api.pods.has(unsent.pod)) write();
  }
}
