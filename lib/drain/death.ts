/** D14's proof of death: every condition by itself, so that what is missing can be named. */
import { valueOf } from "./observation.ts";
import { type Situation, isAnotherMachine, isOfInstance } from "./situation.ts";
import { SECOND } from "./time.ts";

/** A kubelet renews its Lease every 10 s: longer than that without a renewal, seen by our own clock. */
const LEASE_SILENCE = 12 * SECOND;

/** EC2 has let go of the machine: nothing runs there. Shutting-down and stopping are not that yet. */
export function isDown(situation: Situation): boolean {
  const state = valueOf(situation.observation.instance)?.state;
  return state === "terminated" || state === "stopped";
}

/** On its way to stopped or terminated, which it will be within a minute as a rule. */
export function isEnding(situation: Situation): boolean {
  const state = valueOf(situation.observation.instance)?.state;
  return state === "shutting-down" || state === "stopping";
}

/** EC2's reason for a spot instance that was stopped by its interruption, and for one that was hibernated alike. */
const SPOT_SHUTDOWN = "Server.SpotInstanceShutdown";

/**
 * Hibernated, or perhaps so: a hibernated guest resumes with its file systems mounted, so its volumes are never taken away. EC2 tells
 * a user's hibernation by its reason, a warm pool's by Auto Scaling's state, and a spot interruption's not at all.
 */
export function isHibernated({ observation }: Situation): boolean {
  const instance = valueOf(observation.instance);
  const reason = instance?.stateReason ?? "";
  const state = valueOf(observation.member)?.lifecycleState ?? "";
  const isUnclear = reason === SPOT_SHUTDOWN && instance?.state !== "terminated";
  return isUnclear || /hibernat/i.test(reason) || /hibernat/i.test(state);
}

/**
 * What still lacks to call the machine dead, in words; empty: proved. Everything counted was read in this look, EC2 before the Node.
 */
export function missingProofs(situation: Situation): readonly string[] {
  return [...missingOfEc2(situation), ...missingOfNode(situation), ...missingOfLease(situation)];
}

function missingOfEc2(situation: Situation): readonly string[] {
  const { observation, task, policy } = situation;
  const instance = valueOf(observation.instance);
  if (!policy.outOfService) return ["policy outOfService is off"];
  if (!instance) return ["EC2 does not show the instance"];
  if (!isDown(situation)) return [`EC2 says ${instance.state}`];
  if (task.launchTime === undefined) return ["the machine's LaunchTime is not known"];
  if (isAnotherMachine(task, instance)) return ["EC2 shows another LaunchTime"];
  if (isHibernated(situation)) return ["the machine is hibernated, or may be"];
  if (instance.state === "stopped" && observation.member.kind !== "read") {
    return ["whether the group hibernates the machine could not be read"];
  }
  return [];
}

function missingOfNode({ observation, policy, task }: Situation): readonly string[] {
  const node = valueOf(observation.node);
  if (!node) return ["there is no Node"];
  if (node.providerId === undefined || !isOfInstance(node.providerId, task.instance)) {
    return ["the Node's provider id is not this instance's"];
  }
  if (observation.csiNode.kind !== "read") return ["the CSINode could not be read"];
  if (isAdopted({ observation, policy, task })) return ["the CSINode names another instance"];
  return observation.pods.kind === "read" ? [] : ["the Node's pods could not be read"];
}

/** The CSINode of the name belongs to another machine: its kubelet adopted the Node. */
export function isAdopted({
  observation,
  policy,
  task,
}: Pick<Situation, "observation" | "policy" | "task">): boolean {
  const csiNode = valueOf(observation.csiNode);
  return policy.drivers.some((driver) => {
    const nodeId = csiNode?.nodeIds[driver];
    return nodeId !== undefined && !nodeId.endsWith(task.instance);
  });
}

function missingOfLease({ observation, memory, now }: Situation): readonly string[] {
  if (observation.lease.kind !== "read") return ["the Lease could not be read"];
  const renewTime = observation.lease.value?.renewTime ?? "";
  if (memory.lease === undefined) return ["the Lease was read once only"];
  if (memory.lease.renewTime !== renewTime) return ["a kubelet renews the Lease"];
  return now - memory.lease.at >= LEASE_SILENCE ? [] : ["the Lease is not silent for 12 s yet"];
}

/** Renewed again although EC2 has let go of the machine: somebody else's kubelet lives under the name. */
export function isLeaseAlive(situation: Situation): boolean {
  return isDown(situation) && situation.memory.renewalsWhileDown >= 2;
}
