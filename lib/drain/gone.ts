/** D14: the instance went first. Its volumes are freed as soon as the machine is proved dead, and nothing before that. */
import type { Action, Decision, VolumeVerdict } from "./decision.ts";
import { isAdopted, isDown, isEnding, isHibernated, isLeaseAlive, missingProofs } from "./death.ts";
import { end, eventOnce, listed, lookAgain } from "./drafting.ts";
import type { InstanceView } from "./machine.ts";
import { outOfServicePatch, outOfServiceValue, untaintPatch } from "./node-patch.ts";
import { doomedPods } from "./doomed-pods.ts";
import { isLeft } from "./left-behind.ts";
import { valueOf } from "./observation.ts";
import { type Situation, blockersOf, isAnotherMachine, isUp, isWorkOurs } from "./situation.ts";
import type { GoneTask } from "./task.ts";
import { MINUTE, SECOND } from "./time.ts";
import { hasLeftovers, withdraw } from "./withdrawing.ts";
import type { Work } from "./work-order.ts";

/** The taint comes off after this, whatever is left. */
const TAINT_LIMIT = 5 * MINUTE;
/** A stopped machine may start again: EC2's answer is this old at most when the patch is sent. */
const FRESH_SECONDS = 3;
/** What EC2 describes lags behind the events it sends, by seconds as a rule. */
const LAG = MINUTE;

export function decideGone(situation: Situation, task: GoneTask): Decision {
  const instance = valueOf(situation.observation.instance);
  if (instance && (isUp(instance) || isAnotherMachine(task, instance))) return backAgain(situation, instance);
  if (situation.now >= situation.deadline) return atLimit(situation);
  if (situation.blindness !== undefined || situation.observation.instance.kind !== "read") {
    return cannotSee(situation);
  }
  const left = situation.verdicts.filter((volume) => isLeft(volume, situation));
  if (left.length === 0) return freed(situation);
  if (valueOf(situation.observation.node) === null) return nodeGone(situation, left);
  if (taintIsOverdue(situation)) return withoutTaint(situation, left);
  const missing = missingProofs(situation);
  return missing.length > 0 ? notProved(situation, missing) : forceOff(situation, left);
}

/** Ours to take off: the out-of-service taint with our work id as its value, on whichever Node has the name now. */
function untaint(situation: Situation): readonly Action[] {
  const node = valueOf(situation.observation.node);
  return node && outOfServiceValue(node) === situation.task.id
    ? [{ kind: "patch-node", purpose: "untaint", patch: untaintPatch(node, situation.task.id) }]
    : [];
}

/** Nothing of it is forced. Where the Node cannot be read, our taint may be on it, so the work goes on until it can. */
function backAgain(situation: Situation, instance: InstanceView): Decision {
  const { now, task, observation } = situation;
  if (observation.node.kind !== "read") return cannotSee(situation);
  if (now - task.at < LAG && !isAnotherMachine(task, instance)) {
    return lookAgain(situation, {
      phase: "proving-death",
      rules: ["D14"],
      reason: `EC2 says ${instance.state}, which may be older than the news of the machine's end`,
      actions: untaint(situation),
    });
  }
  return end(
    situation,
    {
      rules: ["D14"],
      reason: "EC2 shows the instance up again: nothing of it is forced",
      actions: untaint(situation),
    },
    "called-off",
  );
}

function atLimit(situation: Situation): Decision {
  const reason = `15 minutes have passed; still there: ${listed(blockersOf(situation), 20)}`;
  return end(
    situation,
    {
      rules: ["D14"],
      reason,
      actions: [
        ...untaint(situation),
        ...eventOnce(situation, "DrainDeadline", reason, { type: "Warning" }),
        { kind: "metric", name: "DrainDeadlines", value: 1 },
      ],
    },
    "deadline",
  );
}

function cannotSee(situation: Situation): Decision {
  return lookAgain(situation, {
    phase: "blind",
    rules: ["D14", "D17"],
    reason: `nothing is touched while not everything can be read: ${situation.blindness?.message ?? "EC2 was not asked"}`,
  });
}

function freed(situation: Situation): Decision {
  const forced = situation.memory.taintedAt !== undefined;
  return end(
    situation,
    {
      rules: ["D3", "D14"],
      reason: "no attachment of the machine is left that anybody would remove",
      actions: [
        ...(isResting(situation) && hasLeftovers(situation) ? [withdraw(situation)] : untaint(situation)),
        ...(forced
          ? [
              ...eventOnce(situation, "VolumesDetached", "the dead machine's volumes are free"),
              {
                kind: "metric" as const,
                name: "DrainSeconds" as const,
                value: (situation.now - situation.task.at) / SECOND,
              },
            ]
          : []),
      ],
    },
    "freed",
  );
}

