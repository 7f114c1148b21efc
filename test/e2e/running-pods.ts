/** The containers that run on a machine, and whether the CSI driver's are among them. */
import type { Pod } from "./api-objects.ts";
import type { Changes } from "./changes.ts";

/** What a test may hang on to a pod: for example a real process that serves the pod's preStop hook. */
export interface PodEvents {
  /** Awaited before the pod is reported as running. */
  readonly containersStarted?: (pod: Pod) => Promise<void> | void;
  /** Awaited after the containers have ended, before anything is unmounted. */
  readonly containersEnded?: (pod: Pod) => Promise<void> | void;
  /** A container got SIGTERM: at once, or after its preStop hook. */
  readonly containerSignalled?: (pod: Pod, container: string) => void;
}

interface Running {
  readonly pod: Pod;
  readonly signalled: Set<string>;
}

/** The registrar removes its socket at SIGTERM; the driver stops to answer. Either way nothing can be unmounted. */
const driverContainers = ["ebs-plugin", "node-driver-registrar"];

export class RunningPods {
  readonly #events: PodEvents;
  readonly #driverPodLabels: Readonly<Record<string, string>> | undefined;
  readonly #changes: Changes;
  readonly #running = new Map<string, Running>();

  constructor(
    options: PodEvents & { readonly driverPodLabels?: Readonly<Record<string, string>> },
    changes: Changes,
  ) {
    this.#events = options;
    this.#driverPodLabels = options.driverPodLabels;
    this.#changes = changes;
  }

  /** Does nothing for a pod that has run on while its kubelet was away. */
  async started(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    if (this.#running.has(uid)) return;
    this.#running.set(uid, { pod, signalled: new Set() });
    await this.#events.containersStarted?.(pod);
    this.#changes.notify();
  }

  signalled(pod: Pod, container: string): void {
    const signalled = this.#running.get(pod.metadata.uid ?? "")?.signalled;
    if (signalled === undefined || signalled.has(container)) return;
    signalled.add(container);
    this.#events.containerSignalled?.(pod, container);
    this.#changes.notify();
  }

  async ended(pod: Pod): Promise<void> {
    if (this.#running.delete(pod.metadata.uid ?? "")) await this.#events.containersEnded?.(pod);
    this.#changes.notify();
  }

  async powerOff(): Promise<void> {
    for (const { pod } of this.#running.values()) await this.ended(pod);
  }

  values(): readonly Pod[] {
    return [...this.#running.values()].map(({ pod }) => pod);
  }

  isDriverRegistered(): boolean {
    const wanted = this.#driverPodLabels;
    if (wanted === undefined) return true;
    return [...this.#running.values()].some(
      ({ pod, signalled }) =>
        Object.entries(wanted).every(([label, value]) => pod.metadata.labels?.[label] === value) &&
        !driverContainers.some((container) => signalled.has(container)),
    );
  }
}
