/** EC2's port: DescribeInstances and DescribeVolumes as the domain's views. */
import type { EC2Client, Instance, Volume, VolumeAttachment } from "@aws-sdk/client-ec2";
import {
  DescribeInstancesCommand,
  paginateDescribeInstances,
  paginateDescribeVolumes,
} from "@aws-sdk/client-ec2";
import type { Ec2AttachmentView, InstanceState, InstanceView } from "../drain/machine.ts";
import { CSI_CLUSTER_TAG, CSI_NAME_TAG, GROUP_TAG } from "../drain/names.ts";
import { PortError } from "../engine/errors.ts";
import type { Ec2Port } from "../engine/ports.ts";
import { chunksOf } from "./chunks.ts";
import { codeOf, toPortError, withPortErrors } from "./errors.ts";

/** Values that EC2 takes in one filter. */
const FILTER_VALUES = 200;
const INSTANCES_PAGE = 1_000;
const VOLUMES_PAGE = 500;

const CSI_TAGS: readonly (string | undefined)[] = [CSI_CLUSTER_TAG, CSI_NAME_TAG];

const INSTANCE_STATES: readonly string[] = [
  "pending",
  "running",
  "stopping",
  "stopped",
  "shutting-down",
  "terminated",
] satisfies readonly InstanceState[];

const ATTACHMENT_STATES: readonly string[] = [
  "attaching",
  "attached",
  "detaching",
  "busy",
] satisfies readonly Ec2AttachmentView["state"][];

/** Every method rejects with a PortError. */
export function createEc2Port(client: EC2Client): Ec2Port {
  return {
    describeInstance: (id) => describeInstance(client, id),
    describeInstances: (ids) =>
      withPortErrors("ec2.describeInstances", async () => {
        const views: InstanceView[] = [];
        // By filter, because ids that EC2 no longer knows would fail the whole request.
        for (const values of chunksOf(ids, FILTER_VALUES)) {
          const pages = paginateDescribeInstances(
            { client, pageSize: INSTANCES_PAGE },
            { Filters: [{ Name: "instance-id", Values: [...values] }] },
          );
          for await (const page of pages) {
            const instances = page.Reservations?.flatMap((reservation) => reservation.Instances ?? []) ?? [];
            views.push(...instances.map((instance) => instanceViewOf("ec2.describeInstances", instance)));
          }
        }
        return views;
      }),
    listAttachedVolumes: (instance) =>
      withPortErrors("ec2.listAttachedVolumes", async () => {
        const volumes = await listVolumes(client, "attachment.instance-id", [instance]);
        return volumes.flatMap((volume) => attachmentsOf(volume, instance));
      }),
    describeVolumes: (volumeIds) =>
      withPortErrors("ec2.describeVolumes", async () => {
        const volumes = await listVolumes(client, "volume-id", volumeIds);
        return volumes.map((volume) => ({
          volumeId: volume.VolumeId ?? "",
          instances: (volume.Attachments ?? [])
            .filter(isPresent)
            .flatMap(({ InstanceId }) => InstanceId ?? []),
        }));
      }),
  };
}

async function describeInstance(client: EC2Client, id: string): Promise<InstanceView | undefined> {
  const operation = "ec2.describeInstance";
  try {
    const answer = await client.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
    const instances = answer.Reservations?.flatMap((reservation) => reservation.Instances ?? []) ?? [];
    const instance = instances.find((each) => each.InstanceId === id);
    return instance === undefined ? undefined : instanceViewOf(operation, instance);
  } catch (error) {
    if (codeOf(error) === "InvalidInstanceID.NotFound") return undefined;
    throw toPortError(operation, error);
  }
}

async function listVolumes(
  client: EC2Client,
  filter: string,
  values: readonly string[],
): Promise<readonly Volume[]> {
  const volumes: Volume[] = [];
  for (const some of chunksOf(values, FILTER_VALUES)) {
    const pages = paginateDescribeVolumes(
      { client, pageSize: VOLUMES_PAGE },
      { Filters: [{ Name: filter, Values: [...some] }] },
    );
    for await (const page of pages) volumes.push(...(page.Volumes ?? []));
  }
  return volumes;
}

function instanceViewOf(operation: string, instance: Instance): InstanceView {
  const { InstanceId: id, LaunchTime: launchTime } = instance;
  const state = instance.State?.Name ?? "";
  if (id === undefined || launchTime === undefined || !isInstanceState(state)) {
    throw new PortError(
      "rejected",
      operation,
      `${operation}: EC2 shows ${id ?? "an instance"} as "${state}"`,
    );
  }
  const group = instance.Tags?.find((tag) => tag.Key === GROUP_TAG)?.Value;
  const stateReason = instance.StateReason?.Code;
  return {
    id,
    launchTime: launchTime.getTime(),
    state,
    ...(isGiven(stateReason) ? { stateReason } : {}),
    ...(isGiven(instance.PrivateDnsName) ? { privateDnsName: instance.PrivateDnsName } : {}),
    ...(isGiven(instance.RootDeviceName) ? { rootDevice: instance.RootDeviceName } : {}),
    ...(isGiven(group) ? { group } : {}),
  };
}

function attachmentsOf(volume: Volume, instance: string): readonly Ec2AttachmentView[] {
  const csi = (volume.Tags ?? []).some((tag) => CSI_TAGS.includes(tag.Key));
  return (volume.Attachments ?? []).flatMap((attachment) => {
    const state = attachment.State ?? "";
    if (attachment.InstanceId !== instance || !isAttachmentState(state)) return [];
    return [{ volumeId: volume.VolumeId ?? "", state, device: attachment.Device ?? "", csi }];
  });
}

function isPresent(attachment: VolumeAttachment): boolean {
  return isAttachmentState(attachment.State ?? "");
}

function isInstanceState(state: string): state is InstanceState {
  return INSTANCE_STATES.includes(state);
}

/** Leaves out `detached`, which EC2 shows for a moment. */
function isAttachmentState(state: string): state is Ec2AttachmentView["state"] {
  return ATTACHMENT_STATES.includes(state);
}

/** EC2 writes what it does not tell as an empty text. */
function isGiven(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}
