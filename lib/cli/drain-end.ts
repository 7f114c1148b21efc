/** How a drain by hand ended, and what its operator can do then. */
import type { Outcome } from "../drain/decision.ts";
import { ANSWER_IS_NO, DONE, type ExitCode, INTERRUPTED } from "./running.ts";

export interface DrainEnd {
  readonly node: string;
  readonly outcome: Outcome | "interrupted";
  readonly reason: string;
  /** `namespace/name` of the pods whose eviction was accepted. */
  readonly evicted: readonly string[];
  /** What was still waited for. */
  readonly left: readonly string[];
  readonly cordon: "set" | "stood before" | "not set";
}

export function exitCodeOf({ outcome }: DrainEnd): ExitCode {
  if (outcome === "freed") return DONE;
  return outcome === "interrupted" ? INTERRUPTED : ANSWER_IS_NO;
}

export function endText(end: DrainEnd): readonly string[] {
  const { node, outcome, reason, evicted, left } = end;
  if (outcome === "freed") return [`${node} is drained: ${reason}`, undoText(end)];
  return [
    `${node} is not drained: ${reason}`,
    ...(evicted.length === 0 ? [] : [`evicted so far: ${evicted.join(", ")}`]),
    ...(left.length === 0 ? [] : ["still there:", ...left.map((each) => `  ${each}`)]),
    undoText(end),
    `To go on: ebs-drain drain ${node}`,
  ];
}

function undoText({ node, cordon }: DrainEnd): string {
  switch (cordon) {
    case "set":
      return `The Node stays cordoned. To undo: kubectl uncordon ${node}`;
    case "stood before":
      return "The Node was cordoned before, and stays so.";
    case "not set":
      return "The Node was not cordoned: nothing of it was changed.";
    default:
      return cordon satisfies never;
  }
}
