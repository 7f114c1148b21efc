/**
 * Simulated EC2: instances (`ec2-instances.ts`), volumes (`ec2-volumes.ts`) and spot interruptions. One state machine behind two
 * faces: ports in virtual time (`aws-ports.ts`) and the service's own wire format (`aws-http.ts`).
 */
import type { InstanceState } from "../drain/machine.ts";
import { CSI_CLUSTER_TAG, CSI_NAME_TAG } from "../drain/names.ts";
import type { SpotAction } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { HOUR, MINUTE, SECOND } from "../drain/time.ts";
import type { Clock } from "./clock.ts";
import type { InstanceSpec } from "./ec2-instances.ts";
import { SimulatedInstances } from "./ec2-instances.ts";
import type { Ec2Instance, Ec2Volume, Range, StateReason } from "./ec2-records.ts";
import { SPOT_SHUTDOWN, SPOT_TERMINATION, USER_SHUTDOWN, drawn } from "./ec2-records.ts";
import { SimulatedVolumes } from "./ec2-volumes.ts";
import type { Random } from "./random.ts";
import type { MachineHost, Note } from "./seams.ts";

/** Milliseconds. */
export interface Ec2Delays {
  readonly pending: Range;
  readonly stopping: Range;
  readonly shuttingDown: Range;
  /** From terminated to its volumes' detach by EC2 itself. */
  readonly release: Range;
  readonly attach: Range;
  readonly detach: Range;
  /** How long a terminated instance is still shown. */
  readonly visible: number;
}

export const EC2_DELAYS: Ec2Delays = {
  pending: [5 * SECOND, 15 * SECOND],
  stopping: [10 * SECOND, 40 * SECOND],
  shuttingDown: [10 * SECOND, 60 * SECOND],
  release: [1 * SECOND, 5 * SECOND],
  attach: [1 * SECOND, 3 * SECOND],
  detach: [1 * SECOND, 4 * SECOND],
  visible: 1 * HOUR,
};

/** Spot notice to interruption. */
const SPOT_NOTICE = 2 * MINUTE;

export interface Ec2Options {
  readonly clock: Clock;
  readonly random: Random;
  readonly note?: Note;
  readonly delays?: Partial<Ec2Delays>;
  /** Age of what describe calls answer, in milliseconds; each call draws its own. */
  readonly describeLag?: Range;
  readonly region?: string;
}

export interface SpotNotice {
  readonly instance: string;
  readonly action: SpotAction;
  readonly zone: string;
}

export interface StopHow {
  /** The guest's memory is kept: it resumes with its file systems mounted. */
  readonly hibernate?: boolean;
  readonly reason?: StateReason;
}

export interface VolumeSpec {
  readonly id?: string;
  readonly zone?: string;
  /** False: made by hand, without the CSI driver's tags. */
  readonly csi?: boolean;
  /** Tag `CSIVolumeName`. */
  readonly name?: string;
}

type StateListener = (instance: string, state: InstanceState, launchTime: Instant) => void;

export class SimulatedEc2 implements MachineHost {
  readonly region: string;
  readonly volumes: SimulatedVolumes;
  readonly #instances: SimulatedInstances;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #note: Note;
  readonly #delays: Ec2Delays;
  readonly #lag: Range;
  readonly #stateListeners: StateListener[] = [];
  readonly #spotListeners: ((notice: SpotNotice) => void)[] = [];
  readonly #rebootListeners: ((instance: string) => void)[] = [];

