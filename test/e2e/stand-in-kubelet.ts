/**
 * A stand-in for one machine and its kubelet: it registers, renews its Lease, reports its status, and runs the pods
 * that are bound to it, in the order of the real one. Nothing is executed; a mount is an entry in the mount record.
 */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Node, Pod } from "./api-objects.ts";
import { Changes } from "./changes.ts";
import { KubeletPods, unlessEnded, type KubeletContext } from "./kubelet-pods.ts";
import { NodeReports } from "./node-reports.ts";
import { NodeVolumes, type UnmountStep } from "./node-volumes.ts";
import { isCritical, NodeShutdown, type ShutdownBudget } from "./node-shutdown.ts";
import { persist } from "./persist.ts";
import { attachmentName } from "./pod-volumes.ts";
import { RunningPods, type PodEvents } from "./running-pods.ts";

export interface KubeletOptions extends PodEvents {
  /** The Node's name. Where a Node of the name is there already, it is adopted. */
  readonly name: string;
  readonly instanceId: string;
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What a container needs after SIGTERM, unless its pod says otherwise; 0.5 s. */
  readonly stopSeconds?: number;
  /** Of the status sync, which alone reports `volumesInUse`. 2 s here; the real kubelet's default is 10. */
  readonly statusPeriodSeconds?: number;
  /**
   * Labels of the CSI driver's pod. With them the driver is registered only while such a pod runs here and neither
   * its driver nor its registrar got SIGTERM; without them it always is.
   */
  readonly driverPodLabels?: Readonly<Record<string, string>>;
}

/** The real kubelet's: a quarter of its Lease's 40 s. */
const leasePeriodMs = 10_000;

export class StandInKubelet {
  readonly name: string;
  readonly instanceId: string;
  readonly #options: KubeletOptions;
  readonly #context: KubeletContext;
  readonly #changes = new Changes();
  readonly #volumes: NodeVolumes;
  readonly #running: RunningPods;
  readonly #reports: NodeReports;
  readonly #pods: KubeletPods;
  #bootId = randomUUID();
  #shutdown: NodeShutdown | undefined;
  #life: AbortController | undefined;
  #loops: readonly Promise<void>[] = [];

