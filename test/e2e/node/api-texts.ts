/** Objects of the API in a few words each, for timelines: only what changes while a node goes away. */
import type { CsiNode, Node, Pod, VolumeAttachment } from "../api-objects.ts";

interface ContainerStatus {
  readonly name: string;
  readonly restartCount: number;
  readonly state: Readonly<Record<string, { readonly exitCode?: number; readonly reason?: string }>>;
}

type PodStatus = NonNullable<Pod["status"]> & { readonly containerStatuses?: readonly ContainerStatus[] };

export function podText(pod: Pod, isGone: boolean): string {
  if (isGone) return "gone";
  const { nodeName = "no node" } = pod.spec;
  const status: PodStatus | undefined = pod.status;
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const deleting = deletionTimestamp === undefined ? "" : ` deleted (grace ${deletionGracePeriodSeconds} s)`;
  const containers = (status?.containerStatuses ?? []).map(containerText).join(", ");
  return `${status?.phase ?? "?"} on ${nodeName}${deleting} ${containers}`.trimEnd();
}

function containerText({ name, state, restartCount }: ContainerStatus): string {
  const states = Object.entries(state).map(([what, { exitCode, reason }]) =>
    [what, exitCode, reason].filter((word) => word !== undefined).join(" "),
  );
  return `${name} ${states.join()}${restartCount > 0 ? ` #${restartCount}` : ""}`;
}

export function attachmentText({ metadata, spec, status }: VolumeAttachment, isGone: boolean): string {
  if (isGone) return `gone from ${spec.nodeName}`;
  const state = status?.attached === true ? "attached to" : "not attached to";
  const deleting = metadata.deletionTimestamp === undefined ? "" : ", deleted";
  const error = status?.detachError?.message ?? status?.attachError?.message;
  return `${state} ${spec.nodeName}${deleting}${error === undefined ? "" : `: ${error.slice(0, 200)}`}`;
}

export function nodeTexts({ metadata, spec, status }: Node): readonly (readonly [string, string])[] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const names = (list: readonly string[]) => list.join(", ") || "none";
  const handle = (name: string) => name.slice(name.lastIndexOf("^") + 1);
  return [
    ["node", spec.unschedulable === true ? "cordoned" : "schedulable"],
    ["node's Ready", `${ready?.status ?? "unknown"} ${ready?.message ?? ""}`.trimEnd()],
    ["node's taints", names((spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`))],
    [
      "node's annotations",
      names(Object.keys(metadata.annotations ?? {}).filter((key) => key.includes("ebs-drain"))),
    ],
    ["volumesInUse", names((status?.volumesInUse ?? []).map(handle))],
    ["volumesAttached", names((status?.volumesAttached ?? []).map(({ name }) => handle(name)))],
  ];
}

export function csiNodeText({ spec }: CsiNode): string {
  return (spec.drivers ?? []).map(({ name }) => name).join(", ") || "none";
}
