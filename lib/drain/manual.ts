/** D19: a drain by hand. A plain cordon, evictions, volumes; no `work`, no lifecycle action, nothing forced but by `force`. */
import type { Action, Decision } from "./decision.ts";
import { awaitVolumes, evict, hasAgreed, isDrained } from "./draining.ts";
import { end, eventOnce, listed, lookAgain, preceded } from "./drafting.ts";
import { plainCordonPatch } from "./node-patch.ts";
import { isAbsent } from "./observation.ts";
import { type Situation, blockersOf, isMachineDown } from "./situation.ts";
import type { ManualTask } from "./task.ts";

export function decideManual(situation: Situation, task: ManualTask): Decision {
  if (situation.now >= task.until) return atTimeout(situation);
  if (situation.blindness !== undefined || situation.ownership === "unverified") {
    return lookAgain(situation, {
      phase: "blind",
      rules: ["D19", "D17"],
      reason: `the Node cannot be read: ${situation.blindness?.message ?? "not everything that tells whose it is"}`,
    });
  }
  return replaced(situation, task) ?? drainByHand(situation, task);
}

/** Whatever has the name now is not what the operator named. */
function replaced(situation: Situation, task: ManualTask): Decision | undefined {
  const isGone = isAbsent(situation.observation.node);
  if (situation.ownership === "ours" || isGone) return undefined;
  const who = situation.ownership === "adopted" ? "another machine's kubelet runs under" : "another Node has";
  return end(
    situation,
    { rules: ["D19", "I9"], reason: `${who} the name ${task.node.name} by now: it is left alone` },
    "instance-gone",
  );
}

function drainByHand(situation: Situation, task: ManualTask): Decision {
  return preceded(
    plainCordon(situation, task),
    evict(situation) ?? freed(situation, task) ?? awaitVolumes(situation),
  );
}

/** Like kubectl's: without `work`, so that neither sweep nor hook takes it for a drain of theirs. Set again where it was undone. */
function plainCordon(situation: Situation, task: ManualTask): readonly Action[] {
  const { node } = situation;
  if (node === undefined || node.unschedulable || isMachineDown(situation)) return [];
  return [
    { kind: "patch-node", purpose: "cordon", patch: plainCordonPatch(node) },
    ...eventOnce(
      situation,
      "DrainStarted",
      `an operator drains ${task.node.name}: cordoned, evicting its pods`,
    ),
  ];
}

function freed(situation: Situation, task: ManualTask): Decision | undefined {
  if (!isDrained(situation)) return undefined;
  if (!hasAgreed(situation, "D12")) {
    return lookAgain(situation, {
      phase: "confirming",
      rules: ["D12", "D19"],
      reason: "no evictable pod and no blocking volume: one more look must agree",
      agrees: "D12",
    });
  }
  const who =
    task.sources === "both"
      ? `both sources agree that ${task.node.name} holds no volume`
      : `Kubernetes shows no volume of ${task.node.name}; EC2 was not asked`;
  const left = situation.verdicts.map(
    (volume) => `${volume.handle ?? volume.attachment ?? "?"} (${volume.verdict})`,
  );
  return end(
    situation,
    {
      rules: ["D12", "D19"],
      reason: `${who}; left as they are: ${listed(left)}`,
      actions: eventOnce(situation, "DrainCompleted", `drained by an operator: ${who}`),
    },
    "freed",
  );
}

function atTimeout(situation: Situation): Decision {
  const reason = `the time-out is reached; still blocking: ${listed(blockersOf(situation), 20)}`;
  return end(situation, { rules: ["D19"], reason }, "deadline");
}
