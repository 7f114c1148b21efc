/** What the domain sees of EC2 and Auto Scaling. Plain JSON, made by the adapters or the simulated services. */
import type { Instant } from "./time.ts";

export type InstanceState = "pending" | "running" | "stopping" | "stopped" | "shutting-down" | "terminated";

export interface InstanceView {
  readonly id: string;
  /** With the id it names the machine: ids come back after stop and start and from a warm pool. */
  readonly launchTime: Instant;
  readonly state: InstanceState;
  /** `StateReason.Code`, such as Client.UserInitiatedHibernate or Server.SpotInstanceTermination. */
  readonly stateReason?: string;
  /** Empty or absent once an instance is terminating, and not always the Node's name. */
  readonly privateDnsName?: string;
  /** `RootDeviceName`, such as /dev/xvda: the volume attached there is not a pod's. */
  readonly rootDevice?: string;
  /** Tag `aws:autoscaling:groupName`; stays on a terminated instance while EC2 shows it. */
  readonly group?: string;
}

/** One attachment of an EBS volume to the instance, from DescribeVolumes. */
export interface Ec2AttachmentView {
  /** `vol-…`. */
  readonly volumeId: string;
  readonly state: "attaching" | "attached" | "detaching" | "busy";
  /** `/dev/xvda`, …; tells the root volume. */
  readonly device: string;
  /** Tag `ebs.csi.aws.com/cluster` or `CSIVolumeName`: the CSI driver made it. */
  readonly csi: boolean;
}

/** Where an EBS volume is, whichever instance holds it. */
export interface Ec2VolumeView {
  readonly volumeId: string;
  /** Instances it is attached to (or attaching, detaching). */
  readonly instances: readonly string[];
}

/** DescribeAutoScalingInstances for one instance. */
export interface GroupMemberView {
  readonly instance: string;
  readonly group: string;
  /** `Terminating:Wait`, `Warmed:Pending:Wait`, `InService`, …; the API tells neither hook nor token. */
  readonly lifecycleState: string;
}
