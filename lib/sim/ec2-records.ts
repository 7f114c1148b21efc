/** What simulated EC2 keeps of an instance and a volume, and how the domain sees it. */
import type { Ec2AttachmentView, InstanceState, InstanceView } from "../drain/machine.ts";
import { CSI_CLUSTER_TAG, CSI_NAME_TAG, GROUP_TAG } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import type { Random } from "./random.ts";

/** Least and most milliseconds. */
export type Range = readonly [number, number];

export interface StateReason {
  readonly code: string;
  readonly message: string;
}

export interface Ec2Instance {
  readonly id: string;
  readonly launchTime: Instant;
  readonly state: InstanceState;
  readonly stateReason?: StateReason;
  /** Empty once the instance is terminating. */
  readonly privateDnsName: string;
  readonly privateAddress: string;
  readonly rootDevice: string;
  readonly zone: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly spot: boolean;
  /** Instances launched by one request share it. */
  readonly reservation: string;
}

export interface Ec2Attachment {
  readonly instance: string;
  readonly device: string;
  readonly state: Ec2AttachmentView["state"];
  readonly since: Instant;
  readonly deleteOnTermination: boolean;
}

export interface Ec2Volume {
  readonly id: string;
  readonly zone: string;
  readonly createdAt: Instant;
  readonly tags: Readonly<Record<string, string>>;
  /** At most one: a volume without multi-attach is available or in use by one instance. */
  readonly attachment?: Ec2Attachment;
}

export const USER_SHUTDOWN: StateReason = {
  code: "Client.UserInitiatedShutdown",
  message: "Client.UserInitiatedShutdown: User initiated shutdown",
};
export const USER_HIBERNATE: StateReason = {
  code: "Client.UserInitiatedHibernate",
  message: "Client.UserInitiatedHibernate: User initiated hibernate",
};
export const SPOT_TERMINATION: StateReason = {
  code: "Server.SpotInstanceTermination",
  message: "Server.SpotInstanceTermination: Spot instance termination",
};
export const SPOT_SHUTDOWN: StateReason = {
  code: "Server.SpotInstanceShutdown",
  message: "Server.SpotInstanceShutdown: Spot instance shutdown",
};

export function instanceViewOf(instance: Ec2Instance): InstanceView {
  const group = instance.tags[GROUP_TAG];
  return {
    id: instance.id,
    launchTime: instance.launchTime,
    state: instance.state,
    ...(instance.stateReason === undefined ? {} : { stateReason: instance.stateReason.code }),
    ...(instance.privateDnsName === "" ? {} : { privateDnsName: instance.privateDnsName }),
    rootDevice: instance.rootDevice,
    ...(group === undefined ? {} : { group }),
  };
}

export function attachmentViewOf(volume: Ec2Volume, attachment: Ec2Attachment): Ec2AttachmentView {
  return {
    volumeId: volume.id,
    state: attachment.state,
    device: attachment.device,
    csi: volume.tags[CSI_CLUSTER_TAG] !== undefined || volume.tags[CSI_NAME_TAG] !== undefined,
  };
}

/** `i-` or `vol-` and 17 hex digits, as EC2 makes them. */
export function newId(prefix: "i" | "vol" | "r", random: Random): string {
  const digits = Array.from({ length: 16 }, () => random.between(0, 15).toString(16)).join("");
  return `${prefix}-0${digits}`;
}

export function drawn(random: Random, range: Range): number {
  return random.between(range[0], range[1]);
}
