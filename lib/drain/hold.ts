/**
 * The hook's decision (H1 to H6, H8): whether the CSI node pod's containers may be stopped now. Pure, looked at again and again by
 * the hook's process, which does the reading, the waiting and the reporting.
 */
import type { AttachmentView, NodeView } from "./cluster.ts";
import type { NodeSigns } from "./going-away.ts";
import { isGoingAway } from "./going-away.ts";
import type { HoldMemory, OwnPod } from "./hold-memory.ts";
import { foldMemory } from "./hold-memory.ts";
import type { Reading } from "./observation.ts";
import { valueOf } from "./observation.ts";
import type { Policy } from "./policy.ts";
import type { Instant } from "./time.ts";
import { SECOND } from "./time.ts";
import { managedInUse } from "./volumes.ts";

/** A VolumeAttachment of this node. */
export interface HeldAttachment extends Pick<AttachmentView, "name" | "attacher"> {
  /** Its handle is node-local: nothing is ever detached for it. */
  readonly local: boolean;
}

export interface HoldObservation {
  readonly at: Instant;
  /** When the first container's hook of this hold arrived. */
  readonly startedAt: Instant;
  readonly policy: Policy;
  /** Keys of taints that tell that a node is going away (H2). */
  readonly drainTaints: readonly string[];
  /** Containers whose hook has arrived, and containers that have one. */
  readonly hooks: { readonly arrived: number; readonly expected: number };
  /** The pod's terminationGracePeriodSeconds as installed; used where the pod cannot be read. */
  readonly configuredGrace: number;
  /** The pod this hook runs in; `null` is gone, which is as good as deleted. */
  readonly pod: Reading<OwnPod | null>;
  /** Hash of the DaemonSet's newest ControllerRevision; not `read` without the right to list them (H3). */
  readonly newestRevision: Reading<string>;
  readonly node: Reading<(NodeSigns & Pick<NodeView, "volumesInUse">) | null>;
  /** Attachments with this node's name, of any driver. */
  readonly attachments: Reading<readonly HeldAttachment[]>;
  /** A list of all attachments was read to its end in this hold, so that `attachments` lacks none. */
  readonly listed: boolean;
  readonly memory: HoldMemory;
}

export type HoldRule = "H1" | "H3" | "H4" | "H5" | "H6" | "H7" | "H8";

export type HoldVerdict =
  | {
      readonly kind: "release";
      readonly rule: HoldRule;
      readonly reason: string;
      /** H5 was met: a complete list shows no attachment that counts. Only then may the hook complete (H9). */
      readonly detached: boolean;
      /** Attachments that count and are still there, as far as they could be read. */
      readonly left: readonly string[];
    }
  | {
      readonly kind: "hold";
      readonly rule: HoldRule;
      readonly reason: string;
      readonly againSeconds: number;
    };

/** H4: all containers' hooks of a pod arrive within about 25 ms of each other, the Node's shutdown within 40. */
const SETTLE = SECOND;
const SETTLE_AGAIN_SECONDS = 0.1;
/** Attachments are watched; this often the Node is read for a drain that is called off (H6). */
const CALLED_OFF_AGAIN_SECONDS = 2;
/** In a shutdown every second counts, and so it does when a read has failed. */
const SOON_SECONDS = 1;
/** H8: what is left to answer and report before the kubelet kills. */
const LAST_SECONDS = 3;

/** H1 to H6, then H8: past the own deadline nothing holds. */
export function hold(observation: HoldObservation): HoldVerdict {
  const memory = foldMemory(observation);
  const verdict = memory.shuttingDown
    ? waitForUnmounts(observation, memory)
    : (settle(observation, memory) ?? findStay(observation, memory) ?? waitForDetach(observation, memory));
  if (verdict.kind === "release") return verdict;
  const deadline = deadlineOf(observation, memory);
  if (observation.at >= deadline) {
    return release(observation, memory, "H8", `own deadline, while holding because ${verdict.reason}`);
  }
  return { ...verdict, againSeconds: Math.min(verdict.againSeconds, (deadline - observation.at) / SECOND) };
}

/** What the next look of the same hold has to know: this look's observation and what was decided of it. */
export function rememberHold(observation: HoldObservation, verdict: HoldVerdict): HoldMemory {
  const memory = foldMemory(observation);
  return { ...memory, held: memory.held || (verdict.kind === "hold" && verdict.rule === "H5") };
}

/**
 * H8: when this hold ends whatever is left. Grace and budget are seconds; `podGrace` is the deletionGracePeriodSeconds where it could
 * be read. In a kubelet shutdown the critical pods' budget ends everything, the usual 2 s after SIGTERM included.
 */
export function holdDeadline(of: {
  readonly startedAt: Instant;
  readonly podGrace?: number | undefined;
  readonly configuredGrace: number;
  readonly criticalBudget: number;
  readonly shuttingDown: boolean;
}): Instant {
  const grace = of.podGrace ?? of.configuredGrace;
  const allowed = of.shuttingDown ? Math.min(grace, of.criticalBudget) : grace;
  return of.startedAt + Math.max(0, allowed - LAST_SECONDS) * SECOND;
}

