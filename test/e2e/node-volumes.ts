/** The volume manager of a stand-in kubelet: what its pods want mounted, and what is mounted. */
import type { VolumeAttachment } from "./api-objects.ts";
import type { MountRecord } from "./mount-record.ts";
import { uniqueName, type NodeVolume } from "./pod-volumes.ts";

/** The step at which an unmount hangs: with the pod still Terminating, or after it is gone. */
export type UnmountStep = "unpublish" | "unstage";

export interface NodeView {
  /** Names in the Node's status as the API server has them. */
  volumesInUse(): readonly string[];
  volumesAttached(): readonly string[];
  attachment(volume: NodeVolume): VolumeAttachment | undefined;
  isDriverRegistered(): boolean;
  /** Resolves when the condition holds; throws when the kubelet ends. */
  until(isTrue: () => boolean): Promise<unknown>;
  changed(): void;
}

interface Entry {
  readonly volume: NodeVolume;
  readonly pods: Set<string>;
  isStaged: boolean;
}

export class NodeVolumes {
  readonly #entries = new Map<string, Entry>();
  readonly #stuck = new Map<string, UnmountStep>();
  readonly #view: NodeView;
  readonly #record: MountRecord;
  readonly #node: string;
  readonly #instance: string;

  constructor(view: NodeView, record: MountRecord, node: string, instance: string) {
    this.#view = view;
    this.#record = record;
    this.#node = node;
    this.#instance = instance;
  }

  /** What belongs into `volumesInUse`: mounted volumes, and those that pods of the node wait for. */
  inUse(): readonly string[] {
    return [...this.#entries.keys()].toSorted();
  }

  /** A pod wants the volume. It may be mounted after the next status sync has reported it as in use. */
  want(volume: NodeVolume, pod: string): void {
    const name = uniqueName(volume);
    const entry = this.#entries.get(name) ?? { volume, pods: new Set(), isStaged: false };
    entry.pods.add(pod);
    this.#entries.set(name, entry);
  }

  /** The real kubelet's conditions: reported as in use, attached according to the Node and to the attachment. */
  isMountable(volume: NodeVolume): boolean {
    const name = uniqueName(volume);
    return (
      this.#view.volumesInUse().includes(name) &&
      this.#view.volumesAttached().includes(name) &&
      this.#view.attachment(volume)?.status?.attached === true &&
      this.#view.isDriverRegistered()
    );
  }

  /** Whether a pod's own mounts are gone; the volume itself may still be staged. */
  isPublishedTo(isMeant: (pod: string) => boolean): boolean {
    return [...this.#entries.values()].some(({ pods }) => [...pods].some(isMeant));
  }

  isMounted(volume: NodeVolume): boolean {
    return this.#entries.get(uniqueName(volume))?.isStaged === true;
  }

  mount(volume: NodeVolume): void {
    const entry = this.#entries.get(uniqueName(volume));
    if (entry === undefined) throw new Error(`${volume.handle} is mounted for nobody`);
    entry.isStaged = true;
    this.#record.mounted(volume.handle, this.#node, this.#instance);
  }

  /** NodeUnpublishVolume: the pod's own mount goes; the volume stays mounted on the node. */
  async unpublish(volume: NodeVolume, pod: string): Promise<void> {
    const entry = this.#entries.get(uniqueName(volume));
    if (entry?.isStaged) await this.#untilUnmountable(volume, "unpublish");
    entry?.pods.delete(pod);
    this.#view.changed();
  }

  /** NodeUnstageVolume, where no pod of the node uses the volume any more. */
  async unstage(volume: NodeVolume): Promise<void> {
    const name = uniqueName(volume);
    const entry = this.#entries.get(name);
    if (entry?.isStaged) await this.#untilUnmountable(volume, "unstage");
    if (entry === undefined || entry.pods.size > 0) return; // the next pod came meanwhile
    if (entry.isStaged) this.#record.unmounted(volume.handle, this.#instance);
    this.#entries.delete(name);
  }

  /** A kubelet that starts knows the mounts of its predecessor; those that no pod wants are to be unstaged. */
  forgetPodsExcept(uids: ReadonlySet<string>): readonly NodeVolume[] {
    for (const { pods } of this.#entries.values()) {
      for (const pod of pods) if (!uids.has(pod)) pods.delete(pod);
    }
    return [...this.#entries.values()].filter(({ pods }) => pods.size === 0).map(({ volume }) => volume);
  }

  /** The machine loses its power, and with it every mount. */
  powerOff(): void {
    this.#record.poweredOff(this.#instance);
    this.#entries.clear();
  }

  stick(handle: string, step: UnmountStep): void {
    this.#stuck.set(handle, step);
  }

  release(handle: string): void {
    this.#stuck.delete(handle);
    this.#view.changed();
  }

  /** Without its driver a kubelet can unmount nothing: the registrar must outlive every unmount. */
  async #untilUnmountable(volume: NodeVolume, step: UnmountStep): Promise<void> {
    await this.#view.until(() => this.#stuck.get(volume.handle) !== step && this.#view.isDriverRegistered());
  }
}
