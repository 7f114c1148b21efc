/** What a kubelet tells the API of its node: at its start, with every status sync, and when a driver comes or goes. */
import type { BootTimers } from "./cluster-boot-timers.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { NodeIdentity } from "./cluster-node-status.ts";
import {
  READY,
  SHUTTING_DOWN,
  STARTING,
  registerNode,
  renewLease,
  reportInUse,
  setDriver,
  setReady,
} from "./cluster-node-status.ts";
import type { NodeVolumes } from "./cluster-node-volumes.ts";
import { readyOf } from "./cluster-objects.ts";
import type { Gate } from "./cluster-work-queue.ts";

export interface NodeToReport {
  readonly identity: NodeIdentity;
  readonly timers: BootTimers;
  /** Open while the kubelet reaches the API. */
  readonly gate: Gate;
  readonly volumes: NodeVolumes;
  readonly isShuttingDown: () => boolean;
  /** The API has the node's status; `wasUnknown`: the control plane had given the node up. */
  readonly onSynced: (wasUnknown: boolean) => void;
}

/** Milliseconds from logind's signal until Ready=False is in the API. */
const SHUTDOWN_NOTICED = [8, 37] as const;

export class NodeReporter {
  readonly #context: ClusterContext;
  readonly #node: NodeToReport;
  #isStarted = false;
  #isDriverRegistered = false;

  constructor(context: ClusterContext, node: NodeToReport) {
    this.#context = context;
    this.#node = node;
  }

  start(): void {
    const { timers, identity } = this.#node;
    const { random, timing } = this.#context;
    registerNode(this.#context, identity, this.#newBootId());
    if (this.hasDriver()) setDriver(this.#context, identity.name, identity.instance);
    timers.after(draw(this.#context, timing.nodeReady), () => {
      this.#isStarted = true;
      this.#sync();
    });
    timers.after(random.between(1, timing.statusPeriod), () => this.#tick());
  }

  #newBootId(): string {
    const digits = Array.from({ length: 4 }, () => this.#context.random.between(4_096, 65_535).toString(16));
    return `boot-${digits.join("")}`;
  }

  #tick(): void {
    this.#node.timers.after(this.#context.timing.statusPeriod, () => this.#tick());
    this.#sync();
  }

  #sync(): void {
    const { identity, gate, volumes, isShuttingDown, onSynced } = this.#node;
    const node = this.#context.api.nodes.get(identity.name);
    if (!gate.isOpen || node === undefined) return;
    renewLease(this.#context, identity.name);
    const wasUnknown = readyOf(node)?.status === "Unknown";
    // The shutdown says so itself, a moment after the signal.
    if (!isShuttingDown()) setReady(this.#context, node, this.#isStarted ? READY : STARTING);
    else if (wasUnknown) setReady(this.#context, node, SHUTTING_DOWN);
    const names = volumes.inUse();
    reportInUse(this.#context, node, names);
    volumes.markReported(names);
    onSynced(wasUnknown);
  }

  /** logind's signal has come. */
  noticeShutdown(): void {
    this.#node.timers.after(draw(this.#context, SHUTDOWN_NOTICED), () => {
      const node = this.#context.api.nodes.get(this.#node.identity.name);
      if (node !== undefined && this.#node.gate.isOpen) setReady(this.#context, node, SHUTTING_DOWN);
    });
  }

  /** A cluster whose scene has no CSI node pods has its driver for granted. */
  hasDriver(): boolean {
    if (this.#isDriverRegistered) return true;
    const sets = this.#context.api.daemonSets.list();
    return !sets.some(({ spec }) => spec.template.containers.includes("node-driver-registrar"));
  }

  /** The registrar is up, or gone. Answers whether that is news. */
  setDriver(isRegistered: boolean): boolean {
    if (this.#isDriverRegistered === isRegistered) return false;
    this.#isDriverRegistered = isRegistered;
    const { identity, gate } = this.#node;
    const { name, instance } = identity;
    this.#context.note("kubelet", name, isRegistered ? "driver registered" : "driver deregistered");
    const write = (): void => setDriver(this.#context, name, this.#isDriverRegistered ? instance : undefined);
    if (gate.isOpen) write();
    else gate.whenOpen(write);
    return true;
  }

  powerOff(): void {
    this.#isStarted = false;
    this.#isDriverRegistered = false;
  }
}
