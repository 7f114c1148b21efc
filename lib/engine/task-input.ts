/** The input of a drain execution, checked: it may come from another version of the dispatcher, or from somebody's hands. */
import { describe, isObject } from "../drain/raw-json.ts";
import type { Settings } from "../drain/settings.ts";
import { clusterOfGroup } from "../drain/settings.ts";
import type { DeployedTask } from "../drain/task.ts";

/** The input is no task of ours: retrying mends nothing, so the execution fails and the input reaches the dead-letter queue. */
export class TaskError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TaskError";
  }
}

const TEXTS = ["id", "cluster", "group", "instance"] as const;
const OWN_FIELDS: Readonly<
  Record<DeployedTask["kind"], readonly (readonly [string, "string" | "number" | "boolean"])[]>
> = {
  lifecycle: [
    ["hook", "string"],
    ["destination", "string"],
    ["replacesRootVolume", "boolean"],
  ],
  spot: [
    ["action", "string"],
    ["until", "number"],
  ],
  gone: [["state", "string"]],
};

/** Throws TaskError naming the first field that does not fit, or the cluster that is not configured. */
export function readTask(raw: unknown, settings: Settings): DeployedTask {
  if (!isObject(raw)) throw new TaskError(`the input is ${describe(raw)}, not a task`);
  const kind = raw["kind"];
  if (kind !== "lifecycle" && kind !== "spot" && kind !== "gone") {
    throw new TaskError(`kind: expected lifecycle, spot or gone, got ${describe(kind)}`);
  }
  for (const field of TEXTS) need(raw, field, "string");
  need(raw, "at", "number");
  for (const [field, type] of OWN_FIELDS[kind]) need(raw, field, type);
  if (raw["launchTime"] !== undefined) need(raw, "launchTime", "number");
  if (raw["token"] !== undefined) need(raw, "token", "string");
  const task = raw as unknown as DeployedTask;
  requireConfigured(task, settings);
  return task;
}

function need(
  raw: Readonly<Record<string, unknown>>,
  field: string,
  type: "string" | "number" | "boolean",
): void {
  const value = raw[field];
  if (typeof value !== type || value === "") {
    throw new TaskError(`${field}: expected a ${type}, got ${describe(value)}`);
  }
}

/** An execution keeps the version it began with, and that version's settings: a cluster unknown there stays unknown. */
function requireConfigured(task: DeployedTask, settings: Settings): void {
  const cluster = clusterOfGroup(settings, task.group);
  if (cluster?.name === task.cluster) return;
  const known = settings.clusters.map((each) => each.name).join(", ");
  throw new TaskError(
    cluster === undefined
      ? `${task.id}: group ${task.group} of cluster ${task.cluster} is not configured (clusters: ${known})`
      : `${task.id}: group ${task.group} belongs to cluster ${cluster.name}, not ${task.cluster}`,
  );
}
