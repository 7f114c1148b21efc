/** The scheduler: it chooses by what it knows now, and binds a moment later without looking again. */
import { UNSCHEDULABLE_TAINT } from "../drain/names.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { NodeObject, PodObject } from "./cluster-objects.ts";
import { isDeleting, isReady, tolerates } from "./cluster-objects.ts";
import { zonesOf } from "./cluster-volumes.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

export const ZONE_LABEL = "topology.kubernetes.io/zone";

export function startScheduler(context: ClusterContext): void {
  new Scheduler(context).start();
}

class Scheduler {
  readonly #context: ClusterContext;
  readonly #queue: WorkQueue;
  readonly #waiting = new Map<string, PodObject>();
  /** Chosen, not bound yet: uid → node. */
  readonly #assumed = new Map<string, string>();

  constructor(context: ClusterContext) {
    this.#context = context;
    this.#queue = new WorkQueue(
      context.clock,
      context.api.gate,
      () => draw(context, context.timing.watch),
      (uid) => this.#schedule(uid),
    );
  }

  start(): void {
    const { api } = this.#context;
    api.pods.watch((pod, change) => {
      if (change === "removed") this.#forget(pod);
      else if (change === "added" && pod.spec.nodeName === undefined) {
        this.#waiting.set(pod.metadata.uid, pod);
        this.#queue.add(pod.metadata.uid);
      }
    });
    api.nodes.watch((_node, change) => {
      if (change !== "removed") for (const uid of this.#waiting.keys()) this.#queue.add(uid);
    });
  }

  #forget(pod: PodObject): void {
    this.#waiting.delete(pod.metadata.uid);
    this.#assumed.delete(pod.metadata.uid);
  }

  #schedule(uid: string): void {
    const pod = this.#waiting.get(uid);
    if (pod === undefined || this.#assumed.has(uid) || isDeleting(pod)) return;
    const node = this.#choose(pod);
    if (node === undefined) return;
    this.#assumed.set(uid, node.metadata.name);
    this.#context.clock.after(this.#bindDelay(), () => this.#bind(pod, node.metadata.name));
  }

  #bindDelay(): number {
    const { random, timing } = this.#context;
    return draw(this.#context, random.chance(timing.lateBind.share) ? timing.lateBind.span : timing.bind);
  }

  #bind(pod: PodObject, node: string): void {
    const { api, note } = this.#context;
    if (!api.gate.isOpen) return api.gate.whenOpen(() => this.#bind(pod, node));
    this.#forget(pod);
    if (!api.pods.has(pod) || isDeleting(pod)) return;
    api.pods.update(pod, ({ spec }) => {
      spec.nodeName = node;
    });
    note("pod", pod.metadata.name, `bound to ${node}`);
  }

  /** The feasible node with the fewest pods; among equals by chance. */
  #choose(pod: PodObject): NodeObject | undefined {
    const { api, random } = this.#context;
    const feasible = api.nodes.list().filter((node) => isFeasible(pod, node, zonesOf(api, pod)));
    if (feasible.length <= 1) return feasible[0];
    const load = new Map<string, number>();
    const names = [...api.pods.list().map((other) => other.spec.nodeName), ...this.#assumed.values()];
    for (const name of names) if (name !== undefined) load.set(name, (load.get(name) ?? 0) + 1);
    const loadOf = (node: NodeObject): number => load.get(node.metadata.name) ?? 0;
    const least = Math.min(...feasible.map(loadOf));
    return random.pick(feasible.filter((node) => loadOf(node) === least));
  }
}

function isFeasible(pod: PodObject, node: NodeObject, zones: readonly string[]): boolean {
  const { spec, metadata } = node;
  if (pod.spec.requiredNode !== undefined && pod.spec.requiredNode !== metadata.name) return false;
  if (zones.some((zone) => zone !== metadata.labels[ZONE_LABEL])) return false;
  const taints = (spec.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  if (!taints.every((taint) => tolerates(pod.spec.tolerations, taint))) return false;
  const unschedulable = { key: UNSCHEDULABLE_TAINT, effect: "NoSchedule" } as const;
  if (spec.unschedulable === true && !tolerates(pod.spec.tolerations, unschedulable)) return false;
  // DaemonSet pods go to nodes that are not ready yet; the taint by condition would say so a moment later for the others.
  return isReady(node) || pod.spec.requiredNode !== undefined;
}
