/**
 * What a look has to read, and what it need not: Kubernetes for one Node, its pods and the attachments it can name, the cluster's list
 * twice, EC2 and Auto Scaling only when the phase needs them (I11, I12). Predicates over what is known so far.
 */
import { isKubeletSilent } from "./deadline.ts";
import { type Observation, valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";
import { type Situation, hasSettled, isMachineDown, isOfInstance, understand } from "./situation.ts";
import type { Task } from "./task.ts";
import { MINUTE, SECOND } from "./time.ts";
import { managedInUse } from "./volumes.ts";

/**
 * At the start, in D14 every time, once the action is over, and while EC2 says that the machine is down; a failed read is tried
 * again. A Node that fell silent or vanished asks too, not more often than EC2 is asked otherwise.
 */
export function needsInstance(observation: Observation): boolean {
  const { task, memory, at } = observation;
  if (!mayAskEc2(task)) return false;
  if (task.kind === "gone" || memory.action === "over" || memory.machineDown) return true;
  if (!memory.machineSeen) return true;
  return at >= memory.ec2NotBefore && isNodeSilent(observation);
}

/** D19: a drain by hand goes on without AWS credentials. */
export function mayAskEc2(task: Task): boolean {
  return task.kind !== "manual" || task.sources === "both";
}

/** The Node's name where it need not be looked for: from an earlier look, or as the operator named it. */
export function knownNodeName({ memory, task }: Observation): string | undefined {
  return memory.node?.name ?? (task.kind === "manual" ? task.node.name : undefined);
}

function isNodeSilent({ node, memory }: Observation): boolean {
  if (node.kind !== "read") return false;
  return node.value === null ? memory.node !== undefined : node.value.ready.status === "Unknown";
}

/** When our action is over, to learn why; in D14 to learn whether a stopped machine is hibernated. */
export function needsMember(observation: Observation): boolean {
  const { task, memory } = observation;
  const state = valueOf(observation.instance)?.state;
  return task.kind === "gone" ? state === "stopped" || state === "stopping" : memory.action === "over";
}

/** A boot of the Node that was not verified yet (D5), and always in D14. */
export function needsCsiNode(observation: Observation): boolean {
  const node = valueOf(observation.node);
  if (!node || observation.task.kind === "gone") return !!node;
  // Another machine's Node is told by its provider id alone, one that came after the operator's by its uid.
  const isOurs =
    observation.task.kind === "manual"
      ? node.uid === observation.task.node.uid
      : node.providerId !== undefined && isOfInstance(node.providerId, observation.task.instance);
  return isOurs && node.bootId !== observation.memory.verifiedBoot;
}

/**
 * The one list of Nodes: where the GET by EC2's name found none and the machine has had its time to join, or where EC2 has no name
 * to try.
 */
export function needsNodeList(observation: Observation, policy: Policy, hasName: boolean): boolean {
  const { memory, task } = observation;
  if (memory.nodesListed || memory.node !== undefined || task.kind === "gone") return false;
  return !hasName || (memory.lookups >= 1 && hasHadTimeToJoin(observation, policy));
}

/** D4: joinGrace after LaunchTime; unknown to EC2 counts as long ago. */
export function hasHadTimeToJoin(observation: Observation, policy: Policy): boolean {
  const launched = valueOf(observation.instance)?.launchTime ?? observation.task.launchTime;
  return launched === undefined || observation.at - launched >= policy.joinGrace * SECOND;
}

/**
 * The list of all attachments: once the cordon stands (for names that cannot be computed), once more to confirm, and again only if
 * that found something new, at most once a minute. The gone work begins with it: it names the Node, or ends the work.
 */
export function needsAttachmentList(observation: Observation): boolean {
  const { memory, task, at } = observation;
  const { count, foundNew, failedAt } = memory.lists;
  if (count === 0 && task.kind === "gone") return true;
  // The whole cluster's list, asked for again at every look, would be the last thing that a struggling API server needs.
  if (failedAt !== undefined && at - failedAt < LIST_RETRY) return false;
  const due = count < 2 || at - memory.lists.at >= MINUTE;
  if (count === 0) return memory.cordonedAt !== undefined || memory.agreed !== "";
  return memory.agreed !== "" && (count < 2 || foundNew) && due;
}

const LIST_RETRY = 10 * SECOND;

/** How long nothing may move before EC2 is asked, and asked again, whether it knows why. An ordinary detach takes less. */
const STUCK_AFTER = 20 * SECOND;
/** After the out-of-service taint had this long, EC2 is asked what is left (D14). */
const TAINT_SETTLES = 60 * SECOND;

/** EC2's attachments: at the start, at the hand-over, when Kubernetes says nothing blocks, and where nothing moves (I12). */
export function needsEc2Volumes(observation: Observation, policy: Policy): boolean {
  const { memory, at, task } = observation;
  if (memory.action === "over" || !mayAskEc2(task)) return false;
  // The look that has to agree reads EC2 itself, however recently the look before it did.
  if (memory.agreed !== "") return true;
  if (at < memory.ec2NotBefore) return false;
  if (task.kind === "gone") return memory.taintedAt !== undefined && at - memory.taintedAt >= TAINT_SETTLES;
  if (memory.looks === 0) return true;
  const situation = understand(observation, policy);
  if (situation.blindness !== undefined) return memory.emptied;
  if (situation.ownership === "adopted") return true;
  if (situation.ownership === "absent" && memory.node === undefined) {
    return memory.lookups >= 1 && hasHadTimeToJoin(observation, policy);
  }
  if (situation.pods.evictable.length > 0 && !isMachineDown(situation)) return false;
  const nothingBlocks = situation.blocking.length === 0 && hasSettled(situation);
  const lastNews = Math.max(memory.progress.at, memory.ec2VolumesAt ?? 0);
  return nothingBlocks || mayHandOver(situation) || at - lastNews >= STUCK_AFTER;
}

/** D10's condition as far as Kubernetes alone can tell. */
function mayHandOver(situation: Situation): boolean {
  const { task, memory, node, pods, policy } = situation;
  return (
    task.kind === "lifecycle" &&
    task.token !== undefined &&
    memory.handedOver === undefined &&
    node !== undefined &&
    pods.hookPod !== undefined &&
    hasSettled(situation) &&
    managedInUse(node.volumesInUse, policy).length === 0
  );
}

/** Handles that Kubernetes has attached here and EC2, read in this look, has not: moved or leaked. */
export function unexplainedHandles(observation: Observation, policy: Policy): readonly string[] {
  if (observation.ec2Volumes.kind !== "read") return [];
  return understand(observation, policy).verdicts.flatMap((volume) =>
    volume.verdict === "leaked" ? (volume.handle ?? []) : [],
  );
}

/** D13: whether the silence is this kubelet's or everybody's; at most once a minute while it is everybody's. */
export function needsOthers(observation: Observation, policy: Policy): boolean {
  const { memory, at, task } = observation;
  if (task.kind !== "lifecycle" || !isKubeletSilent(observation, policy)) return false;
  return memory.others === undefined || at - memory.others.at >= MINUTE;
}
