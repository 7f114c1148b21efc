/** Decides for a lifecycle action: D2–D13, D15, D17, in the rules' order. */
import type { Action, Decision } from "./decision.ts";
import { awaitVolumes, cordon, evict, hasAgreed, isDrained, workOf } from "./draining.ts";
import { end, eventOnce, listed, lookAgain, preceded } from "./drafting.ts";
import { announced, atDeadline, blind, heartbeat } from "./lifecycle-limits.ts";
import { overOrCalledOff } from "./over.ts";
import { hasHadTimeToJoin } from "./needs.ts";
import { workPatch } from "./node-patch.ts";
import { podName } from "./pods.ts";
import { type Situation, blockersOf, hasSettled, isMachineDown, isWorkOurs, ownOrder } from "./situation.ts";
import type { LifecycleTask } from "./task.ts";
import { SECOND } from "./time.ts";
import { dataVolumes, managedInUse } from "./volumes.ts";

export function decideLifecycle(situation: Situation, task: LifecycleTask): Decision {
  const over = overOrCalledOff(situation);
  if (over !== undefined) return over;
  const deadline = atDeadline(situation);
  if (deadline !== undefined) return deadline;
  return announced(
    situation,
    situation.blindness === undefined ? drainNode(situation, task) : blind(situation),
  );
}

/** D5 before D6 before D7: the cordon is the first change, the beat does not wait for the evictions. */
function drainNode(situation: Situation, task: LifecycleTask): Decision {
  const beat = heartbeat(situation);
  switch (situation.ownership) {
    case "unverified":
      return preceded(beat, unverified(situation));
    case "adopted":
      return preceded(beat, adopted(situation));
    case "absent":
    case "ours":
      return preceded(
        [...cordon(situation), ...beat],
        neverJoined(situation) ??
          evict(situation) ??
          handOver(situation, task) ??
          complete(situation) ??
          awaitVolumes(situation),
      );
    default:
      return situation.ownership satisfies never;
  }
}

function unverified(situation: Situation): Decision {
  return lookAgain(situation, {
    phase: "blind",
    rules: ["D5"],
    reason: "not everything that tells whose Node this is could be read: nothing is changed",
  });
}

/** Another machine's kubelet lives under the name: its pods are none of ours. The instance itself holds what EC2 says. */
function adopted(situation: Situation): Decision {
  const wasRead = situation.observation.ec2Volumes.kind === "read";
  const report = eventOnce(
    situation,
    "NodeAdopted",
    `another machine's kubelet runs under this Node of ${situation.task.instance}: it is left alone`,
    { type: "Warning" },
  );
  if (wasRead && situation.blocking.length === 0) return agreeThenComplete(situation, "D14", report);
  return lookAgain(situation, {
    phase: "detaching",
    rules: ["D14", "I9"],
    reason: "the Node was adopted by another machine: only EC2's attachments of the instance are awaited",
    actions: report,
  });
}

/**
 * D4: no Node joinGrace after LaunchTime, looked up twice and listed once, and nothing but the root volume attached. Before that the
 * Node may still come: it is drained then.
 */
function neverJoined(situation: Situation): Decision | undefined {
  const { memory, observation } = situation;
  if (situation.ownership !== "absent" || memory.node !== undefined) return undefined;
  if (!hasHadTimeToJoin(observation, situation.policy)) {
    return lookAgain(situation, {
      phase: "locating",
      rules: ["D4"],
      reason: `no Node for ${situation.task.instance} yet, it may still register`,
    });
  }
  const searched = memory.lookups >= 1 && memory.nodesListed;
  const volumes = dataVolumes(observation);
  if (!searched || volumes === undefined) {
    return lookAgain(situation, {
      phase: "confirming",
      rules: ["D4"],
      reason: `no Node for ${situation.task.instance}: looked up once more before the action is completed`,
    });
  }
  if (volumes.length > 0) return undefined;
  return end(
    situation,
    {
      rules: ["D4"],
      reason: `${situation.task.instance} never joined the cluster and holds no volume but its root`,
      actions: [{ kind: "complete", result: "CONTINUE" }],
    },
    "never-joined",
  );
}

/**
 * D10: pods are gone, volumes still block, the CSI node pod carries the hook, and nothing speaks against its end: no managed volume
 * in use, none mounted by a pod that stays, EC2 neither busy nor holding what has no VolumeAttachment. Once per work.
 */
function handOver(situation: Situation, task: LifecycleTask): Decision | undefined {
  const { node, pods, memory, blocking } = situation;
  const pod = pods.hookPod;
  if (node === undefined || pod === undefined || task.token === undefined || blocking.length === 0)
    return undefined;
  if (!hasSettled(situation) || !isWorkOurs(situation) || isMachineDown(situation)) return undefined;
  const handed = memory.handedOver ?? ownOrder(situation)?.handedOver;
  // The patch was made and its delete perhaps not: that same pod, and no successor, is still to be deleted.
  if (handed !== undefined && (handed !== pod.uid || pod.deleting)) return undefined;
  if (handed === undefined && speaksAgainstHandOver(situation)) return undefined;
  const order = { ...workOf(situation), handedOver: pod.uid, token: task.token };
  return lookAgain(situation, {
    phase: "detaching",
    rules: ["D10"],
    reason: `handed over to the hook in ${pod.namespace}/${pod.name}: ${listed(blockersOf(situation))}`,
    actions: [
      { kind: "hand-over", patch: workPatch(node, order), pod },
      ...eventOnce(
        situation,
        "HandedOff",
        `the hook in ${pod.namespace}/${pod.name} waits for ${listed(blockersOf(situation))}`,
      ),
    ],
  });
}

function speaksAgainstHandOver(situation: Situation): boolean {
  const { node, policy, verdicts, observation, pods } = situation;
  if (node === undefined || pods.hookPod?.deleting === true) return true;
  const ec2 = observation.ec2Volumes.kind === "read";
  return (
    !ec2 ||
    managedInUse(node.volumesInUse, policy).length > 0 ||
    verdicts.some(
      (volume) =>
        volume.verdict === "pinned" ||
        volume.verdict === "busy" ||
        (volume.blocks && volume.attachment === undefined),
    )
  );
}

/** D12: CONTINUE once two looks agree. */
function complete(situation: Situation): Decision | undefined {
  return isDrained(situation) ? agreeThenComplete(situation, "D12") : undefined;
}

function agreeThenComplete(situation: Situation, rule: string, actions: readonly Action[] = []): Decision {
  if (!hasAgreed(situation, rule)) {
    return lookAgain(situation, {
      phase: "confirming",
      rules: [rule],
      reason: "no evictable pod and no blocking volume: one more look must agree",
      agrees: rule,
      actions,
    });
  }
  const left = [
    ...situation.verdicts.map((volume) => `${volume.handle ?? volume.attachment ?? "?"} (${volume.verdict})`),
    ...situation.pods.returned.map((pod) => `pod ${podName(pod)} (came back)`),
  ];
  return end(
    situation,
    {
      rules: [rule],
      reason: `both sources agree that ${situation.task.instance} holds no volume; left as they are: ${listed(left)}`,
      actions: [
        ...actions,
        { kind: "complete", result: "CONTINUE" },
        ...eventOnce(situation, "VolumesDetached", "no pod and no volume is left on the node"),
        ...eventOnce(situation, "DrainCompleted", "lifecycle action completed with CONTINUE"),
        { kind: "metric", name: "DrainsCompleted", value: 1 },
        { kind: "metric", name: "DrainSeconds", value: (situation.now - situation.task.at) / SECOND },
      ],
    },
    "completed",
  );
}
