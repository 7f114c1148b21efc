/** D13: when a piece of work ends whatever is left, and D16, D14, D19: the same for spot, gone and by hand. */
import type { Observation } from "./observation.ts";
import { valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";
import type { Task } from "./task.ts";
import { type Instant, HOUR, MINUTE, SECOND } from "./time.ts";
import { readWork } from "./work-order.ts";
import { isForAction, isForMachine } from "./task.ts";

/** EC2 Auto Scaling lets an instance wait at most this long, and at most 100 heartbeat timeouts. */
const LONGEST_WAIT = 48 * HOUR;
const MOST_HEARTBEATS = 100;
/** D14: the gone work ends after this at most. */
export const GONE_LIMIT = 15 * MINUTE;

/** When work on this task ends at the latest, seen without a Node. */
export function ownDeadline(task: Task, policy: Policy): Instant {
  const margin = policy.margin * SECOND;
  switch (task.kind) {
    case "lifecycle":
      return (
        task.at +
        Math.min(
          policy.maxDuration * SECOND,
          MOST_HEARTBEATS * policy.heartbeatTimeout * SECOND,
          LONGEST_WAIT,
        ) -
        margin
      );
    case "spot":
    case "manual":
      return task.until;
    case "gone":
      return task.at + GONE_LIMIT;
    default:
      return task satisfies never;
  }
}

/**
 * The task's own deadline, or an earlier one that `work` on the Node already promises: work that the sweep takes up again does not
 * start over. Only lifecycle work inherits, and only from an order for the same machine, boot and action.
 */
export function deadlineOf(observation: Observation, policy: Policy): Instant {
  const { task } = observation;
  const own = ownDeadline(task, policy);
  if (task.kind !== "lifecycle") return own;
  const node = valueOf(observation.node);
  const reading = node ? readWork(node) : undefined;
  if (reading?.kind !== "open" || reading.work.hook === undefined) return own;
  const { id } = reading.work;
  return isForMachine(id, task.instance, task.launchTime) && isForAction(id, task)
    ? Math.min(own, reading.work.deadline)
    : own;
}

/**
 * A kubelet silent for longer than `kubeletGrace` can unmount nothing. More than a third of the other Nodes silent too is the
 * control plane's trouble, not this machine's.
 */
export function isKubeletLost(observation: Observation, policy: Policy): boolean {
  return isKubeletSilent(observation, policy) && !isControlPlaneTrouble(observation);
}

export function isKubeletSilent(observation: Observation, policy: Policy): boolean {
  const node = valueOf(observation.node);
  return (
    !!node &&
    node.ready.status === "Unknown" &&
    observation.at - node.ready.since > policy.kubeletGrace * SECOND
  );
}

/** Unread counts as trouble: the work does not end on a guess. */
function isControlPlaneTrouble(observation: Observation): boolean {
  const others = valueOf(observation.others) ?? observation.memory.others;
  return others === undefined || others.unknown * 3 > others.total;
}

/** Shares of the time from the task's start to its deadline that are announced beforehand. */
const ANNOUNCED = [0.9, 0.5];

/** The largest announced share that has passed, as a percentage; undefined before the first. */
export function announcedShare(task: Task, deadline: Instant, now: Instant): number | undefined {
  const length = deadline - task.at;
  const share = ANNOUNCED.find((candidate) => now - task.at >= candidate * length);
  return share === undefined ? undefined : share * 100;
}
