/** Where the simulated cluster and the simulated AWS touch: the disk, the machine, and what each tells the other. */
import type { InstanceState } from "../drain/machine.ts";
import type { Instant } from "../drain/time.ts";

/** One line of what happened, for timelines. `lane` is a fixed few: event, ec2, group, node, pod, kubelet, attachment, drain, hook. */
export interface Happening {
  readonly at: Instant;
  readonly lane: string;
  readonly subject: string;
  readonly text: string;
}
export type Note = (lane: string, subject: string, text: string) => void;

/** EC2's side of a machine and its disks, as the kubelet, the CSI driver and the cloud controller of the simulated cluster use it. */
export interface MachineHost {
  readonly instance: (
    id: string,
  ) => { readonly state: InstanceState; readonly launchTime: Instant } | undefined;
  /** Starts an attach; rejects by throwing Ec2Fault (`VolumeInUse` while attached elsewhere, `IncorrectState` for a machine not running). */
  readonly attachVolume: (volumeId: string, instance: string) => void;
  /** Starts a detach; no-op where it is not attached there. A volume the guest still mounts goes `busy` instead. */
  readonly detachVolume: (volumeId: string, instance: string) => void;
  readonly volumeState: (
    volumeId: string,
    instance: string,
  ) => "none" | "attaching" | "attached" | "detaching" | "busy";
  /** The guest's file system: what makes a volume busy. Throws where a second machine mounts while the first one lives and has it. */
  readonly setMounted: (volumeId: string, instance: string, mounted: boolean) => void;
  /** Every change of an instance's state, with the machine's LaunchTime. */
  readonly onStateChange: (
    listener: (instance: string, state: InstanceState, launchTime: Instant) => void,
  ) => void;
}

/** An error of the EC2 or Auto Scaling API: `code` is the service's own. */
export class Ec2Fault extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = "Ec2Fault";
    this.code = code;
  }
}
