/** One machine's kubelet: registration, Lease, status and shutdown; it lives and dies with the machine. */
import type { InstanceState } from "../drain/machine.ts";
import { BootTimers } from "./cluster-boot-timers.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { CsiPodStopping } from "./cluster-node-pods.ts";
import { NodePods } from "./cluster-node-pods.ts";
import type { ShutdownBudget } from "./cluster-node-shutdown.ts";
import { NodeShutdown } from "./cluster-node-shutdown.ts";
import type { NodeIdentity } from "./cluster-node-status.ts";
import {
  READY,
  SHUTTING_DOWN,
  registerNode,
  renewLease,
  reportInUse,
  setDriver,
  setReady,
} from "./cluster-node-status.ts";
import { NodeVolumes } from "./cluster-node-volumes.ts";
import type { PodObject } from "./cluster-objects.ts";
import { readyOf } from "./cluster-objects.ts";
import { Gate } from "./cluster-work-queue.ts";

export interface KubeletOptions extends NodeIdentity {
  /** Graceful node shutdown; without it the machine's end ends everything at once. */
  readonly shutdown?: ShutdownBudget;
  /** Milliseconds from power-on to the kubelet's first start. */
  readonly firstBoot?: number;
  readonly onCsiPodStopping?: (stopping: CsiPodStopping) => void;
  readonly onContainersEnded: (uid: string) => void;
  /** The guest has powered off after a graceful shutdown. */
  readonly onPoweredOff?: (instance: string) => void;
}

/** Milliseconds from logind's signal until Ready=False is in the API. */
const SHUTDOWN_NOTICED = [8, 37] as const;

export class Kubelet {
  readonly options: KubeletOptions;
  readonly #context: ClusterContext;
  readonly #timers: BootTimers;
  readonly #gate: Gate;
  readonly volumes: NodeVolumes;
  readonly #pods: NodePods;
  #isOn = false;
  #isDriverRegistered = false;
  #shutdown: NodeShutdown | undefined;
  #isCalledOff = false;
  #hibernates = false;
  #firstBoot: number | undefined;

