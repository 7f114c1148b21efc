/** An observation, understood: whose the Node is, which pods and volumes keep the work open, how long there is. */
import type { NodeView } from "./cluster.ts";
import { deadlineOf } from "./deadline.ts";
import type { VolumeVerdict } from "./decision.ts";
import type { InstanceView } from "./machine.ts";
import type { Memory } from "./memory.ts";
import { type Failure, type Observation, isAbsent, valueOf } from "./observation.ts";
import { type NodePods, classifyPods } from "./pods.ts";
import type { Policy } from "./policy.ts";
import { type ManualTask, type Task, isForAction, isForMachine } from "./task.ts";
import { type Instant, SECOND } from "./time.ts";
import { judgeVolumes } from "./volumes.ts";
import { type Work, type WorkReading, readWork } from "./work-order.ts";

/**
 * Whose the Node of that name is.
 * - `ours`: provider id, CSINode and LaunchTime agree for this boot; in a drain by hand, the Node is the one that was named.
 * - `absent`: there is none, or its provider id is another machine's.
 * - `adopted`: the provider id says this machine, a kubelet of another one lives under the name.
 * - `unverified`: not everything could be read yet; nothing is changed.
 */
export type Ownership = "ours" | "absent" | "adopted" | "unverified";

export interface Situation {
  readonly observation: Observation;
  readonly policy: Policy;
  readonly task: Task;
  readonly memory: Memory;
  readonly now: Instant;
  readonly ownership: Ownership;
  /** Only where `ownership` is `ours`. */
  readonly node?: NodeView;
  readonly work: WorkReading;
  readonly pods: NodePods;
  readonly verdicts: readonly VolumeVerdict[];
  readonly blocking: readonly VolumeVerdict[];
  readonly deadline: Instant;
  /** Kubernetes could not be read, and why (D17). */
  readonly blindness?: Failure;
}

export function understand(observation: Observation, policy: Policy): Situation {
  const { task, memory, at } = observation;
  const ownership = ownershipOf(observation, policy);
  const node = ownership === "ours" ? (valueOf(observation.node) ?? undefined) : undefined;
  // Pods left behind by a Node that is gone are this machine's; those on a Node that is another machine's are not.
  const podsAreOurs = ownership === "ours" || isAbsent(observation.node) || task.kind === "gone";
  const pods = classifyPods(podsAreOurs ? (valueOf(observation.pods) ?? []) : [], memory);
  const verdicts = judgeVolumes(observation, pods.staying, policy);
  const blindness = blindnessOf(observation);
  return {
    observation,
    policy,
    task,
    memory,
    now: at,
    ownership,
    work: node === undefined ? { kind: "none" } : readWork(node),
    pods,
    verdicts,
    blocking: verdicts.filter((verdict) => verdict.blocks),
    deadline: deadlineOf(observation, policy),
    ...(node === undefined ? {} : { node }),
    ...(blindness === undefined ? {} : { blindness }),
  };
}

function ownershipOf(observation: Observation, policy: Policy): Ownership {
  if (observation.task.kind === "manual") return ownershipOfNamed(observation, observation.task, policy);
  if (isRestarted(observation)) return "unverified";
  if (isAbsent(observation.node)) return "absent";
  const node = valueOf(observation.node);
  if (!node || node.providerId === undefined) return "unverified";
  if (!isOfInstance(node.providerId, observation.task.instance)) return "absent";
  if (node.bootId === observation.memory.verifiedBoot) return "ours";
  return verifyBoot(observation, policy);
}

/** D19: whoever names a Node means that object, whatever its provider id says. */
function ownershipOfNamed(observation: Observation, task: ManualTask, policy: Policy): Ownership {
  if (isAbsent(observation.node)) return "absent";
  const node = valueOf(observation.node);
  if (!node) return "unverified";
  if (node.uid !== task.node.uid) return "absent";
  if (node.bootId === observation.memory.verifiedBoot) return "ours";
  if (observation.csiNode.kind !== "read") return "unverified";
  return isCsiNodeForeign(observation, policy) ? "adopted" : "ours";
}

/** `aws:///eu-west-1a/i-…`: only the id behind the last slash counts. */
export function isOfInstance(providerId: string, instance: string): boolean {
  return providerId.endsWith(`/${instance}`);
}

/**
 * A boot not seen before: CSINode must name this instance or nobody, EC2 must show this very machine, and a boot that came while
 * EC2 says the machine is down is another machine's.
 */
