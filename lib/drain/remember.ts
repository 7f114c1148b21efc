/** What a look leaves to the next one: observation, decision and the outcomes of its actions, folded into the memory. */
import type { Decision, Next } from "./decision.ts";
import { isDown } from "./death.ts";
import type { Memory } from "./memory.ts";
import { type Observation, valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";
import { isEssential } from "./dependence.ts";
import { FAILED_BEAT_RETRY, pace, paceOfRetry } from "./pace.ts";
import { type ActionResult, rememberResult } from "./results.ts";
import { type Situation, isMachineDown, ownOrder, understand } from "./situation.ts";
import { SECOND } from "./time.ts";

export interface Remembered {
  readonly memory: Memory;
  readonly next: Next;
}

export function remember(
  observation: Observation,
  decision: Decision,
  results: readonly ActionResult[],
  policy: Policy,
): Remembered {
  const situation = understand(observation, policy);
  const seen = rememberSeen(observation.memory, situation, decision);
  const acted = results.reduce((before, result) => rememberResult(before, result, observation), seen);
  const memory = withProgress(acted, situation, decision);
  return { memory, next: nextAfter(situation, decision, results, memory) };
}

/** A work ends only if what it depends on was done; an action that is over is looked into at once. */
function nextAfter(
  situation: Situation,
  { next, phase }: Decision,
  results: readonly ActionResult[],
  memory: Memory,
): Next {
  const failed = results.some(
    ({ action, failure, skipped }) => isEssential(action) && (failure !== undefined || skipped === true),
  );
  if (failed) return { kind: "again", inSeconds: retryAfter(situation, next) };
  if (next.kind === "done") return next;
  if (memory.action === "over" && situation.memory.action === "open") return { kind: "again", inSeconds: 1 };
  const soonest = [
    next.inSeconds,
    ...(memory.beat?.ok === false ? [paceOfRetry(situation, FAILED_BEAT_RETRY)] : []),
    // What the decision's pace could not know yet: after a long standstill something has just moved.
    ...(memory.progress.mark === situation.memory.progress.mark
      ? []
      : [pace({ ...situation, memory: { ...situation.memory, progress: memory.progress } }, phase)]),
  ];
  return { kind: "again", inSeconds: Math.min(...soonest) };
}

/** A completion that failed is tried again soon, and until it is known to be over (C20). */
const RETRY_SECONDS = 2;

function retryAfter(situation: Situation, next: Next): number {
  return next.kind === "done"
    ? paceOfRetry(situation, RETRY_SECONDS)
    : Math.min(next.inSeconds, paceOfRetry(situation, 1));
}

function rememberSeen(memory: Memory, situation: Situation, decision: Decision): Memory {
  const { observation, node, now } = situation;
  const names = namesOf(observation, situation);
  const others = valueOf(observation.others);
  const lookedUp = situation.ownership === "absent" && memory.node === undefined;
  const handedOver = ownOrder(situation)?.handedOver;
  const rootDevice = valueOf(observation.instance)?.rootDevice;
  const dnsName = valueOf(observation.instance)?.privateDnsName ?? "";
  return {
    ...memory,
    ...nodeMemory(memory, observation),
    looks: memory.looks + 1,
    lookups: memory.lookups + (lookedUp ? 1 : 0),
    nodesListed:
      memory.nodesListed ||
      (observation.node.kind === "read" && (observation.calls["kubernetes.listNodes"] ?? 0) > 0),
    machineDown: observation.instance.kind === "read" ? isMachineDown(situation) : memory.machineDown,
    machineSeen: memory.machineSeen || !!valueOf(observation.instance),
    claims: observation.claims,
    volumes: observation.volumes,
    attachments: names,
    handles: handlesOf(memory, situation),
    ec2Reads: memory.ec2Reads + ec2ReadsOf(observation),
    ec2NotBefore: ec2NotBefore(memory, observation),
    blindLooks: decision.phase === "blind" ? memory.blindLooks + 1 : 0,
    emptied: memory.emptied || (node !== undefined && isEmptied(situation)),
    ...leaseMemory(memory, situation),
    lists: listsAfter(memory, situation),
    agreed: decision.agrees ?? "",
    ...(node === undefined ? {} : { verifiedBoot: node.bootId }),
    ...(rootDevice === undefined ? {} : { rootDevice }),
    ...(dnsName === "" ? {} : { dnsName }),
    ...(observation.ec2Volumes.kind === "read" ? { ec2VolumesAt: now } : {}),
    ...(others === undefined ? {} : { others: { ...others, at: now } }),
    ...(handedOver === undefined ? {} : { handedOver }),
    ...confirmed(memory, situation),
    ...(memory.stage?.phase === decision.phase ? {} : { stage: { phase: decision.phase, at: now } }),
  };
}

function listsAfter({ lists, attachments }: Memory, { observation, now }: Situation): Memory["lists"] {
  const { rows } = observation;
  switch (rows.kind) {
    case "unread":
      return lists;
    case "failed":
      return { ...lists, failedAt: now };
    case "read": {
      const foundNew = rows.value.some((row) => !attachments.includes(row.name));
      return { count: lists.count + 1, at: now, foundNew };
    }
    default:
      return rows satisfies never;
  }
}

function nodeMemory(memory: Memory, observation: Observation): Pick<Memory, "node"> | Record<string, never> {
  const node = valueOf(observation.node);
  if (node) return { node: { name: node.name, uid: node.uid } };
  const named = (valueOf(observation.rows) ?? [])[0]?.nodeName;
  return memory.node === undefined && named !== undefined ? { node: { name: named, uid: "" } } : {};
}

/** Names still worth a GET: known, found in the list, or there now; those read and not there are dropped. */
function namesOf(observation: Observation, { memory }: Situation): readonly string[] {
  const present = valueOf(observation.attachments);
  const listed = (valueOf(observation.rows) ?? []).map((row) => row.name);
  const kept = present === undefined ? memory.attachments : present.map((attachment) => attachment.name);
  return [...new Set([...kept, ...listed])];
}

function handlesOf(memory: Memory, { verdicts }: Situation): readonly string[] {
  const managed = verdicts.flatMap((volume) =>
    volume.verdict === "foreign" || volume.verdict === "local" ? [] : (volume.handle ?? []),
  );
  return [...new Set([...memory.handles, ...managed])];
}

function ec2ReadsOf(observation: Observation): number {
  return Object.entries(observation.calls)
    .filter(([method]) => method.startsWith("ec2."))
    .reduce((sum, [, count]) => sum + count, 0);
}

/** EC2's volumes are not asked again at once where Kubernetes still shows them: twice the interval each time, 30 s at most. */
function ec2NotBefore(memory: Memory, observation: Observation): number {
  // A machine that is down, or that EC2 does not show, is asked for at every look: that must not put its volumes off for ever.
  const isInstanceOnly = observation.ec2Volumes.kind === "unread";
  const isUnpaced = isInstanceOnly && (memory.machineDown || !memory.machineSeen);
  if (isUnpaced || ec2ReadsOf(observation) === 0) return memory.ec2NotBefore;
  const spent = memory.ec2Reads + ec2ReadsOf(observation);
  const failed = observation.ec2Volumes.kind === "failed";
  const free = failed ? 0 : FREE_EC2_READS;
  return observation.at + Math.min(30, 2 ** Math.max(0, spent - free)) * SECOND;
}

const FREE_EC2_READS = 5;

function isEmptied(situation: Situation): boolean {
  return (
    situation.observation.pods.kind === "read" &&
    situation.pods.evictable.length === 0 &&
    situation.memory.cordonedAt !== undefined
  );
}

function leaseMemory(memory: Memory, situation: Situation): Partial<Memory> {
  const { lease } = situation.observation;
  if (lease.kind !== "read") return {};
  const renewTime = lease.value?.renewTime ?? "";
  if (memory.lease?.renewTime === renewTime) return {};
  const renewed = memory.lease !== undefined && isDown(situation);
  return {
    lease: { renewTime, at: situation.observation.leaseAt ?? situation.now },
    renewalsWhileDown: memory.renewalsWhileDown + (renewed ? 1 : 0),
  };
}

/**
 * When the cordon is confirmed: by the patch's answer (rememberResult), by a Node that carries it already, or by being sure that
 * there is no Node to cordon. The five seconds of D10 and D12 count from there.
 */
function confirmed(memory: Memory, situation: Situation): Pick<Memory, "cordonedAt"> | Record<string, never> {
  if (memory.cordonedAt !== undefined) return {};
  const { ownership, node, now, task } = situation;
  const isByHand = task.kind === "manual";
  const noNode =
    ownership === "absent" &&
    (isByHand || memory.node !== undefined || (memory.lookups >= 1 && memory.nodesListed));
  const cordoned = node?.unschedulable === true && (isByHand || ownOrder(situation) !== undefined);
  return noNode || cordoned ? { cordonedAt: now } : {};
}

/**
 * The mark changes when anything moves: a pod goes or starts to go, an attachment goes or its detach is asked for, EC2 lets go of what
 * it alone holds, a phase begins.
 */
function withProgress(memory: Memory, situation: Situation, decision: Decision): Memory {
  // Not being able to see is no movement.
  if (decision.phase === "blind") return memory;
  const { observation, pods, blocking } = situation;
  const evictable = pods.evictable.map((pod) => `${pod.uid.slice(0, 8)}${pod.deleting ? "-" : ""}`);
  const names = new Set(blocking.flatMap((volume) => volume.attachment ?? []));
  const attachments = (valueOf(observation.attachments) ?? [])
    .filter((attachment) => names.has(attachment.name))
    .map((attachment) => `${attachment.name.slice(0, 12)}${attachment.deleting ? "-" : ""}`);
  const orphans =
    observation.ec2Volumes.kind === "read"
      ? blocking.flatMap((volume) => (volume.attachment === undefined ? (volume.handle ?? []) : [])).sort()
      : (memory.orphans ?? []);
  const phase = decision.phase === "confirming" ? "detaching" : decision.phase;
  const mark = [phase, ...evictable.sort(), ...attachments.sort(), ...orphans].join();
  const moved = mark !== memory.progress.mark;
  return { ...memory, orphans, progress: moved ? { mark, at: situation.now } : memory.progress };
}
