/** The engine's EC2 and Auto Scaling ports straight onto the simulated services, in virtual time and through the faults. */
import type { Ec2VolumeView, GroupMemberView } from "../drain/machine.ts";
import type { FailureKind } from "../engine/errors.ts";
import { PortError } from "../engine/errors.ts";
import type { AutoScalingPort, Ec2Port } from "../engine/ports.ts";
import type { GroupMember } from "./auto-scaling-members.ts";
import type { SimulatedAutoScaling } from "./auto-scaling.ts";
import type { VirtualClock } from "./clock.ts";
import { attachmentViewOf, instanceViewOf } from "./ec2-records.ts";
import type { SimulatedEc2 } from "./ec2.ts";
import type { Faults } from "./faults.ts";
import { callThroughFaults } from "./faults.ts";
import { Ec2Fault } from "./seams.ts";

type Call = <T>(operation: string, effect: () => T) => Promise<T>;

/** `caller` is who the lifecycle history says has beaten or completed. */
export function simulatedAwsPorts(
  ec2: SimulatedEc2,
  autoScaling: SimulatedAutoScaling,
  clock: VirtualClock,
  faults: Faults,
  caller = "drain",
): { readonly ec2: Ec2Port; readonly autoScaling: AutoScalingPort } {
  const call: Call = (operation, effect) =>
    callThroughFaults(clock, faults, operation, effect).catch((error: unknown) => {
      throw error instanceof Ec2Fault ? portErrorOf(operation, error) : error;
    });
  return { ec2: ec2PortOf(ec2, call), autoScaling: autoScalingPortOf(autoScaling, call, caller) };
}

function ec2PortOf(ec2: SimulatedEc2, call: Call): Ec2Port {
  return {
    describeInstance: (id) =>
      call("ec2.describeInstance", () => {
        requireWellFormed(id);
        const instance = ec2.describeInstances().find((each) => each.id === id);
        return instance === undefined ? undefined : instanceViewOf(instance);
      }),
    describeInstances: (ids) =>
      call("ec2.describeInstances", () =>
        ec2
          .describeInstances()
          .filter((each) => ids.includes(each.id))
          .map(instanceViewOf),
      ),
    listAttachedVolumes: (instance) =>
      call("ec2.listAttachedVolumes", () =>
        ec2
          .describeVolumes()
          .flatMap((volume) =>
            volume.attachment?.instance === instance ? [attachmentViewOf(volume, volume.attachment)] : [],
          ),
      ),
    describeVolumes: (volumeIds) =>
      call("ec2.describeVolumes", (): readonly Ec2VolumeView[] =>
        ec2
          .describeVolumes()
          .filter((volume) => volumeIds.includes(volume.id))
          .map(({ id, attachment }) => ({
            volumeId: id,
            instances: attachment === undefined ? [] : [attachment.instance],
          })),
      ),
  };
}

function autoScalingPortOf(autoScaling: SimulatedAutoScaling, call: Call, caller: string): AutoScalingPort {
  return {
    describeMember: (instance) =>
      call("autoScaling.describeMember", () => {
        const member = autoScaling.describeMembers().find((each) => each.instance === instance);
        return member === undefined ? undefined : memberViewOf(member);
      }),
    listMembers: (groups) =>
      call("autoScaling.listMembers", () =>
        autoScaling
          .describeMembers()
          .filter((member) => groups.includes(member.group))
          .map(memberViewOf),
      ),
    heartbeat: (action) => call("autoScaling.heartbeat", () => autoScaling.heartbeat(action, caller)),
    complete: (action, result) =>
      call("autoScaling.complete", () => autoScaling.complete(action, result, caller)),
  };
}

function memberViewOf(member: GroupMember): GroupMemberView {
  return { instance: member.instance, group: member.group, lifecycleState: member.lifecycleState };
}

function requireWellFormed(id: string): void {
  if (!/^i-[0-9a-f]+$/.test(id)) throw new Ec2Fault("InvalidInstanceID.Malformed", `Invalid id: "${id}"`);
}

function portErrorOf(operation: string, fault: Ec2Fault): PortError {
  const kind: FailureKind = fault.message.startsWith("No active Lifecycle Action")
    ? "no-active-action"
    : "rejected";
  return new PortError(kind, operation, `${fault.code}: ${fault.message}`, { cause: fault });
}
