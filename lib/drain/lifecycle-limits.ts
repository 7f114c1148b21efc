/** What bounds a lifecycle action's work: its beats (D6), its deadline (D13), and not being able to see (D17). */
import { announcedShare, isKubeletLost } from "./deadline.ts";
import type { Action, Decision } from "./decision.ts";
import { end, eventOnce, listed, lookAgain, preceded } from "./drafting.ts";
import { needsBeat } from "./pace.ts";
import { type Situation, blockersOf } from "./situation.ts";
import { isoOf } from "./time.ts";
import { dataVolumes } from "./volumes.ts";

/** D6. */
export function heartbeat(situation: Situation): readonly Action[] {
  return needsBeat(situation) ? [{ kind: "heartbeat" }] : [];
}

/** D13: the policy's result, with each blocker named. */
export function atDeadline(situation: Situation): Decision | undefined {
  const { now, deadline, policy, observation } = situation;
  const lost = isKubeletLost(observation, policy);
  if (now < deadline && !(lost && situation.ownership === "ours" && blockersOf(situation).length > 0)) {
    return undefined;
  }
  const why =
    lost && now < deadline ? "the kubelet is silent and can unmount nothing" : "the deadline is reached";
  const reason = `${why}; result ${policy.onDeadline}; still blocking: ${listed(blockersOf(situation), 20)}`;
  return end(
    situation,
    {
      rules: ["D13"],
      reason,
      actions: [
        { kind: "complete", result: policy.onDeadline },
        ...eventOnce(situation, "DrainDeadline", reason, { type: "Warning" }),
        { kind: "metric", name: "DrainDeadlines", value: 1 },
      ],
    },
    "deadline",
  );
}

/** D13: 50 % and 90 % of the time are announced. */
export function announced(situation: Situation, decision: Decision): Decision {
  const share = announcedShare(situation.task, situation.deadline, situation.now);
  if (share === undefined || decision.next.kind === "done") return decision;
  const event = eventOnce(
    situation,
    "DrainDeadlineNear",
    `${share} % of the time to ${isoOf(situation.deadline)} has passed; blocking: ${listed(blockersOf(situation))}`,
    { detail: String(share), type: "Warning" },
  );
  return event.length === 0
    ? decision
    : {
        ...decision,
        actions: [...decision.actions, ...event, { kind: "metric", name: "DeadlinesNear", value: 1 }],
      };
}

/** D17: heartbeats go on; nothing is completed but a machine already seen empty that EC2 shows with its root volume only. */
export function blind(situation: Situation): Decision {
  const { memory, observation, blindness } = situation;
  const cause = causeOf(blindness?.cause);
  // Without EC2's answer the Node of an instance cannot be found: that is not the cluster's fault.
  const isCluster = blindness?.operation.startsWith("ec2.") !== true;
  const alarm: readonly Action[] = isCluster
    ? [{ kind: "metric", name: "ClusterUnreachable", value: 1, dimensions: { cause } }]
    : [];
  const beat = heartbeat(situation);
  if (memory.emptied && dataVolumes(observation)?.length === 0) {
    const agreed = memory.agreed === "D17";
    return agreed
      ? preceded(beat, finishBlind(situation, alarm))
      : lookAgain(situation, {
          phase: "blind",
          rules: ["D17"],
          reason: "Kubernetes cannot be read; the machine was empty and EC2 shows only its root volume",
          agrees: "D17",
          actions: [...beat, ...alarm],
        });
  }
  return lookAgain(situation, {
    phase: "blind",
    rules: ["D17"],
    reason: `${isCluster ? "Kubernetes" : "EC2"} cannot be read (${cause}): ${blindness?.message ?? "no reason given"}`,
    actions: [...beat, ...alarm],
  });
}

function finishBlind(situation: Situation, alarm: readonly Action[]): Decision {
  return end(
    situation,
    {
      rules: ["D17"],
      reason: "the machine had no evictable pod left and EC2 shows no volume but its root",
      actions: [
        ...alarm,
        { kind: "complete", result: "CONTINUE" },
        { kind: "metric", name: "DrainsCompleted", value: 1 },
      ],
    },
    "completed",
  );
}

/** The alarm's three causes, from the port's failure kind. */
export function causeOf(failure: string | undefined): "network" | "authentication" | "authorization" {
  if (failure === "unauthenticated") return "authentication";
  if (failure === "forbidden") return "authorization";
  return "network";
}
