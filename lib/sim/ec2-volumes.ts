/**
 * Simulated EBS volumes: where each is attached, and which guest has its file system mounted. Two rules cannot be broken here:
 * EC2 never attaches a volume twice, and a second guest that mounts a volume while the first still has it stops the run (I3).
 */
import type { InstanceState } from "../drain/machine.ts";
import type { Clock } from "./clock.ts";
import type { Ec2Attachment, Ec2Volume, Range } from "./ec2-records.ts";
import { drawn, newId } from "./ec2-records.ts";
import { Versions } from "./ec2-versions.ts";
import type { Random } from "./random.ts";
import type { Note } from "./seams.ts";
import { Ec2Fault } from "./seams.ts";

/** Invariant I3 at the disk: a second machine mounts what the first one still has mounted. */
export class DoubleMount extends Error {
  override readonly name = "DoubleMount";
}

export interface VolumesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly attach: Range;
  readonly detach: Range;
  readonly keepVersions: number;
  readonly note: Note;
  readonly stateOf: (instance: string) => InstanceState | undefined;
}

interface Disk {
  readonly versions: Versions<Ec2Volume>;
  /** Guests that have it mounted. A machine that ends leaves; a hibernated one stays, because its memory does. */
  readonly mountedBy: Set<string>;
  /** Ends the transition under way. */
  cancel: () => void;
  /** A detach that EC2 does not finish. */
  stuck: boolean;
}

