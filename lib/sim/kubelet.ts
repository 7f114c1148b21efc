/** One machine's kubelet: it lives and dies with the machine. */
import type { InstanceState } from "../drain/machine.ts";
import { BootTimers } from "./cluster-boot-timers.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { CsiPodStopping } from "./cluster-csi-pod.ts";
import { NodePods } from "./cluster-node-pods.ts";
import { NodeReporter } from "./cluster-node-reporter.ts";
import type { ShutdownBudget } from "./cluster-node-shutdown.ts";
import { NodeShutdown } from "./cluster-node-shutdown.ts";
import type { NodeIdentity } from "./cluster-node-status.ts";
import { NodeVolumes } from "./cluster-node-volumes.ts";
import type { PodObject } from "./cluster-objects.ts";
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

export class Kubelet {
  readonly options: KubeletOptions;
  readonly volumes: NodeVolumes;
  readonly #context: ClusterContext;
  readonly #timers: BootTimers;
  readonly #gate: Gate;
  readonly #pods: NodePods;
  readonly #reporter: NodeReporter;
  #isOn = false;
  #hasStarted = false;
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
    const shared = {
      timers: this.#timers,
      gate: this.#gate,
      isShuttingDown: () => this.#shutdown !== undefined,
    };
    const hasDriver = (): boolean => this.#reporter.hasDriver();
    this.volumes = new NodeVolumes(context, { name, instance, timers: this.#timers, hasDriver });
    this.#reporter = new NodeReporter(context, {
      ...shared,
      identity: options,
      volumes: this.volumes,
      onSynced: (wasUnknown) => {
        if (wasUnknown) this.#pods.reportRunning();
        this.#pods.startWaiting();
      },
    });
    this.#pods = new NodePods(context, {
      ...shared,
      name,
      volumes: this.volumes,
      onDriver: (isRegistered) => {
        if (this.#reporter.setDriver(isRegistered) && isRegistered) this.#pods.startWaiting();
      },
      onCsiPodStopping: options.onCsiPodStopping,
      onContainersEnded: options.onContainersEnded,
      onPodDone: () => this.#shutdown?.podDone(),
    });
  }

  /** Whether the machine runs; its kubelet may be frozen or still starting all the same. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** Whether the kubelet has registered its Node since power-on: before that it lives under no name. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Uids of pods with running containers, whatever the API says. */
  running(): readonly string[] {
    return this.#pods.running();
  }

  observePod(pod: PodObject): void {
    if (this.#isOn) this.#pods.observe(pod);
  }

  /** An attachment to this node is done. */
  observeAttachment(): void {
    if (this.#gate.isOpen) this.#pods.startWaiting();
  }

  /** The running machine's system starts; the kubelet is up some time later. */
  boot(): void {
    const isRunning = this.#context.host.instance(this.options.instance)?.state === "running";
    if (this.#isOn || !isRunning) return;
    this.#isOn = true;
    const delay = this.#firstBoot ?? draw(this.#context, this.#context.timing.boot);
    this.#firstBoot = undefined;
    this.#timers.after(delay, () => this.#start());
  }

  #start(): void {
    const { api } = this.#context;
    if (!api.gate.isOpen) return api.gate.whenOpen(() => this.#timers.after(0, () => this.#start()));
    this.#gate.open("off");
    this.#reporter.start();
    this.#hasStarted = true;
    for (const pod of api.podsOn(this.options.name)) this.#pods.observe(pod);
  }

  /** EC2 says so. */
  machineChanged(state: InstanceState): void {
    switch (state) {
      case "pending":
        return;
      case "running":
        return this.#hibernates ? this.#resume() : this.boot();
      case "stopping":
      case "shutting-down":
        if (this.#hibernates && state === "stopping") return this.freeze();
        return this.options.shutdown === undefined ? this.#endProcesses() : this.beginShutdown();
      case "stopped":
        return this.#hibernates ? undefined : this.powerOff();
      case "terminated":
        return this.powerOff();
      default:
        return state satisfies never;
    }
  }

  /** The next stop is a hibernation: the guest resumes as it was, its file systems mounted. */
  hibernateNext(): void {
    this.#hibernates = true;
  }

  #resume(): void {
    this.#hibernates = false;
    this.thaw();
  }

  /** The same machine starts anew, as after a root volume's replacement: another boot id. */
  reboot(): void {
    this.powerOff();
    this.boot();
  }

  /** The machine is off: nothing runs, nothing is mounted. */
  powerOff(): void {
    if (!this.#isOn) return;
    this.#endProcesses();
    this.#isOn = false;
    this.#hasStarted = false;
    this.#shutdown = undefined;
    this.#hibernates = false;
    this.#reporter.powerOff();
    this.volumes.powerOff();
    this.#context.note("kubelet", this.options.name, "machine off");
  }

  /** Systemd stops the kubelet and its containers at once; the file systems go with the machine. */
  #endProcesses(): void {
    this.#gate.close("off");
    this.#gate.open("frozen");
    this.#pods.powerOff();
    this.#timers.end();
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
    const { shutdown: budget } = this.options;
    if (!this.#isOn || this.#shutdown !== undefined || budget === undefined) return;
    this.#isCalledOff = false;
    this.#context.note("kubelet", this.options.name, "graceful shutdown begins");
    this.#reporter.noticeShutdown();
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
    this.powerOff();
    this.options.onPoweredOff?.(this.options.instance);
  }
}
