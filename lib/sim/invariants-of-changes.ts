/** I4, I5, I9: what the product changed in the cluster, one request after the other. */
import { CSI_NODE_SET } from "./cluster-scene.ts";
import type { ChangeRecord } from "./cluster-port.ts";
import type { Violation, Watched } from "./invariants.ts";
import { SECOND } from "../drain/time.ts";

export function checkChanges(watched: Watched): readonly Violation[] {
  const done = watched.world.clusterPort.changes.filter((change) => change.outcome === "done");
  return done.flatMap((change) => [
    ...checkPod(change, watched),
    ...checkForce(change),
    ...checkOwner(change, watched),
  ]);
}

function violation(invariant: string, change: ChangeRecord, text: string): Violation {
  const pod = change.pod === undefined ? "" : ` ${change.pod.namespace}/${change.pod.name}`;
  return { invariant, at: change.at, text: `${change.method}${pod} on ${change.node ?? "no node"}: ${text}` };
}

/** I4, I5. The API server itself refuses an eviction against a budget; a delete asks nobody. */
function checkPod(change: ChangeRecord, { policy, executions }: Watched): readonly Violation[] {
  if (change.pod === undefined) return [];
  if (change.node === undefined) return [violation("I4", change, "the pod of this uid is on no node")];
  const isHookPod = change.pod.name.startsWith(CSI_NODE_SET);
  const hurts = (change.violates ?? []).length > 0 && change.wasDeleting !== true;
  if (change.method !== "deletePod" || !hurts || change.kubeletLives !== true || isHookPod) return [];
  const isForced =
    policy.force && executions().some(({ task }) => change.at - task.at >= policy.forceAfter * SECOND);
  return isForced ? [] : [violation("I5", change, `deletes against ${change.violates?.join()}`)];
}

/** I9: nothing is forced where a kubelet lives. */
function checkForce(change: ChangeRecord): readonly Violation[] {
  if (change.kubeletLives !== true) return [];
  const isTaint =
    change.patch?.some(
      (step) => step.op === "add" && JSON.stringify(step.value).includes("out-of-service"),
    ) === true;
  if (isTaint) return [violation("I9", change, "out-of-service although a kubelet lives")];
  if (change.method === "failPod") return [violation("I9", change, "failed although its kubelet lives")];
  return change.method === "deletePod" && change.graceSeconds === 0
    ? [violation("I9", change, "deleted without grace although its kubelet lives")]
    : [];
}

/** I9, D1: a Node, and the pods on it, of a machine that had work, and no other machine's that took over the name. */
function checkOwner(change: ChangeRecord, { world, executions }: Watched): readonly Violation[] {
  if (change.node === undefined || change.method === "recordEvent") return [];
  const instances = executions().map(({ task }) => task.instance);
  if (!world.namesOf(instances).includes(change.node)) {
    return [violation("I9", change, "a Node that no work was about")];
  }
  const { livingInstance } = change;
  // Taking off what is ours is allowed wherever it is found: whoever adopted the Node adopted that with it.
  const isUndoing = change.patch?.every((step) => step.op !== "add") === true;
  return livingInstance === undefined || isUndoing || instances.includes(livingInstance)
    ? []
    : [violation("I9", change, `the Node is ${livingInstance}'s by now`)];
}