export class SimulatedVolumes {
  readonly #options: VolumesOptions;
  readonly #disks = new Map<string, Disk>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  create(spec: {
    readonly id?: string | undefined;
    readonly zone: string;
    readonly tags: Readonly<Record<string, string>>;
  }): string {
    const id = spec.id ?? newId("vol", this.#options.random);
    const versions = new Versions<Ec2Volume>(this.#options.keepVersions);
    const createdAt = this.#options.clock.now();
    versions.set(createdAt, { id, zone: spec.zone, tags: spec.tags, createdAt });
    this.#disks.set(id, { versions, mountedBy: new Set(), cancel: () => undefined, stuck: false });
    return id;
  }

  /** Attached from the start, as a root volume is. */
  createAttached(spec: {
    readonly zone: string;
    readonly instance: string;
    readonly device: string;
  }): string {
    const id = this.create({ zone: spec.zone, tags: {} });
    this.#put(id, {
      instance: spec.instance,
      device: spec.device,
      state: "attached",
      since: this.#options.clock.now(),
      deleteOnTermination: true,
    });
    return id;
  }

  /** Throws Ec2Fault as AttachVolume does; a repeated attach to the same instance changes nothing. */
  attach(id: string, instance: string, device?: string): void {
    const { disk, volume } = this.#find(id);
    const state = this.#options.stateOf(instance);
    if (state === undefined) {
      throw new Ec2Fault("InvalidInstanceID.NotFound", `The instance ID '${instance}' does not exist`);
    }
    const present = volume.attachment;
    if (present?.instance === instance && present.state !== "detaching") return;
    if (present !== undefined) throw new Ec2Fault("VolumeInUse", `${id} is already attached to an instance`);
    if (state !== "running") throw new Ec2Fault("IncorrectState", `Instance '${instance}' is not 'running'.`);
    this.#put(id, {
      instance,
      device: device ?? this.#freeDevice(instance),
      state: "attaching",
      since: this.#options.clock.now(),
      deleteOnTermination: false,
    });
    this.#transition(disk, this.#options.attach, () => this.#setState(id, "attached"));
  }

  /** No-op where the volume is not attached there. What the guest still mounts goes `busy` and detaches once it is unmounted. */
  detach(id: string, instance: string): void {
    const { disk, volume } = this.#find(id);
    const attachment = volume.attachment;
    if (attachment?.instance !== instance) return;
    if (attachment.state === "detaching" || attachment.state === "busy") return;
    if (disk.mountedBy.has(instance) && this.#isOn(instance)) this.#setState(id, "busy");
    else this.#startDetaching(id, disk);
  }

  /** Throws Ec2Fault InvalidVolume.NotFound. */
  attachmentOf(id: string): Ec2Attachment | undefined {
    return this.#find(id).volume.attachment;
  }

  stateAt(id: string, instance: string): Ec2Attachment["state"] | "none" {
    const attachment = this.#disks.get(id)?.versions.current?.attachment;
    return attachment?.instance === instance ? attachment.state : "none";
  }

  setMounted(id: string, instance: string, mounted: boolean): void {
    const { disk } = this.#find(id);
    if (mounted) {
      const other = [...disk.mountedBy].find((each) => each !== instance);
      if (other !== undefined) {
        throw new DoubleMount(`${instance} mounts ${id}, which ${other} still has mounted`);
      }
      const state = this.stateAt(id, instance);
      if (state === "none" || state === "attaching") throw new Error(`${instance} has no device of ${id}`);
      disk.mountedBy.add(instance);
      return;
    }
    disk.mountedBy.delete(instance);
    if (this.stateAt(id, instance) === "busy") this.#startDetaching(id, disk);
  }

  isMounted(id: string, instance: string): boolean {
    return this.#disks.get(id)?.mountedBy.has(instance) ?? false;
  }

  /** A detach that does not end until `freeDetach`: EC2's own trouble. */
  stickDetach(id: string): void {
    this.#find(id).disk.stuck = true;
  }

  freeDetach(id: string): void {
    const { disk, volume } = this.#find(id);
    disk.stuck = false;
    if (volume.attachment?.state === "detaching") this.#startDetaching(id, disk);
  }

  /** The guest's memory is gone, and its mounts with it. */
  endGuest(instance: string): void {
    for (const [id, disk] of this.#disks) {
      if (!disk.mountedBy.delete(instance)) continue;
      if (this.stateAt(id, instance) === "busy") this.#startDetaching(id, disk);
    }
  }

  /** What EC2 itself does after a termination: root volumes are deleted, the others become available. */
  release(instance: string): void {
    for (const [id, disk] of this.#disks) {
      const attachment = disk.versions.current?.attachment;
      if (attachment?.instance !== instance) continue;
      disk.cancel();
      if (attachment.deleteOnTermination) this.#delete(disk);
      else this.#put(id, undefined);
    }
  }

  /** Another root volume in the place of the first. */
  replaceRoot(instance: string, device: string): void {
    for (const disk of this.#disks.values()) {
      const volume = disk.versions.current;
      if (volume?.attachment?.instance !== instance || volume.attachment.device !== device) continue;
      this.#delete(disk);
      this.createAttached({ zone: volume.zone, instance, device });
      return;
    }
  }

  /** Every volume as EC2 showed it then. */
  list(asOf: number): readonly Ec2Volume[] {
    return [...this.#disks.values()].flatMap((disk) => disk.versions.asOf(asOf) ?? []);
  }

  #find(id: string): { readonly disk: Disk; readonly volume: Ec2Volume } {
    const disk = this.#disks.get(id);
    const volume = disk?.versions.current;
    if (disk === undefined || volume === undefined) {
      throw new Ec2Fault("InvalidVolume.NotFound", `The volume '${id}' does not exist.`);
    }
    return { disk, volume };
  }

  #isOn(instance: string): boolean {
    const state = this.#options.stateOf(instance);
    return state !== undefined && state !== "stopped" && state !== "terminated";
  }

  #startDetaching(id: string, disk: Disk): void {
    this.#setState(id, "detaching");
    this.#transition(disk, this.#options.detach, () => {
      const instance = disk.versions.current?.attachment?.instance;
      if (disk.stuck || instance === undefined) return;
      // A guest may have mounted it in the meantime: EC2 then waits for it.
      if (disk.mountedBy.has(instance) && this.#isOn(instance)) this.#setState(id, "busy");
      else this.#put(id, undefined);
    });
  }

  #transition(disk: Disk, range: Range, run: () => void): void {
    disk.cancel();
    disk.cancel = this.#options.clock.after(drawn(this.#options.random, range), run);
  }

  #setState(id: string, state: Ec2Attachment["state"]): void {
    const attachment = this.#find(id).volume.attachment;
    if (attachment !== undefined) this.#put(id, { ...attachment, state });
  }

  #put(id: string, attachment: Ec2Attachment | undefined): void {
    const { disk, volume } = this.#find(id);
    const { attachment: before, ...rest } = volume;
    disk.versions.set(this.#options.clock.now(), attachment === undefined ? rest : { ...rest, attachment });
    const where = attachment?.instance ?? before?.instance ?? "";
    this.#options.note("attachment", id, `EC2: ${attachment?.state ?? "detached"} ${where}`);
  }

  #delete(disk: Disk): void {
    disk.cancel();
    disk.versions.set(this.#options.clock.now(), undefined);
  }

  #freeDevice(instance: string): string {
    const taken = new Set(
      [...this.#disks.values()]
        .map((disk) => disk.versions.current?.attachment)
        .filter((attachment) => attachment?.instance === instance)
        .map((attachment) => attachment?.device),
    );
    for (let index = 0; ; index++) {
      const letter = String.fromCharCode(97 + (index % 26));
      const device = `/dev/xvd${String.fromCharCode(97 + Math.floor(index / 26))}${letter}`;
      if (!taken.has(device)) return device;
    }
  }
}
