/** The EC2 API (2016-11-15) of the simulated service: parameters in, the fields of the XML answer out. */
import type { InstanceState } from "../drain/machine.ts";
import { filterInstances, filterVolumes } from "./aws-http-filters.ts";
import type { Form } from "./aws-http-form.ts";
import { filtersIn, listIn, pageOf, requiredIn } from "./aws-http-form.ts";
import type { Xml } from "./aws-http-xml.ts";
import type { Ec2Instance, Ec2Volume } from "./ec2-records.ts";
import type { SimulatedEc2 } from "./ec2.ts";
import { Ec2Fault } from "./seams.ts";

type Action = (form: Form, ec2: SimulatedEc2, pageSize: number) => Readonly<Record<string, Xml>>;

const STATE_CODES: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  "shutting-down": 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export const EC2_ACTIONS: Readonly<Record<string, Action>> = {
  DescribeInstances: describeInstances,
  DescribeVolumes: describeVolumes,
  AttachVolume: (form, ec2) => {
    const [volume, instance] = [requiredIn(form, "VolumeId"), requiredIn(form, "InstanceId")];
    ec2.attachVolume(volume, instance, form.get("Device") ?? undefined);
    return attachmentAnswer(ec2, volume, instance);
  },
  DetachVolume: (form, ec2) => {
    const [volume, instance] = [requiredIn(form, "VolumeId"), form.get("InstanceId")];
    const attachment = ec2.volumes.attachmentOf(volume);
    if (attachment === undefined || (instance !== null && attachment.instance !== instance)) {
      throw new Ec2Fault("IncorrectState", `Volume '${volume}' is in the 'available' state.`);
    }
    ec2.detachVolume(volume, attachment.instance);
    return attachmentAnswer(ec2, volume, attachment.instance);
  },
  TerminateInstances: (form, ec2) => changeInstances(form, ec2, (id) => ec2.terminateInstance(id)),
  StopInstances: (form, ec2) =>
    changeInstances(form, ec2, (id) => ec2.stopInstance(id, { hibernate: form.get("Hibernate") === "true" })),
  StartInstances: (form, ec2) => changeInstances(form, ec2, (id) => ec2.startInstance(id)),
};

/** The port's name of the call, as faults know it. */
export function ec2OperationOf(form: Form): string {
  const action = form.get("Action") ?? "";
  if (action === "DescribeInstances" && form.has("InstanceId.1")) return "ec2.describeInstance";
  if (action === "DescribeVolumes" && filtersIn(form).some(({ name }) => name === "attachment.instance-id")) {
    return "ec2.listAttachedVolumes";
  }
  return `ec2.${action.charAt(0).toLowerCase()}${action.slice(1)}`;
}

function describeInstances(form: Form, ec2: SimulatedEc2, pageSize: number): Readonly<Record<string, Xml>> {
  const ids = listIn(form, "InstanceId");
  const all = ec2.describeInstances();
  if (ids.length > 0) {
    requireNoPaging(form, "instancesSet");
    requireKnown(ids, all, "InvalidInstanceID", /^i-[0-9a-f]+$/, "instance");
    return { reservationSet: reservationsOf(all.filter(({ id }) => ids.includes(id))) };
  }
  // EC2 cuts pages before it filters: a page may be empty and still have a successor.
  const page = pageOf(all, pageLength(form, pageSize), form.get("NextToken"));
  const found = filterInstances(form, page.items);
  return { reservationSet: reservationsOf(found), nextToken: page.nextToken };
}

function describeVolumes(form: Form, ec2: SimulatedEc2, pageSize: number): Readonly<Record<string, Xml>> {
  const ids = listIn(form, "VolumeId");
  const all = ec2.describeVolumes();
  if (ids.length > 0) {
    requireNoPaging(form, "volumesSet");
    requireKnown(ids, all, "InvalidVolume", /^vol-[0-9a-f]+$/, "volume");
    return { volumeSet: all.filter(({ id }) => ids.includes(id)).map(volumeFields) };
  }
  const page = pageOf(all, pageLength(form, pageSize), form.get("NextToken"));
  const found = filterVolumes(form, page.items);
  return { volumeSet: found.map(volumeFields), nextToken: page.nextToken };
}