  constructor(options: Ec2Options) {
    this.#clock = options.clock;
    this.#random = options.random.fork();
    this.#note = options.note ?? (() => undefined);
    this.#delays = { ...EC2_DELAYS, ...options.delays };
    this.#lag = options.describeLag ?? [0, 0];
    this.region = options.region ?? "eu-west-1";
    const parts = { clock: this.#clock, note: this.#note, keepVersions: this.#lag[1] };
    this.#instances = new SimulatedInstances({
      ...parts,
      random: options.random.fork(),
      region: this.region,
      delays: this.#delays,
      onGuestEnd: (id) => this.volumes.endGuest(id),
      onState: (id, state, launchTime) => this.#announce(id, state, launchTime),
    });
    this.volumes = new SimulatedVolumes({
      ...parts,
      random: options.random.fork(),
      attach: this.#delays.attach,
      detach: this.#delays.detach,
      stateOf: (id) => this.#instances.get(id)?.state,
    });
  }

  /** Launches an instance with a root volume; its id. */
  runInstance(spec: InstanceSpec = {}): string {
    const instance = this.#instances.run(spec);
    this.volumes.createAttached({
      zone: instance.zone,
      instance: instance.id,
      device: instance.rootDevice,
    });
    return instance.id;
  }

  /** Like TerminateInstances: a no-op where it is under way. Throws Ec2Fault for an unknown id. */
  terminateInstance(id: string, reason: StateReason = USER_SHUTDOWN): void {
    this.#instances.terminate(id, reason);
  }

  /** Like StopInstances; a no-op where it is under way. Throws Ec2Fault for an unknown id and a state that cannot stop. */
  stopInstance(id: string, how: StopHow = {}): void {
    this.#instances.stop(id, how.hibernate ?? false, how.reason);
  }

  /** Like StartInstances: the same id with a new LaunchTime. Throws Ec2Fault as stopInstance does. */
  startInstance(id: string): void {
    this.#instances.start(id);
  }

  /** The spot notice; EC2 acts two minutes later. */
  interruptSpot(id: string, action: SpotAction = "terminate"): void {
    const { zone, launchTime } = this.#instances.find(id);
    this.#note("ec2", id, `spot interruption warning: ${action}`);
    for (const listener of this.#spotListeners) listener({ instance: id, action, zone });
    this.#clock.after(SPOT_NOTICE, () => {
      const instance = this.#instances.get(id);
      if (instance?.state !== "running" || instance.launchTime !== launchTime) return;
      if (action === "terminate") this.terminateInstance(id, SPOT_TERMINATION);
      else this.stopInstance(id, { hibernate: action === "hibernate", reason: SPOT_SHUTDOWN });
    });
  }

  /** The instance reboots with another root volume, the same id and LaunchTime. */
  replaceRootVolume(id: string): void {
    const instance = this.#instances.find(id);
    this.volumes.replaceRoot(id, instance.rootDevice);
    this.volumes.endGuest(id);
    this.#note("ec2", id, "root volume replaced, rebooted");
    for (const listener of this.#rebootListeners) listener(id);
  }

  /** An EBS volume, available; its id. */
  createVolume(spec: VolumeSpec = {}): string {
    const name = spec.name ?? "pvc-volume";
    const tags = (spec.csi ?? true) ? { [CSI_CLUSTER_TAG]: "true", [CSI_NAME_TAG]: name } : {};
    return this.volumes.create({ id: spec.id, zone: spec.zone ?? `${this.region}a`, tags });
  }

  /** Instances as this describe call shows them, lag included. */
  describeInstances(): readonly Ec2Instance[] {
    return this.#instances.list(this.#asOf());
  }

  /** Volumes as this describe call shows them, lag included. */
  describeVolumes(): readonly Ec2Volume[] {
    return this.volumes.list(this.#asOf());
  }

  /** The truth, without lag. */
  readonly instance = (id: string): Ec2Instance | undefined => this.#instances.get(id);
  readonly attachVolume = (volumeId: string, instance: string, device?: string): void =>
    this.volumes.attach(volumeId, instance, device);
  readonly detachVolume: MachineHost["detachVolume"] = (volumeId, instance) =>
    this.volumes.detach(volumeId, instance);
  readonly volumeState: MachineHost["volumeState"] = (volumeId, instance) =>
    this.volumes.stateAt(volumeId, instance);
  readonly setMounted: MachineHost["setMounted"] = (volumeId, instance, mounted) =>
    this.volumes.setMounted(volumeId, instance, mounted);

  readonly onStateChange = (listener: StateListener): void => void this.#stateListeners.push(listener);
  readonly onSpotNotice = (listener: (notice: SpotNotice) => void): void =>
    void this.#spotListeners.push(listener);
  /** A reboot without a change of state: another bootID, the same machine. */
  readonly onReboot = (listener: (instance: string) => void): void =>
    void this.#rebootListeners.push(listener);

  #asOf(): Instant {
    return this.#clock.now() - drawn(this.#random, this.#lag);
  }

  #announce(id: string, state: InstanceState, launchTime: Instant): void {
    if (state === "terminated") {
      this.#clock.after(drawn(this.#random, this.#delays.release), () => this.volumes.release(id));
    }
    for (const listener of this.#stateListeners) listener(id, state, launchTime);
  }
}
