/** When to look again. Soon while something moves, slower the longer nothing does, never past a beat or the deadline. */
import type { Phase } from "./decision.ts";
import type { Situation } from "./situation.ts";
import { SECOND } from "./time.ts";

/** Seconds between looks while things move. */
const QUICK: Readonly<Record<Phase, number>> = {
  locating: 5,
  cordoning: 1,
  evicting: 2,
  detaching: 1,
  confirming: 1,
  "proving-death": 5,
  "awaiting-ec2": 2,
  "forcing-off": 5,
  blind: 1,
  ending: 1,
};
const SLOWEST = 30;
/** Nothing moved for this many seconds adds one second to the interval: 30 s after five minutes. */
const QUIET_PER_SECOND = 10;
/**
 * I12: EC2 is asked in each look of the gone work, so its looks are this far apart at least, and twice as far where one fails. Only
 * where EC2's last word is all that lacks are they closer: the cloud controller deletes the Node within seconds of it, and nothing
 * can be freed at once after that (decision 0011).
 */
const DEATH_INTERVAL = 5;
/** I6 allows 1,000 looks: after the first quick ones the rest are spread over what is left of the time. */
const QUICK_LOOKS = 200;
const MOST_LOOKS = 950;

export function pace(situation: Situation, phase: Phase): number {
  return bounded(situation, Math.min(wantedBy(situation, phase), SLOWEST));
}

/** When an act that failed is tried again: after so many seconds, while I6's looks last. */
export function paceOfRetry(situation: Situation, seconds: number): number {
  return bounded(situation, seconds);
}

function wantedBy({ memory, now, task }: Situation, phase: Phase): number {
  const isGone = task.kind === "gone";
  const backOff = 2 ** Math.min(memory.blindLooks, 5);
  if (phase === "blind") return isGone ? 2 * DEATH_INTERVAL * backOff : backOff;
  if (phase === "proving-death" || phase === "forcing-off") return DEATH_INTERVAL;
  const quiet = (now - memory.progress.at) / SECOND;
  const wanted = Math.max(QUICK[phase], quiet / QUIET_PER_SECOND);
  if (isGone) return Math.max(wanted, DEATH_INTERVAL);
  return memory.blindLooks > 0 ? Math.max(wanted, backOff) : wanted;
}

function bounded(situation: Situation, interval: number): number {
  return Math.max(
    1,
    Math.floor(
      Math.min(Math.max(interval, spread(situation)), untilBeat(situation), untilDeadline(situation)),
    ),
  );
}

/** Seconds between the looks that are left, so that they last for the time that is left; 0 while there are plenty. */
function spread(situation: Situation): number {
  const { memory, now, deadline, policy } = situation;
  if (memory.looks < QUICK_LOOKS) return 0;
  const left = (now < deadline ? deadline : deadline + policy.margin * SECOND) - now;
  // Each beat cuts one interval in two.
  const beats = hasOpenAction(situation) ? left / beatInterval(situation) : 0;
  return left / SECOND / Math.max(1, MOST_LOOKS - memory.looks - beats);
}

function untilDeadline({ now, deadline }: Situation): number {
  return now >= deadline ? Number.POSITIVE_INFINITY : Math.ceil((deadline - now) / SECOND);
}

/** Seconds to the next heartbeat that is due; none for work without a lifecycle action. */
function untilBeat(situation: Situation): number {
  const { now, memory, policy } = situation;
  if (!hasOpenAction(situation)) return Number.POSITIVE_INFINITY;
  const longest = policy.heartbeatTimeout / LOOKS_PER_TIMEOUT;
  if (memory.beat?.ok === false) return Math.min(longest, Math.max(FAILED_BEAT_RETRY, spread(situation)));
  return Math.min(
    longest,
    memory.beat === undefined || needsBeat(situation)
      ? longest
      : (memory.beat.at + beatInterval(situation) - now) / SECOND,
  );
}

/** D6: looks are at most a quarter of the heartbeat timeout apart. */
const LOOKS_PER_TIMEOUT = 4;
export const FAILED_BEAT_RETRY = 5;

function beatInterval({ policy }: Situation): number {
  return (policy.heartbeatTimeout * SECOND) / 2;
}

export function hasOpenAction({ task, memory }: Situation): boolean {
  return task.kind === "lifecycle" && memory.action === "open";
}

/**
 * D6: at start, then at half the heartbeat timeout; a failed beat is retried at the next look. Looks come in whole seconds, so a beat
 * due before the next one can come is sent now.
 */
export function needsBeat(situation: Situation): boolean {
  if (!hasOpenAction(situation)) return false;
  const { beat } = situation.memory;
  return beat === undefined || !beat.ok || situation.now - beat.at >= beatInterval(situation) - SECOND;
}
