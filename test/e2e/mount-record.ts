/**
 * Which volume was mounted where and when, kept by the stand-in kubelets. It is the safety record of a test: a file
 * system that is mounted on two machines at once is destroyed.
 */

export interface Mount {
  /** EBS volume id. */
  readonly volume: string;
  readonly node: string;
  readonly instance: string;
  /** ms on the clock of this process; `until` is absent while the volume is mounted. */
  readonly from: number;
  readonly until?: number;
  /** A machine without power mounts nothing, whatever its Node object still says. */
  readonly endedBy?: "unmount" | "power off";
}

export class MountRecord {
  /** Told of every mount as it begins and as it ends: a simulated EC2 does not detach what a guest has mounted. */
  changed: (mount: Mount) => void = () => undefined;
  readonly #mounts: Mount[] = [];

  mounted(volume: string, node: string, instance: string): void {
    if (this.isMounted(volume, instance)) return; // a second pod of the same node shares the mount
    const mount = { volume, node, instance, from: performance.now() };
    this.#mounts.push(mount);
    this.changed(mount);
  }

  unmounted(volume: string, instance: string): void {
    this.#end((mount) => mount.volume === volume && mount.instance === instance, "unmount");
  }

  poweredOff(instance: string): void {
    this.#end((mount) => mount.instance === instance, "power off");
  }

  isMounted(volume: string, instance: string): boolean {
    return this.#mounts.some(
      (mount) => mount.volume === volume && mount.instance === instance && mount.until === undefined,
    );
  }

  /** Every mount of a volume, the oldest first. */
  of(volume: string): readonly Mount[] {
    return this.#mounts.filter((mount) => mount.volume === volume);
  }

  all(): readonly Mount[] {
    return [...this.#mounts];
  }

  /** Pairs of mounts of one volume on two machines that overlap in time: must be empty at the end of every test. */
  doubleMounts(): readonly (readonly [Mount, Mount])[] {
    return this.#mounts.flatMap((first, index) =>
      this.#mounts
        .slice(index + 1)
        .filter((second) => second.volume === first.volume && second.instance !== first.instance)
        .filter((second) => second.from < (first.until ?? Number.POSITIVE_INFINITY))
        .map((second) => [first, second] as const),
    );
  }

  #end(isMeant: (mount: Mount) => boolean, endedBy: "unmount" | "power off"): void {
    for (const [index, mount] of this.#mounts.entries()) {
      if (mount.until === undefined && isMeant(mount)) {
        const ended = { ...mount, until: performance.now(), endedBy };
        this.#mounts[index] = ended;
        this.changed(ended);
      }
    }
  }
}
