/** The operator's choices. Durations are seconds. */
import { EBS_DRIVER, LIFECYCLE_HOOK } from "./names.ts";

/** Auto Scaling ends an instance's wait in a hook after this many seconds, whatever the heartbeats … */
export const LONGEST_WAIT_SECONDS = 48 * 3_600;
/** … and after this many heartbeat timeouts. */
export const MOST_HEARTBEATS = 100;

export interface Policy {
  /** Name of our own lifecycle hook; no other hook's action is ever completed (D2). */
  readonly hookName: string;
  /** HeartbeatTimeout of that hook; beats come at half of it (D6). 120 to 7200 s. */
  readonly heartbeatTimeout: number;
  /** Own deadline for one piece of work (D13). */
  readonly maxDuration: number;
  /** What the lifecycle action gets at the deadline. */
  readonly onDeadline: "CONTINUE" | "ABANDON";
  /** Delete what PDBs still block once `forceAfter` has passed. */
  readonly force: boolean;
  readonly forceAfter: number;
  /** Kept before every hard limit. */
  readonly margin: number;
  /** The hook's: the kubelet's shutdownGracePeriodCriticalPods (H8). */
  readonly criticalBudget: number;
  /** How long a silent kubelet may still come back before waiting for it is given up (D13). */
  readonly kubeletGrace: number;
  /** How long an instance without a Node may still register (D4). */
  readonly joinGrace: number;
  /** CSI drivers whose volumes count. */
  readonly drivers: readonly string[];
  /** The non-graceful path after proof of death (D14). */
  readonly outOfService: boolean;
}

export const DEFAULT_POLICY: Policy = Object.freeze({
  hookName: LIFECYCLE_HOOK,
  heartbeatTimeout: 300,
  maxDuration: 7_200,
  onDeadline: "CONTINUE",
  force: false,
  forceAfter: 1_800,
  margin: 60,
  criticalBudget: 30,
  kubeletGrace: 180,
  joinGrace: 90,
  drivers: Object.freeze([EBS_DRIVER]),
  outOfService: true,
});
