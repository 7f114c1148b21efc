/** A decision in words: what it is, what it does, what it waits for. */
import type { PatchOperation } from "../drain/cluster.ts";
import type { Action, Decision, NodePatchPurpose } from "../drain/decision.ts";
import { podName } from "../drain/pods.ts";
import { isoOf } from "../drain/time.ts";
import type { Output } from "./connection-options.ts";
import { tableOf } from "./table.ts";

/** `wide` adds patches, attachments, Events and metrics. */
export function decisionText(decision: Decision, output: Output): readonly string[] {
  const isWide = output === "wide";
  const steps = decision.actions.flatMap((action) => stepsOf(action, isWide));
  return [
    `${decision.phase} (${decision.rules.join(", ")}): ${decision.reason}`,
    ...(steps.length === 0 ? ["It changes nothing."] : steps.map((step, index) => `  ${index + 1}. ${step}`)),
    ...volumesText(decision, isWide),
    // Volumes stand in the table.
    ...decision.waitingFor.filter((each) => each.startsWith("pod ")).map((each) => `  waits for ${each}`),
    `${nextText(decision)}; the deadline is ${isoOf(decision.deadline)}`,
  ];
}

function nextText({ next }: Decision): string {
  switch (next.kind) {
    case "again":
      return `then it looks again in ${next.inSeconds} s`;
    case "done":
      return `then the work is done: ${next.outcome}`;
    default:
      return next satisfies never;
  }
}

const PURPOSES: Readonly<Record<NodePatchPurpose, string>> = {
  cordon: "cordon the Node",
  withdraw: "take back what is ours on the Node (D15)",
  ignore: "tell the hook which volumes to ignore (D11)",
  untaint: "take the out-of-service taint off (D14)",
};

function stepsOf(action: Action, isWide: boolean): readonly string[] {
  switch (action.kind) {
    case "patch-node":
      return [`${PURPOSES[action.purpose]}${isWide ? `: ${patchText(action.patch)}` : ""}`];
    case "evict":
      return action.groups.map((group) => {
        const cut = group[0]?.graceSeconds;
        return `evict ${group.map(podName).join(", ")}${cut === undefined ? "" : `, grace cut to ${cut} s`}`;
      });
    case "delete-pods":
      return [`delete ${action.pods.map(podName).join(", ")}, which a budget protects`];
    case "hand-over":
      return [`hand over to the hook and delete ${podName(action.pod)} (D10)`];
    case "force-off":
      return [
        `taint the Node out of service; remove ${action.pods.map(podName).join(", ") || "no pod"} (D14)`,
      ];
    case "heartbeat":
      return ["beat the lifecycle action (D6)"];
    case "complete":
      return [`complete the lifecycle action: ${action.result}`];
    case "event":
      return isWide ? [`Event ${action.reason}: ${action.message}`] : [];
    case "metric":
      return isWide ? [`metric ${action.name} ${action.value}`] : [];
    default:
      return action satisfies never;
  }
}

function patchText(patch: readonly PatchOperation[]): string {
  return patch
    .map((step) => `${step.op} ${step.path}${step.op === "remove" ? "" : ` ${JSON.stringify(step.value)}`}`)
    .join("; ");
}

function volumesText({ verdicts }: Decision, isWide: boolean): readonly string[] {
  if (verdicts.length === 0) return [];
  const rows = verdicts.map((volume) => [
    volume.handle ?? "?",
    volume.verdict,
    volume.blocks ? "blocks" : "",
    volume.why,
    ...(isWide ? [volume.attachment ?? "", volume.volumeName ?? ""] : []),
  ]);
  const heading = ["VOLUME", "VERDICT", "", "WHY", ...(isWide ? ["ATTACHMENT", "PERSISTENTVOLUME"] : [])];
  return tableOf([heading, ...rows]).map((line) => `  ${line}`);
}