function changeInstances(
  form: Form,
  ec2: SimulatedEc2,
  change: (id: string) => void,
): Readonly<Record<string, Xml>> {
  const ids = listIn(form, "InstanceId");
  requireKnown(
    ids,
    ids.flatMap((id) => ec2.instance(id) ?? []),
    "InvalidInstanceID",
    /^i-[0-9a-f]+$/,
    "instance",
  );
  return {
    instancesSet: ids.map((id) => {
      const previous = ec2.instance(id)?.state;
      change(id);
      return {
        instanceId: id,
        currentState: stateFields(ec2.instance(id)?.state),
        previousState: stateFields(previous),
      };
    }),
  };
}

function requireNoPaging(form: Form, parameter: string): void {
  if (!form.has("MaxResults")) return;
  throw new Ec2Fault(
    "InvalidParameterCombination",
    `The parameter ${parameter} cannot be used with the parameter maxResults`,
  );
}

function pageLength(form: Form, pageSize: number): number {
  const asked = form.get("MaxResults");
  if (asked !== null && Number(asked) < 5) {
    throw new Ec2Fault(
      "InvalidParameterValue",
      `Value ( ${asked} ) for parameter maxResults is invalid. Expecting a value greater than 5.`,
    );
  }
  return Math.min(pageSize, Number(asked ?? pageSize));
}

function requireKnown(
  ids: readonly string[],
  known: readonly { readonly id: string }[],
  code: "InvalidInstanceID" | "InvalidVolume",
  pattern: RegExp,
  noun: string,
): void {
  const malformed = ids.find((id) => !pattern.test(id));
  if (malformed !== undefined) throw new Ec2Fault(`${code}.Malformed`, `Invalid id: "${malformed}"`);
  const missing = ids.filter((id) => !known.some((each) => each.id === id));
  if (missing.length === 0) return;
  const subject = missing.length === 1 ? `The ${noun} ID` : `The ${noun} IDs`;
  const verb = missing.length === 1 ? "does not exist" : "do not exist";
  throw new Ec2Fault(`${code}.NotFound`, `${subject} '${missing.join(", ")}' ${verb}`);
}

function reservationsOf(instances: readonly Ec2Instance[]): Xml {
  const ids = [...new Set(instances.map((instance) => instance.reservation))];
  return ids.map((reservationId) => ({
    reservationId,
    ownerId: "111122223333",
    instancesSet: instances.filter(({ reservation }) => reservation === reservationId).map(instanceFields),
  }));
}

function instanceFields(instance: Ec2Instance): Xml {
  return {
    instanceId: instance.id,
    instanceState: stateFields(instance.state),
    privateDnsName: instance.privateDnsName,
    stateReason: instance.stateReason && { ...instance.stateReason },
    launchTime: new Date(instance.launchTime).toISOString(),
    placement: { availabilityZone: instance.zone },
    privateIpAddress: instance.privateDnsName === "" ? undefined : instance.privateAddress,
    rootDeviceName: instance.rootDevice,
    rootDeviceType: "ebs",
    instanceLifecycle: instance.spot ? "spot" : undefined,
    tagSet: tagFields(instance.tags),
  };
}

function volumeFields(volume: Ec2Volume): Xml {
  return {
    volumeId: volume.id,
    size: 20,
    status: volume.attachment === undefined ? "available" : "in-use",
    createTime: new Date(volume.createdAt).toISOString(),
    availabilityZone: volume.zone,
    volumeType: "gp3",
    attachmentSet: volume.attachment === undefined ? [] : [attachmentFields(volume.id, volume.attachment)],
    tagSet: tagFields(volume.tags),
  };
}

function attachmentAnswer(
  ec2: SimulatedEc2,
  volume: string,
  instance: string,
): Readonly<Record<string, Xml>> {
  const attachment = ec2.volumes.attachmentOf(volume);
  return attachment === undefined
    ? { volumeId: volume, instanceId: instance, status: "detached" }
    : attachmentFields(volume, attachment);
}

function attachmentFields(
  volumeId: string,
  attachment: NonNullable<Ec2Volume["attachment"]>,
): Readonly<Record<string, Xml>> {
  return {
    volumeId,
    instanceId: attachment.instance,
    device: attachment.device,
    status: attachment.state,
    attachTime: new Date(attachment.since).toISOString(),
    deleteOnTermination: attachment.deleteOnTermination,
  };
}

function stateFields(state: InstanceState | undefined): Xml {
  return state === undefined ? undefined : { code: STATE_CODES[state], name: state };
}

function tagFields(tags: Readonly<Record<string, string>>): Xml {
  return Object.entries(tags).map(([key, value]) => ({ key, value }));
}
