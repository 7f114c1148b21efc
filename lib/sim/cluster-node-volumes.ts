/** The kubelet's volume manager: mounts, unmounts and what it reports as in use. */
import { EBS_DRIVER } from "../drain/names.ts";
import { MINUTE } from "../drain/time.ts";
import type { BootTimers } from "./cluster-boot-timers.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { PodVolume } from "./cluster-volumes.ts";
import { attachmentNameOf, isLocal, uniqueName } from "./cluster-volumes.ts";

/** First and longest pause of the kubelet's back-off of a failed unmount. */
const FIRST_RETRY = 500;
const LONGEST_RETRY = 2 * MINUTE + 2_000;

/** What fails for a volume that is stuck: NodeUnpublish keeps its pod, NodeUnstage only the volume. */
export type StuckAt = "unpublish" | "unstage";

export interface NodeOfVolumes {
  readonly name: string;
  readonly instance: string;
  readonly timers: BootTimers;
  /** Whether the EBS driver is registered with the kubelet; without it nothing can be mounted or unmounted. */
  readonly hasDriver: () => boolean;
}

export class NodeVolumes {
  readonly #context: ClusterContext;
  readonly #node: NodeOfVolumes;
  /** By pod uid: what it needs, and whether it is mounted for it. */
  readonly #wanted = new Map<string, readonly PodVolume[]>();
  readonly #published = new Map<string, readonly PodVolume[]>();
  readonly #staged = new Map<string, PodVolume>();
  readonly #stuck = new Map<string, StuckAt>();
  #reported: ReadonlySet<string> = new Set();

  constructor(context: ClusterContext, node: NodeOfVolumes) {
    this.#context = context;
    this.#node = node;
  }

  /** Names for `Node.status.volumesInUse`: what some pod waits for, and what is mounted. */
  inUse(): readonly string[] {
    if (this.#wanted.size === 0 && this.#staged.size === 0) return [];
    const wanted = [...this.#wanted.values()].flat().map(uniqueName);
    return [...new Set([...wanted, ...this.#staged.keys()])].sort();
  }

  /** The API has these as in use; only such a volume is ever mounted. */
  markReported(names: readonly string[]): void {
    this.#reported = new Set(names);
  }

  /** EBS volumes that are mounted. */
  mounted(): readonly string[] {
    return [...this.#staged.values()].filter(isOnDisk).map(({ handle }) => handle);
  }

  want(pod: string, volumes: readonly PodVolume[]): void {
    this.#wanted.set(pod, volumes);
  }

  canMount(pod: string): boolean {
    const volumes = this.#wanted.get(pod) ?? [];
    if (volumes.length > 0 && !this.#node.hasDriver()) return false;
    return volumes.every((volume) => this.#reported.has(uniqueName(volume)) && this.#isAttached(volume));
  }

  #isAttached(volume: PodVolume): boolean {
    if (volume.driver !== EBS_DRIVER) return true;
    const { api, host } = this.#context;
    if (isOnDisk(volume)) {
      // A machine that took over a Node's name finds attachments of the one before, but no device: NodeStage fails there.
      const device = host.volumeState(volume.handle, this.#node.instance);
      if (device === "none" || device === "attaching") return false;
    }
    return api.attachments.get(attachmentNameOf(volume, this.#node.name))?.status.attached === true;
  }

  /** Mounts them all, or none where a device has gone meanwhile: the attachment may be detached while the kubelet is frozen. */
  tryMount(pod: string): boolean {
    const volumes = this.#wanted.get(pod) ?? [];
    if (!this.canMount(pod) || !volumes.every((volume) => this.#hasDevice(volume))) return false;
    for (const volume of volumes) {
      const key = uniqueName(volume);
      if (this.#staged.has(key)) continue;
      if (isOnDisk(volume)) this.#context.host.setMounted(volume.handle, this.#node.instance, true);
      this.#staged.set(key, volume);
      this.#context.note("kubelet", this.#node.name, `${volume.handle} mounted`);
    }
    this.#published.set(pod, volumes);
    return true;
  }

  #hasDevice(volume: PodVolume): boolean {
    const { host } = this.#context;
    return !isOnDisk(volume) || host.volumeState(volume.handle, this.#node.instance) === "attached";
  }

  stick(handle: string, at: StuckAt): void {
    this.#stuck.set(handle, at);
  }

  unstick(handle: string): void {
    this.#stuck.delete(handle);
  }

  /** The pod's containers ended: unpublishes, tells `done`, then unstages. Failures are tried again with back-off. */
  release(pod: string, done: () => void): void {
    const volumes = this.#published.get(pod) ?? [];
    if (volumes.length === 0) {
      this.#wanted.delete(pod);
      return done();
    }
    this.#attempt(this.#context.timing.unpublish, volumes, "unpublish", () => {
      this.#published.delete(pod);
      this.#wanted.delete(pod);
      done();
      for (const volume of volumes) this.#unstage(volume);
    });
  }

  #unstage(volume: PodVolume): void {
    const key = uniqueName(volume);
    this.#attempt(this.#context.timing.unstage, [volume], "unstage", () => {
      const users = [...this.#wanted.values(), ...this.#published.values()].flat();
      if (!this.#staged.has(key) || users.some((other) => uniqueName(other) === key)) return;
      this.#staged.delete(key);
      if (isOnDisk(volume)) this.#context.host.setMounted(volume.handle, this.#node.instance, false);
      this.#context.note("kubelet", this.#node.name, `${volume.handle} unmounted`);
    });
  }

  #attempt(
    span: readonly [number, number],
    volumes: readonly PodVolume[],
    step: StuckAt,
    succeed: () => void,
  ): void {
    let pause = FIRST_RETRY;
    const attempt = (): void => {
      const isPossible =
        this.#node.hasDriver() && volumes.every(({ handle }) => this.#stuck.get(handle) !== step);
      if (isPossible) return succeed();
      this.#node.timers.after(pause, attempt);
      pause = Math.min(LONGEST_RETRY, pause * 2);
    };
    this.#node.timers.after(draw(this.#context, span), attempt);
  }

  /** The machine is off: nothing is mounted any more, and nobody could tell the API. */
  powerOff(): void {
    for (const handle of this.mounted()) this.#context.host.setMounted(handle, this.#node.instance, false);
    this.#wanted.clear();
    this.#published.clear();
    this.#staged.clear();
    this.#reported = new Set();
  }
}

function isOnDisk(volume: PodVolume): boolean {
  return volume.driver === EBS_DRIVER && !isLocal(volume.handle);
}