function deadlineOf(observation: HoldObservation, memory: HoldMemory): Instant {
  return holdDeadline({
    startedAt: observation.startedAt,
    podGrace: memory.podGrace,
    configuredGrace: observation.configuredGrace,
    criticalBudget: observation.policy.criticalBudget,
    shuttingDown: memory.shuttingDown,
  });
}

/**
 * H4. Without a deletionTimestamp the kubelet itself is stopping something: a node that shuts down says so within this second, and a
 * hook that stays alone is one container's restart.
 */
function settle(observation: HoldObservation, memory: HoldMemory): HoldVerdict | undefined {
  if (memory.podDeleted) return undefined;
  if (observation.at - observation.startedAt < SETTLE) {
    return keep(
      "H4",
      "the pod is not known to be deleted: looking what the kubelet does",
      SETTLE_AGAIN_SECONDS,
    );
  }
  const { arrived, expected } = observation.hooks;
  if (arrived >= expected) return undefined;
  return release(
    observation,
    memory,
    "H4",
    `a container is restarted: ${arrived} of ${expected} hooks were asked`,
  );
}

/** H1, H3, H6: why the node stays; undefined where it is going away or nothing can be said. */
function findStay(observation: HoldObservation, memory: HoldMemory): HoldVerdict | undefined {
  const node = valueOf(observation.node);
  if (!node) return undefined;
  const sign = isGoingAway(node, observation.drainTaints);
  if (sign === undefined) {
    return memory.held
      ? release(observation, memory, "H6", "called off: the node is not going away any more")
      : release(observation, memory, "H1", "the node is not going away");
  }
  // Surer signs than a cordon are somebody else's, and outlive our work.
  if (sign.kind !== "cordon") return undefined;
  if (memory.worked) return release(observation, memory, "H6", "called off: `work` was withdrawn");
  if (!isOutdated(observation)) return undefined;
  return release(
    observation,
    memory,
    "H3",
    "a rollout on a cordoned node: the pod's revision is not the newest",
  );
}

function isOutdated({ pod, newestRevision }: HoldObservation): boolean {
  const own = valueOf(pod)?.revision;
  const newest = valueOf(newestRevision);
  return own !== undefined && newest !== undefined && own !== newest;
}

/** H5 on a node that goes on running until its volumes are gone. */
function waitForDetach(observation: HoldObservation, memory: HoldMemory): HoldVerdict {
  const left = attachmentsLeft(observation, memory);
  if (left === undefined) return keep("H7", "the node's attachments cannot be read", SOON_SECONDS);
  if (isDetached(observation, memory)) {
    return release(observation, memory, "H5", "no attachment of the node is left");
  }
  if (observation.node.kind !== "read") {
    return keep("H7", `the Node cannot be read, and of its volumes ${nameSome(left)}`, SOON_SECONDS);
  }
  return keep("H5", nameSome(left), CALLED_OFF_AGAIN_SECONDS);
}

/**
 * H5 in a kubelet shutdown. First phase: while `volumesInUse` lists a managed volume only this node can unmount it. Second: it lists
 * none, so the control plane detaches without this node.
 */
function waitForUnmounts(observation: HoldObservation, memory: HoldMemory): HoldVerdict {
  const { node, policy } = observation;
  if (node.kind !== "read") {
    return keep("H7", "the node shuts down and cannot be read", SOON_SECONDS);
  }
  // Nothing tells any more what is mounted.
  if (node.value === null) return waitForDetach(observation, memory);
  const mounted = managedInUse(node.value.volumesInUse, policy);
  if (mounted.length > 0) {
    return keep("H5", `the node shuts down and volumesInUse lists ${someOf(mounted)}`, SOON_SECONDS);
  }
  const left = attachmentsLeft(observation, memory);
  const rest =
    left === undefined || !isDetached(observation, memory)
      ? `; to the control plane is left: ${left === undefined ? "attachments that cannot be read" : nameSome(left)}`
      : "";
  return release(observation, memory, "H5", `the node shuts down and no volume is in use any more${rest}`);
}

/** Names of the attachments that count: of managed drivers, not node-local, not pinned by what runs here until the end. */
function attachmentsLeft(observation: HoldObservation, memory: HoldMemory): readonly string[] | undefined {
  return valueOf(observation.attachments)
    ?.filter(({ attacher, local }) => observation.policy.drivers.includes(attacher) && !local)
    .map(({ name }) => name)
    .filter((name) => !memory.ignore.includes(name));
}

function isDetached(observation: HoldObservation, memory: HoldMemory): boolean {
  return observation.listed && attachmentsLeft(observation, memory)?.length === 0;
}

function nameSome(left: readonly string[]): string {
  return left.length === 0 ? "none is known, but the list is not complete" : `attached: ${someOf(left)}`;
}

function someOf(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

function keep(rule: HoldRule, reason: string, againSeconds: number): HoldVerdict {
  return { kind: "hold", rule, reason, againSeconds };
}

function release(
  observation: HoldObservation,
  memory: HoldMemory,
  rule: HoldRule,
  reason: string,
): HoldVerdict {
  return {
    kind: "release",
    rule,
    reason,
    detached: rule === "H5" && isDetached(observation, memory),
    left: attachmentsLeft(observation, memory) ?? [],
  };
}
