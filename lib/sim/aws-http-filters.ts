/** The filters of DescribeInstances and DescribeVolumes that the simulated EC2 knows; any other is refused. */
import type { Filter, Form } from "./aws-http-form.ts";
import { filtersIn } from "./aws-http-form.ts";
import type { Ec2Instance, Ec2Volume } from "./ec2-records.ts";
import { Ec2Fault } from "./seams.ts";

const INSTANCE_FILTERS: readonly string[] = ["instance-id", "instance-state-name"];
const VOLUME_FILTERS: readonly string[] = [
  "volume-id",
  "attachment.instance-id",
  "attachment.status",
  "status",
];

/** Throws Ec2Fault InvalidParameterValue for a filter it does not know. */
export function filterInstances(form: Form, instances: readonly Ec2Instance[]): readonly Ec2Instance[] {
  const filters = knownFilters(form, INSTANCE_FILTERS);
  return instances.filter((instance) => filters.every((filter) => hasInstance(instance, filter)));
}

/** Throws Ec2Fault InvalidParameterValue for a filter it does not know. */
export function filterVolumes(form: Form, volumes: readonly Ec2Volume[]): readonly Ec2Volume[] {
  const filters = knownFilters(form, VOLUME_FILTERS);
  return volumes.filter((volume) => filters.every((filter) => hasVolume(volume, filter)));
}

function knownFilters(form: Form, names: readonly string[]): readonly Filter[] {
  const filters = filtersIn(form);
  const unknown = filters.find(
    ({ name }) => !names.includes(name) && name !== "tag-key" && !name.startsWith("tag:"),
  );
  if (unknown === undefined) return filters;
  throw new Ec2Fault("InvalidParameterValue", `The filter '${unknown.name}' is invalid`);
}

function hasInstance(instance: Ec2Instance, filter: Filter): boolean {
  switch (filter.name) {
    case "instance-id":
      return filter.values.includes(instance.id);
    case "instance-state-name":
      return filter.values.includes(instance.state);
    default:
      return hasTag(instance.tags, filter);
  }
}

function hasVolume(volume: Ec2Volume, filter: Filter): boolean {
  switch (filter.name) {
    case "volume-id":
      return filter.values.includes(volume.id);
    case "attachment.instance-id":
      return filter.values.includes(volume.attachment?.instance ?? "");
    case "attachment.status":
      return filter.values.includes(volume.attachment?.state ?? "");
    case "status":
      return filter.values.includes(volume.attachment === undefined ? "available" : "in-use");
    default:
      return hasTag(volume.tags, filter);
  }
}

function hasTag(tags: Readonly<Record<string, string>>, filter: Filter): boolean {
  if (filter.name === "tag-key") return filter.values.some((key) => tags[key] !== undefined);
  const value = tags[filter.name.slice("tag:".length)];
  return value !== undefined && filter.values.includes(value);
}