/** In the warm pool: the same machine comes back under the same Node, and should find it as it was. */
function isResting({ observation }: Situation): boolean {
  const state = valueOf(observation.member)?.lifecycleState;
  return state === "Warmed:Stopped" || state === "Warmed:Hibernated";
}

/** Nothing to taint: Kubernetes' own six minutes pass, and somebody should know. */
function nodeGone(situation: Situation, left: readonly VolumeVerdict[]): Decision {
  return lookAgain(situation, {
    phase: "proving-death",
    rules: ["D14"],
    reason: `the Node is gone already; Kubernetes frees ${left.length} volumes by its own six-minute timer`,
    actions: [{ kind: "metric", name: "VolumesBlocking", value: left.length }],
  });
}

function notProved(situation: Situation, missing: readonly string[]): Decision {
  const adopted = isAdopted(situation) || isLeaseAlive(situation);
  const report = adopted
    ? eventOnce(
        situation,
        "NodeAdopted",
        `another machine's kubelet runs under this Node of ${situation.task.instance}: it is left alone`,
        { type: "Warning" },
      )
    : [];
  const isEc2Awaited = missing.length === 1 && isEnding(situation);
  return lookAgain(situation, {
    phase: isEc2Awaited ? "awaiting-ec2" : "proving-death",
    rules: ["D14", "I9"],
    reason: `not proved dead, nothing is forced: ${missing.join("; ")}`,
    actions: [
      ...(adopted || isContradicted(situation) ? untaint(situation) : []),
      ...report,
      ...(report.length > 0 ? [{ kind: "metric" as const, name: "NodesAdopted" as const, value: 1 }] : []),
    ],
  });
}

/** Something read says the opposite of dead, which is more than a proof that could not be read this time. */
function isContradicted(situation: Situation): boolean {
  const { observation, memory } = situation;
  const renewed =
    observation.lease.kind === "read" &&
    memory.lease !== undefined &&
    observation.lease.value?.renewTime !== memory.lease.renewTime;
  return renewed || !isDown(situation) || isHibernated(situation);
}

function taintIsOverdue({ memory, now }: Situation): boolean {
  return memory.taintedAt !== undefined && now - memory.taintedAt >= TAINT_LIMIT;
}

function withoutTaint(situation: Situation, left: readonly VolumeVerdict[]): Decision {
  return lookAgain(situation, {
    phase: "proving-death",
    rules: ["D14"],
    reason: `the taint had its five minutes; ${left.length} attachments are left to Kubernetes`,
    actions: untaint(situation),
  });
}

/** In one patch unschedulable, `work` and the taint; then, at the same look, the pods that were listed before EC2 was asked. */
function forceOff(situation: Situation, left: readonly VolumeVerdict[]): Decision {
  const node = valueOf(situation.observation.node);
  if (!node) return cannotSee(situation);
  const value = outOfServiceValue(node);
  const names = left.map((volume) => volume.handle ?? volume.attachment ?? "?");
  return lookAgain(situation, {
    phase: "forcing-off",
    rules: ["D14"],
    reason: `EC2 proved the machine dead: out of service, ${names.length} volumes to free: ${listed(names)}`,
    actions: [
      {
        kind: "force-off",
        pods: doomedPods(situation),
        notAfter: situation.observation.ec2At + FRESH_SECONDS * SECOND,
        ...(value === undefined
          ? { patch: outOfServicePatch(node, taintWork(situation), situation.task.id) }
          : {}),
      },
      ...eventOnce(
        situation,
        "OutOfService",
        `EC2 shows ${situation.task.instance} as ${valueOf(situation.observation.instance)?.state}: freeing ${listed(names)}`,
        { type: "Warning" },
      ),
      ...(value === undefined ? [{ kind: "metric" as const, name: "OutOfService" as const, value: 1 }] : []),
    ],
  });
}

/** An open order of this machine stays as it is, but for the cordon that is ours from now on. */
function taintWork(situation: Situation): Work {
  const { work, task, deadline } = situation;
  const node = valueOf(situation.observation.node);
  const cordonIsOurs = node?.unschedulable !== true;
  if (work.kind === "open" && isWorkOurs(situation)) {
    return { ...work.work, cordoned: work.work.cordoned || cordonIsOurs };
  }
  const earlier = work.kind === "void" && work.work.cordoned;
  return {
    id: task.id,
    bootID: node?.bootId ?? "",
    group: task.group,
    deadline,
    cordoned: cordonIsOurs || earlier,
    ignore: [],
  };
}