function verifyBoot(observation: Observation, policy: Policy): Ownership {
  if (observation.csiNode.kind !== "read" || observation.instance.kind !== "read") return "unverified";
  if (isCsiNodeForeign(observation, policy)) return "adopted";
  const instance = observation.instance.value;
  // Not shown by EC2: LaunchTime agrees with nothing. Just launched, another region, or long gone: the next look asks again.
  if (instance === null) return "unverified";
  if (isAnotherMachine(observation.task, instance)) return "absent";
  const rebooted = observation.memory.verifiedBoot !== undefined;
  return rebooted && !isUp(instance) ? "adopted" : "ours";
}

/** A managed driver registered the Node under another instance's id. */
function isCsiNodeForeign({ csiNode, task }: Observation, policy: Policy): boolean {
  return policy.drivers.some((driver) => {
    const nodeId = valueOf(csiNode)?.nodeIds[driver];
    return nodeId !== undefined && !nodeId.endsWith(task.instance);
  });
}

/**
 * An instance that waits in a hook and was stopped and started meanwhile: its action may be open still, and the Node holds whatever
 * came since. Nothing is changed and nothing completed but at the deadline, unless the next beat says that the action is over.
 */
function isRestarted({ task, instance }: Observation): boolean {
  return (
    task.kind === "lifecycle" &&
    instance.kind === "read" &&
    instance.value !== null &&
    isAnotherMachine(task, instance.value)
  );
}

/** The instance id came back: stop and start, warm pool. */
export function isAnotherMachine(task: Task, instance: InstanceView): boolean {
  return task.launchTime !== undefined && instance.launchTime !== task.launchTime;
}

export function isUp(instance: InstanceView | null | undefined): boolean {
  return instance?.state === "running" || instance?.state === "pending";
}

/** EC2, asked in this look, says that nothing runs on this very machine: its pods are not waited for (C26). */
export function isMachineDown({ observation, task }: Pick<Situation, "observation" | "task">): boolean {
  const instance = valueOf(observation.instance);
  if (!instance || isAnotherMachine(task, instance)) return false;
  return instance.state === "stopped" || instance.state === "terminated";
}

function blindnessOf(observation: Observation): Failure | undefined {
  const { node, pods, attachments, instance, task } = observation;
  // The gone work decides nothing without EC2's word.
  for (const reading of [node, pods, attachments, ...(task.kind === "gone" ? [instance] : [])]) {
    if (reading.kind === "failed") return reading.failure;
  }
  return undefined;
}

/** The scheduler may still bind a pod from its cache this long after the cordon (D10, D12), which has to stand in this look, too. */
const SETTLE_SECONDS = 5;

export function hasSettled(situation: Situation): boolean {
  const { memory, node, now } = situation;
  // Nothing is bound to a machine that is down and starts there; its Node is not even cordoned.
  if (isMachineDown(situation)) return true;
  if (memory.cordonedAt === undefined || node?.unschedulable === false) return false;
  return now - memory.cordonedAt >= SETTLE_SECONDS * SECOND;
}

/** `work` that some execution of ours wrote for this machine and boot. */
export function isWorkOurs(situation: Situation): boolean {
  const { work, task } = situation;
  return work.kind === "open" && isForMachine(work.work.id, task.instance, task.launchTime);
}

/** The order on the Node, where it is about this very work: this machine, this boot, and no other lifecycle action. */
export function ownOrder(situation: Situation): Work | undefined {
  const { work, task } = situation;
  return work.kind === "open" && isWorkOurs(situation) && isForAction(work.work.id, task)
    ? work.work
    : undefined;
}

/** Whether everything that D12 judges was read in this look, so that its absence means something. By hand Kubernetes may be all. */
export function hasSeenBothSources(situation: Situation): boolean {
  const { observation, task } = situation;
  const isEc2LeftOut = task.kind === "manual" && task.sources === "kubernetes";
  return (
    observation.node.kind === "read" &&
    observation.pods.kind === "read" &&
    observation.attachments.kind === "read" &&
    (observation.ec2Volumes.kind === "read" || isEc2LeftOut)
  );
}

/** What keeps the work open, in words: pods with what blocks them, then volumes. */
export function blockersOf(situation: Situation): readonly string[] {
  const pods = situation.pods.evictable.map((pod) => {
    const record = situation.memory.evictions[pod.uid];
    const name = `pod ${pod.namespace}/${pod.name}`;
    if (pod.deleting) return `${name} (terminating)`;
    if (record?.outcome === "budget") return `${name} (PodDisruptionBudget ${record.budget ?? "unnamed"})`;
    if (record?.outcome === "failed") return `${name} (eviction failed, asked again)`;
    if (record?.outcome === "left") return `${name} (its namespace is terminating)`;
    return name;
  });
  const volumes = situation.blocking.map(
    (volume) => `volume ${volume.handle ?? volume.attachment ?? "?"} (${volume.verdict}: ${volume.why})`,
  );
  return [...pods, ...volumes];
}
