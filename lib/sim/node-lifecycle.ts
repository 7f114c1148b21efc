/** The node lifecycle controller: taints by condition, and Ready=Unknown for a kubelet that has fallen silent. */
import type { Taint } from "../drain/cluster.ts";
import { UNSCHEDULABLE_TAINT } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw, untilNext } from "./cluster-context.ts";
import { setReady } from "./cluster-node-status.ts";
import type { NodeObject } from "./cluster-objects.ts";
import { isReady, readyOf } from "./cluster-objects.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const SILENT = {
  status: "Unknown",
  reason: "NodeStatusUnknown",
  message: "Kubelet stopped posting node status.",
} as const;

export class NodeLifecycle {
  readonly #context: ClusterContext;
  readonly #phase: number;
  readonly #grace: number;
  readonly #taints: WorkQueue;
  readonly #evictionTaints: WorkQueue;
  readonly #monitor: WorkQueue;
  readonly #heard = new Map<string, Instant>();

  constructor(context: ClusterContext) {
    this.#context = context;
    const { api, clock, controllerManager, timing } = context;
    this.#phase = draw(context, [0, timing.nodeMonitorPeriod - 1]);
    this.#grace = draw(context, timing.nodeMonitorGrace);
    const queue = (delay: () => number, run: (node: NodeObject) => void): WorkQueue =>
      new WorkQueue(clock, controllerManager, delay, (name) => {
        const node = api.nodes.get(name);
        if (node !== undefined) run(node);
      });
    const nextRound = (): number => untilNext(clock.now(), timing.nodeMonitorPeriod, this.#phase);
    this.#taints = queue(
      () => draw(context, timing.taintByCondition),
      (node) => this.#taintByCondition(node),
    );
    this.#evictionTaints = queue(nextRound, (node) => this.#taintForEviction(node));
    this.#monitor = queue(nextRound, (node) => this.#check(node));
    api.nodes.watch((node, change) => this.#onNode(node, change === "added"));
    api.leases.watch(({ metadata: { name } }) => this.#heard.set(name, clock.now()));
  }

  /** After an outage every node gets a fresh period of grace. */
  forget(): void {
    for (const name of this.#heard.keys()) this.#heard.set(name, this.#context.clock.now());
  }

  #onNode(node: NodeObject, isNew: boolean): void {
    const { name } = node.metadata;
    if (isNew) {
      this.#heard.set(name, this.#context.clock.now());
      this.#monitor.add(name);
    }
    if (!hasTaints(node, conditionTaints(node), "NoSchedule")) this.#taints.add(name);
    if (!hasTaints(node, evictionTaints(node), "NoExecute")) this.#evictionTaints.add(name);
  }

  #check(node: NodeObject): void {
    const { clock, timing, api } = this.#context;
    const { name } = node.metadata;
    const silence = clock.now() - (this.#heard.get(name) ?? clock.now());
    if (silence < this.#grace) {
      const due = clock.now() + this.#grace - silence;
      const wait = due - clock.now() + untilNext(due, timing.nodeMonitorPeriod, this.#phase);
      return this.#monitor.add(name, wait);
    }
    if (readyOf(node)?.status !== "Unknown") {
      setReady(this.#context, node, SILENT);
      for (const pod of api.podsOn(name)) {
        if (!pod.status.ready) continue;
        api.pods.update(pod, ({ status }) => {
          status.ready = false;
        });
      }
    }
    this.#monitor.add(name);
  }

  #taintByCondition(node: NodeObject): void {
    this.#setTaints(node, conditionTaints(node), "NoSchedule");
  }

  /** With no node ready the fault is taken to be the control plane's own: nobody is evicted. */
  #taintForEviction(node: NodeObject): void {
    const wanted = this.#context.api.nodes.list().some(isReady) ? evictionTaints(node) : [];
    this.#setTaints(node, wanted, "NoExecute");
  }

  #setTaints(node: NodeObject, wanted: readonly Taint[], effect: Taint["effect"]): void {
    if (hasTaints(node, wanted, effect)) return;
    const before = node.spec.taints ?? [];
    const others = before.filter((taint) => !isOurs(taint, effect));
    const now = this.#context.clock.now();
    const dated = wanted.map((taint) => ({
      ...taint,
      since: before.find(({ key, effect: of }) => key === taint.key && of === effect)?.since ?? now,
    }));
    this.#context.api.nodes.update(node, ({ spec }) => {
      const taints = [...others, ...dated];
      if (taints.length === 0) delete spec.taints;
      else spec.taints = taints;
    });
  }
}

function isOurs(taint: Taint, effect: Taint["effect"]): boolean {
  return taint.effect === effect && [NOT_READY, UNREACHABLE, UNSCHEDULABLE_TAINT].includes(taint.key);
}

function hasTaints(node: NodeObject, wanted: readonly Taint[], effect: Taint["effect"]): boolean {
  const there = (node.spec.taints ?? []).filter((taint) => isOurs(taint, effect));
  return (
    there.length === wanted.length && wanted.every(({ key }) => there.some((taint) => taint.key === key))
  );
}

function conditionTaints(node: NodeObject): readonly Taint[] {
  const cordon: Taint[] =
    node.spec.unschedulable === true ? [{ key: UNSCHEDULABLE_TAINT, effect: "NoSchedule" }] : [];
  return [...cordon, ...readyTaints(node, "NoSchedule")];
}

function evictionTaints(node: NodeObject): readonly Taint[] {
  return readyTaints(node, "NoExecute");
}

function readyTaints(node: NodeObject, effect: Taint["effect"]): readonly Taint[] {
  const status = readyOf(node)?.status ?? "Unknown";
  switch (status) {
    case "True":
      return [];
    case "False":
      return [{ key: NOT_READY, effect }];
    case "Unknown":
      return [{ key: UNREACHABLE, effect }];
    default:
      return status satisfies never;
  }
}