  constructor(context: ClusterContext, options: KubeletOptions) {
    this.options = options;
    this.#firstBoot = options.firstBoot;
    this.#context = context;
    this.#timers = new BootTimers(context.clock);
    this.#gate = new Gate(context.api.gate);
    this.#gate.close("off");
    const { name, instance } = options;
    const timers = this.#timers;
    this.volumes = new NodeVolumes(context, { name, instance, timers, hasDriver: () => this.#hasDriver() });
    this.#pods = new NodePods(context, {
      name,
      timers,
      gate: this.#gate,
      volumes: this.volumes,
      isShuttingDown: () => this.#shutdown !== undefined,
      onDriver: (isRegistered) => this.#setDriver(isRegistered),
      onCsiPodStopping: options.onCsiPodStopping,
      onContainersEnded: options.onContainersEnded,
      onPodDone: () => this.#shutdown?.podDone(),
    });
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Uids of pods with running containers. */
  running(): readonly string[] {
    return this.#pods.running();
  }

  /** Powers on; the kubelet is up some time later. */
  boot(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    const delay = this.#firstBoot ?? draw(this.#context, this.#context.timing.boot);
    this.#firstBoot = undefined;
    this.#timers.after(delay, () => this.#register());
  }

  #register(): void {
    const { api } = this.#context;
    if (!api.gate.isOpen) return api.gate.whenOpen(() => this.#timers.after(0, () => this.#register()));
    this.#gate.open("off");
    registerNode(this.#context, this.options, this.#newBootId());
    if (this.#hasDriver()) setDriver(this.#context, this.options.name, this.options.instance);
    for (const pod of api.podsOn(this.options.name)) this.#pods.observe(pod);
    this.#timers.after(this.#context.random.between(1, this.#context.timing.statusPeriod), () =>
      this.#tick(),
    );
  }

  #newBootId(): string {
    const digits = Array.from({ length: 4 }, () => this.#context.random.between(4_096, 65_535).toString(16));
    return `boot-${digits.join("")}`;
  }

  #tick(): void {
    this.#timers.after(this.#context.timing.statusPeriod, () => this.#tick());
    if (!this.#gate.isOpen) return;
    const { api } = this.#context;
    const { name } = this.options;
    const node = api.nodes.get(name);
    if (node === undefined) return;
    renewLease(this.#context, name);
    const wasUnknown = readyOf(node)?.status === "Unknown";
    if (this.#shutdown === undefined || wasUnknown) {
      setReady(this.#context, node, this.#shutdown === undefined ? READY : SHUTTING_DOWN);
    }
    if (wasUnknown) this.#pods.reportRunning();
    const names = this.volumes.inUse();
    reportInUse(this.#context, node, names);
    this.volumes.markReported(names);
    this.#pods.startWaiting();
  }

  observePod(pod: PodObject): void {
    if (this.#isOn) this.#pods.observe(pod);
  }

  /** An attachment to this node changed. */
  observeAttachment(): void {
    if (this.#isOn && this.#gate.isOpen) this.#pods.startWaiting();
  }

  /** A cluster whose scene has no CSI node pods has its driver for granted. */
  #hasDriver(): boolean {
    if (this.#isDriverRegistered) return true;
    const sets = this.#context.api.daemonSets.list();
    return !sets.some(({ spec }) => spec.template.containers.includes("node-driver-registrar"));
  }

  #setDriver(isRegistered: boolean): void {
    if (this.#isDriverRegistered === isRegistered) return;
    this.#isDriverRegistered = isRegistered;
    const { name, instance } = this.options;
    this.#context.note("kubelet", name, isRegistered ? "driver registered" : "driver deregistered");
    const write = (): void => setDriver(this.#context, name, this.#isDriverRegistered ? instance : undefined);
    if (this.#gate.isOpen) write();
    else this.#gate.whenOpen(write);
    if (isRegistered) this.#pods.startWaiting();
  }

  /** EC2 says so. */
  machineChanged(state: InstanceState): void {
    switch (state) {
      case "pending":
        return;
      case "running":
        return this.#machineRuns();
      case "stopping":
      case "shutting-down":
        if (this.#hibernates) return this.freeze();
        if (this.options.shutdown === undefined) return this.#endProcesses();
        return this.beginShutdown();
      case "stopped":
      case "terminated":
        if (this.#hibernates && state === "stopped") return;
        return this.powerOff();
      default:
        return state satisfies never;
    }
  }

  #machineRuns(): void {
    if (this.#hibernates) {
      this.#hibernates = false;
      return this.thaw();
    }
    this.boot();
  }

  /** The next stop is a hibernation: the guest resumes as it was, its file systems mounted. */
  hibernateNext(): void {
    this.#hibernates = true;
  }

  /** Systemd stops the kubelet and its containers at once; the file systems go with the machine. */
  #endProcesses(): void {
    this.#gate.close("off");
    this.#gate.open("frozen");
    this.#pods.powerOff();
    this.#timers.end();
  }

  /** The machine is off: nothing runs, nothing is mounted. */
  powerOff(): void {
    if (!this.#isOn) return;
    this.#endProcesses();
    this.#isOn = false;
    this.#shutdown = undefined;
    this.#isDriverRegistered = false;
    this.volumes.powerOff();
    this.#context.note("kubelet", this.options.name, "machine off");
  }

  /** The process hangs or is dead while the machine and the containers go on. */
  freeze(): void {
    this.#gate.close("frozen");
    this.#timers.freeze();
    this.#context.note("kubelet", this.options.name, "frozen");
  }

  thaw(): void {
    this.#gate.open("frozen");
    this.#timers.thaw();
    this.#context.note("kubelet", this.options.name, "runs again");
  }

  /** The node does not reach the API server; all else goes on. */
  disconnect(): void {
    this.#gate.close("disconnected");
  }

  connect(): void {
    this.#gate.open("disconnected");
  }

  /** A logind signal to a kubelet with a graceful shutdown period. */
  beginShutdown(): void {
    const { shutdown: budget, name } = this.options;
    if (!this.#isOn || this.#shutdown !== undefined || budget === undefined) return;
    this.#isCalledOff = false;
    this.#timers.after(draw(this.#context, SHUTDOWN_NOTICED), () => {
      const node = this.#context.api.nodes.get(name);
      if (node !== undefined && this.#gate.isOpen) setReady(this.#context, node, SHUTTING_DOWN);
    });
    this.#shutdown = new NodeShutdown(
      {
        timers: this.#timers,
        stopPods: (group, grace) => this.#pods.stopGroup(group, grace),
        isDone: (group) => this.#pods.isDone(group),
        letGo: () => this.#letGo(),
      },
      budget,
    );
  }

  /** The kubelet notices only once all its pods are dead. */
  callOffShutdown(): void {
    this.#isCalledOff = true;
  }

  #letGo(): void {
    this.#shutdown = undefined;
    if (this.#isCalledOff) return;
    const { instance } = this.options;
    this.powerOff();
    this.options.onPoweredOff?.(instance);
  }
}
