/** The machines of a test: instances of the simulated region whose kubelets are stood in for, each living and dying with its instance. */
import type { KubeletFleet } from "./kubelet-fleet.ts";
import type { Mount } from "./mount-record.ts";
import { GROUP, type Region, ZONE } from "./region.ts";
import type { StandInKubelet } from "./stand-in-kubelet.ts";

export interface Machine {
  readonly instance: string;
  /** Of its Node. */
  readonly node: string;
}

export interface MachineOptions {
  /** Value of the Node's label `scenario`: pods of a scenario stay among its machines. */
  readonly scenario: string;
  readonly group?: string;
  readonly privateAddress?: string;
  /** The Node's name where it is not EC2's private DNS name (C10). */
  readonly node?: string;
}

export class Machines {
  /** Mounts of volumes that EC2 has not attached to the machine: the real kubelet finds no device. */
  readonly mountsWithoutDevice: Mount[] = [];
  readonly #region: Region;
  readonly #fleet: KubeletFleet;
  readonly #kubelets = new Map<
    string,
    { readonly options: MachineOptions; readonly kubelet: StandInKubelet }
  >();

  constructor(region: Region, fleet: KubeletFleet) {
    this.#region = region;
    this.#fleet = fleet;
    fleet.mounts.changed = (mount) => this.#tellGuest(mount);
    region.ec2.onStateChange((instance, state) => void this.#follow(instance, state));
  }

  /** A machine of the group that has joined the cluster. */
  async launch(options: MachineOptions): Promise<Machine> {
    const { group = GROUP, privateAddress } = options;
    return this.join(await this.#region.launch(group, privateAddress), options);
  }

  /** Starts the machine's kubelet; from now on it lives and dies with the machine. */
  async join(instance: string, options: MachineOptions): Promise<Machine> {
    const name = options.node ?? this.#region.ec2.instance(instance)?.privateDnsName ?? "";
    const labels = { scenario: options.scenario };
    const kubelet = await this.#fleet.start({ name, instanceId: instance, zone: ZONE, labels });
    this.#kubelets.set(instance, { options, kubelet });
    return { instance, node: name };
  }

  /** A machine on its way down has no kubelet any more, but keeps its mounts until EC2 has let go of it. */
  async #follow(instance: string, state: string): Promise<void> {
    const known = this.#kubelets.get(instance);
    if (known === undefined) return;
    const { kubelet, options } = known;
    if (state === "shutting-down" || state === "stopping") await kubelet.killKubelet();
    if (state === "terminated" || state === "stopped") await kubelet.kill();
    if (state === "running") await this.join(instance, options);
  }

  #tellGuest(mount: Mount): void {
    const { volume, instance, until, endedBy } = mount;
    const { ec2 } = this.#region;
    if (until === undefined && ec2.volumeState(volume, instance) === "none") {
      this.mountsWithoutDevice.push(mount);
    } else if (endedBy !== "power off") {
      // EC2 knows by itself when a machine's power is off.
      ec2.setMounted(volume, instance, until === undefined);
    }
  }
}
