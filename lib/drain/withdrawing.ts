/** Undoing what is ours on a Node that goes on: `work`, our taint, and the cordon where we set it. */
import type { Action } from "./decision.ts";
import { withdrawPatch } from "./node-patch.ts";
import { type Situation, isWorkOurs } from "./situation.ts";
import { machineOf } from "./task.ts";

/** An order of this machine is still written on the Node, open or of an earlier boot. */
export function hasLeftovers(situation: Situation): boolean {
  return situation.node !== undefined && (isWorkOurs(situation) || situation.work.kind === "void");
}

export function isCordonOurs({ work }: Situation): boolean {
  return (work.kind === "open" || work.kind === "void") && work.work.cordoned;
}

/** All of it in one patch. Throws RangeError where `hasLeftovers` is false. */
export function withdraw(situation: Situation): Action {
  const { node } = situation;
  if (node === undefined) throw new RangeError("there is no Node to withdraw from");
  const isOurTaint = (value: string): boolean => machineOf(value) !== undefined;
  const patch = withdrawPatch(node, { uncordon: isCordonOurs(situation), isOurTaint });
  return { kind: "patch-node", purpose: "withdraw", patch };
}
