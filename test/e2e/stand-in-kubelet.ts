/**
 * A stand-in for one machine and its kubelet: it registers, renews its Lease, reports its status, and runs the pods
 * that are bound to it, in the order of the real one. Nothing is executed; a mount is an entry in the mount record.
 */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiClient } from "./api-client.ts";
import type { Node, Pod, VolumeAttachment } from "./api-objects.ts";
import { Changes } from "./changes.ts";
import type { MountRecord } from "./mount-record.ts";
import { NodeReports } from "./node-reports.ts";
import { NodeVolumes, type UnmountStep } from "./node-volumes.ts";
import type { ObjectCache } from "./object-cache.ts";
import { persist } from "./persist.ts";
import { livePod, type PodHost } from "./pod-life.ts";
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

/** What all kubelets of a test share. */
export interface KubeletContext {
  readonly client: ApiClient;
  readonly mounts: MountRecord;
  readonly pods: ObjectCache<Pod>;
  readonly nodes: ObjectCache<Node>;
  readonly attachments: ObjectCache<VolumeAttachment>;
  /** An error that no test asked for. */
  failed(error: unknown): void;
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
  readonly #living = new Map<string, Promise<void>>();
  #bootId = randomUUID();
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
    if (pod !== undefined && this.isAlive) this.#takeUp(pod);
    this.#changes.notify();
  }

  /** Registers, and lives on; resolves when the Node is there and its driver too. */
  async start(): Promise<void> {
    if (this.#life !== undefined) throw new Error(`the kubelet of ${this.name} is running already`);
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
    ].map((loop) => this.#unlessEnded(loop, signal));
    for (const pod of this.#context.pods.values()) this.#takeUp(pod);
  }

  /** The kubelet dies, its machine does not: containers run on, and volumes stay mounted. */
  async killKubelet(): Promise<void> {
    this.#life?.abort();
    this.#life = undefined;
    await Promise.allSettled([...this.#loops, ...this.#living.values()]);
  }

  /** The machine loses its power, and the kubelet with it: nothing is renewed, reported or mounted any more. */
  async kill(): Promise<void> {
    this.#volumes.powerOff();
    await this.killKubelet();
    await this.#running.powerOff();
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

  /** Begins to run a pod that is bound to this node, once. */
  #takeUp(pod: Pod): void {
    const signal = this.#life?.signal;
    const uid = pod.metadata.uid ?? "";
    if (signal === undefined || pod.spec.nodeName !== this.name || this.#living.has(uid)) return;
    const host = this.#hostOf(pod, signal);
    if (host.current() === undefined) return; // this was the news that it is gone
    const life = this.#unlessEnded(livePod(host, pod), signal);
    this.#living.set(
      uid,
      life.finally(() => this.#living.delete(uid)),
    );
  }

  #hostOf(pod: Pod, signal: AbortSignal): PodHost {
    const { name, namespace, uid } = pod.metadata;
    return {
      client: this.#context.client,
      volumes: this.#volumes,
      signal,
      stopMs: (this.#options.stopSeconds ?? 0.5) * 1e3,
      current: () => {
        const present = this.#context.pods.get(name, namespace);
        return present?.metadata.uid === uid ? present : undefined;
      },
      until: (isTrue, limitMs) => this.#changes.until(isTrue, signal, limitMs),
      containersStarted: () => this.#running.started(pod),
      containerSignalled: (container) => this.#running.signalled(pod, container),
      containersEnded: () => this.#running.ended(pod),
    };
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
    if (this.#life === undefined) throw new Error(`the kubelet of ${this.name} is not running`);
    await this.#changes.until(isTrue, this.#life.signal);
  }

  /** The end of a kubelet ends all that it was doing; any other error is one that no test asked for. */
  async #unlessEnded(work: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!signal.aborted) this.#context.failed(error);
    }
  }
}
