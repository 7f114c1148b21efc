/** D16: a spot notice. The deadline is EC2's, evictions are cut to fit, there is no action to complete. */
import type { Decision } from "./decision.ts";
import { awaitVolumes, cordon, evict, hasAgreed, isDrained } from "./draining.ts";
import { end, eventOnce, listed, lookAgain, preceded } from "./drafting.ts";
import { valueOf } from "./observation.ts";
import { type Situation, blockersOf, isAnotherMachine, isUp } from "./situation.ts";
import type { SpotTask } from "./task.ts";
import { SECOND } from "./time.ts";

/** Kept of the two minutes for unmount and detach: the kubelet's status sync alone takes up to 10 s. */
const DETACH_SECONDS = 30;

export function decideSpot(situation: Situation, task: SpotTask): Decision {
  const ended = instanceEnded(situation);
  if (ended !== undefined) return ended;
  if (situation.now >= task.until) return atNotice(situation);
  if (situation.blindness !== undefined || situation.ownership === "unverified") {
    return lookAgain(situation, {
      phase: situation.blindness === undefined ? "locating" : "blind",
      rules: ["D16", "D17"],
      reason: `the Node cannot be read: ${situation.blindness?.message ?? "not everything that tells whose it is"}`,
    });
  }
  if (situation.ownership === "adopted") {
    return end(
      situation,
      { rules: ["D14", "I9"], reason: "the Node is another machine's by now" },
      "instance-gone",
    );
  }
  const grace = Math.max(1, Math.floor((task.until - situation.now) / SECOND) - DETACH_SECONDS);
  return preceded(
    cordon(situation),
    notYetJoined(situation) ?? evict(situation, grace) ?? freed(situation) ?? awaitVolumes(situation),
  );
}

function instanceEnded(situation: Situation): Decision | undefined {
  const instance = valueOf(situation.observation.instance);
  // Not shown by EC2 is no end: describe calls lag, and the notice says that it still runs.
  const ended = !!instance && (!isUp(instance) || isAnotherMachine(situation.task, instance));
  return ended
    ? end(
        situation,
        { rules: ["D16"], reason: "the instance has ended: the gone work takes over" },
        "instance-gone",
      )
    : undefined;
}

/** No Node so far: it may still come, until the notice's time. */
function notYetJoined(situation: Situation): Decision | undefined {
  return situation.ownership === "absent" && situation.memory.node === undefined
    ? lookAgain(situation, { phase: "locating", rules: ["D16"], reason: "no Node of the instance so far" })
    : undefined;
}

function freed(situation: Situation): Decision | undefined {
  if (!isDrained(situation)) return undefined;
  if (!hasAgreed(situation, "D12")) {
    return lookAgain(situation, {
      phase: "confirming",
      rules: ["D12", "D16"],
      reason: "no pod and no volume is left: one more look must agree",
      agrees: "D12",
    });
  }
  return end(
    situation,
    {
      rules: ["D12", "D16"],
      reason: "every volume is free before the interruption",
      actions: [
        ...eventOnce(situation, "VolumesDetached", "no pod and no volume is left on the node"),
        ...eventOnce(situation, "DrainCompleted", "drained before the spot interruption"),
        { kind: "metric", name: "DrainsCompleted", value: 1 },
        { kind: "metric", name: "DrainSeconds", value: (situation.now - situation.task.at) / SECOND },
      ],
    },
    "freed",
  );
}

function atNotice(situation: Situation): Decision {
  const reason = `the spot notice's time is over; still blocking: ${listed(blockersOf(situation), 20)}`;
  return end(
    situation,
    {
      rules: ["D16", "D13"],
      reason,
      actions: [
        ...eventOnce(situation, "DrainDeadline", reason, { type: "Warning" }),
        { kind: "metric", name: "DrainDeadlines", value: 1 },
      ],
    },
    "deadline",
  );
}