  constructor(options: KubeletOptions, context: KubeletContext) {
    this.name = options.name;
    this.instanceId = options.instanceId;
    this.#options = options;
    this.#context = context;
    this.#running = new RunningPods(options, this.#changes);
    this.#volumes = new NodeVolumes(
      {
        volumesInUse: () => this.node()?.status?.volumesInUse ?? [],
        volumesAttached: () => (this.node()?.status?.volumesAttached ?? []).map(({ name }) => name),
        attachment: (volume) => context.attachments.get(attachmentName(volume, this.name)),
        isDriverRegistered: () => this.#running.isDriverRegistered(),
        until: (isTrue) => this.#until(isTrue),
        changed: () => this.#changes.notify(),
      },
      context.mounts,
      options.name,
      options.instanceId,
    );
    this.#pods = new KubeletPods({
      context,
      node: this.name,
      stopMs: (options.stopSeconds ?? 0.5) * 1000,
      volumes: this.#volumes,
      running: this.#running,
      changes: this.#changes,
      shutdown: () => this.#shutdown,
    });
    this.#reports = new NodeReports({
      client: context.client,
      name: options.name,
      labels: options.labels ?? {},
      machine: () => ({
        instanceId: this.instanceId,
        zone: options.zone ?? "eu-central-1a",
        bootId: this.#bootId,
      }),
      node: () => this.node(),
      volumesInUse: () => this.#volumes.inUse(),
      isDriverRegistered: () => this.#running.isDriverRegistered(),
      isShuttingDown: () => this.#shutdown !== undefined,
    });
  }

  get bootId(): string {
    return this.#bootId;
  }

  get isAlive(): boolean {
    return this.#life !== undefined;
  }

  /** The Node of this name as the API server has it. */
  node(): Node | undefined {
    return this.#context.nodes.get(this.name);
  }

  /** Something in the API changed that concerns this node; `pod` where it was a pod's change. */
  noticed(pod?: Pod): void {
    if (pod !== undefined && this.#life !== undefined) this.#pods.takeUp(pod, this.#life.signal);
    this.#changes.notify();
  }

  /** Registers, and lives on; resolves when the Node is there and its driver too. */
  async start(): Promise<void> {
    if (this.#life !== undefined) throw new Error(`the kubelet of ${this.name} is running already`);
    this.#shutdown = undefined;
    this.#life = new AbortController();
    const { signal } = this.#life;
    setMaxListeners(0, signal); // one per wait of each pod
    await persist({ signal }, () => this.#reports.register());
    await this.#until(() => this.node() !== undefined);
    await persist({ signal }, () => this.#reports.syncStatus());
    await persist({ signal }, () => this.#reports.syncDriver());
    const statusPeriodMs = (this.#options.statusPeriodSeconds ?? 2) * 1000;
    this.#loops = [
      this.#repeat(leasePeriodMs, signal, () => this.#reports.renewLease()),
      this.#repeat(statusPeriodMs, signal, () => this.#reports.syncStatus()),
      this.#followDriver(signal),
      ...this.#unstageLeftovers(),
    ].map((loop) => unlessEnded(loop, signal, this.#context));
    for (const pod of this.#context.pods.values()) this.#pods.takeUp(pod, signal);
  }

  /** The kubelet dies, its machine does not: containers run on, and volumes stay mounted. */
  async killKubelet(): Promise<void> {
    this.#life?.abort();
    this.#life = undefined;
    await Promise.all([...this.#loops, this.#pods.settled()]);
  }

  /** The machine loses its power, and the kubelet with it: nothing is renewed, reported or mounted any more. */
  async kill(): Promise<void> {
    this.#volumes.powerOff();
    await this.killKubelet();
    await this.#running.powerOff();
  }

  /**
   * The kubelet's graceful shutdown: Ready=False at once, then the ordinary pods end, then the critical ones. Returns
   * when the kubelet lets the machine go; `kill` is what happens next.
   */
  async shutDown(budget: ShutdownBudget): Promise<void> {
    const signal = this.#signal();
    const shutdown = new NodeShutdown(budget);
    this.#shutdown = shutdown;
    await persist({ signal }, () => this.#reports.syncStatus());
    this.#changes.notify();
    await this.#changes.until(
      () => this.#pods.haveEnded((pod) => !isCritical(pod)),
      signal,
      shutdown.ordinaryMs,
    );
    shutdown.beginCritical();
    this.#changes.notify();
    await this.#changes.until(() => this.#pods.haveEnded(isCritical), signal, shutdown.criticalMs);
  }

  /** The machine goes down, stays down for a while, and comes back with another bootID. */
  async reboot(downSeconds: number): Promise<void> {
    await this.kill();
    await delay(downSeconds * 1000);
    this.#bootId = randomUUID();
    await this.start();
  }

  /** From now on the unmount of a volume hangs, by default with its pod gone already. */
  stuckUnmount(volumeId: string, step: UnmountStep = "unstage"): void {
    this.#volumes.stick(volumeId, step);
  }

  releaseUnmount(volumeId: string): void {
    this.#volumes.release(volumeId);
  }

  /** Mounts that a predecessor left on this machine, and that no pod wants any more. */
  #unstageLeftovers(): readonly Promise<void>[] {
    const isWanting = ({ spec, status }: Pod) =>
      spec.nodeName === this.name && status?.phase !== "Succeeded" && status?.phase !== "Failed";
    const pods = this.#context.pods.values().filter(isWanting);
    const leftovers = this.#volumes.forgetPodsExcept(new Set(pods.map(({ metadata }) => metadata.uid ?? "")));
    return leftovers.map((volume) => this.#volumes.unstage(volume));
  }

  async #followDriver(signal: AbortSignal): Promise<void> {
    for (;;) {
      const isRegistered = this.#running.isDriverRegistered();
      await this.#until(() => this.#running.isDriverRegistered() !== isRegistered);
      await persist({ signal }, () => this.#reports.syncDriver());
    }
  }

  async #repeat(periodMs: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    for (;;) {
      await persist({ signal }, act);
      await delay(periodMs, undefined, { signal });
    }
  }

  async #until(isTrue: () => boolean): Promise<void> {
    await this.#changes.until(isTrue, this.#signal());
  }

  #signal(): AbortSignal {
    if (this.#life === undefined) throw new Error(`the kubelet of ${this.name} is not running`);
    return this.#life.signal;
  }
}
