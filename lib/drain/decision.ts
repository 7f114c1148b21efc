/** What a look decided. Plain JSON: printed by a dry run, carried out by `act`, logged with the observation it came from. */
import type { PatchOperation } from "./cluster.ts";
import type { EventReason, MetricName } from "./names.ts";
import type { Instant } from "./time.ts";

export interface PodTarget {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export type Action =
  /** D6. */
  | { readonly kind: "heartbeat" }
  /** D5, D15, D11's `ignore`: one JSON patch of the Node. */
  | {
      readonly kind: "patch-node";
      readonly purpose: NodePatchPurpose;
      readonly patch: readonly PatchOperation[];
    }
  /** D7: groups in order; the requests of one group go at once, the next group's after all of them. */
  | { readonly kind: "evict"; readonly groups: readonly (readonly Eviction[])[] }
  /** D13 with `force`: what PDBs still block, by uid, with its own grace. */
  | { readonly kind: "delete-pods"; readonly pods: readonly PodTarget[] }
  /** D10: the patch, and only after it the delete. */
  | { readonly kind: "hand-over"; readonly patch: readonly PatchOperation[]; readonly pod: PodTarget }
  /** D14: the patch (absent where the taint is on already), and only after it status and delete of each pod. */
  | {
      readonly kind: "force-off";
      readonly patch?: readonly PatchOperation[];
      readonly pods: readonly DoomedPod[];
      /** EC2's answer is too old for the patch after this. */
      readonly notAfter: Instant;
    }
  /** D12, D13, D4: the lifecycle action's result. */
  | { readonly kind: "complete"; readonly result: "CONTINUE" | "ABANDON" }
  | {
      readonly kind: "event";
      readonly reason: EventReason;
      readonly detail: string;
      readonly type: "Normal" | "Warning";
      readonly message: string;
    }
  | {
      readonly kind: "metric";
      readonly name: MetricName;
      readonly value: number;
      readonly dimensions?: Readonly<Record<string, string>>;
    };

export type NodePatchPurpose = "cordon" | "withdraw" | "ignore" | "untaint";

/** A pod of a dead machine. */
export interface DoomedPod extends PodTarget {
  /** Its phase is final already: it is deleted, and keeps that phase. */
  readonly finished: boolean;
}

export interface Eviction extends PodTarget {
  /** Shorter than the pod's own grace, where time is short (D16). */
  readonly graceSeconds?: number;
  /** `namespace/kind/name`, remembered so that what it brings back is told (D8). */
  readonly controller?: string;
}

/** Where a piece of work stands; a few words for logs, metrics and people. */
export type Phase =
  | "locating"
  | "cordoning"
  | "evicting"
  | "detaching"
  | "confirming"
  | "proving-death"
  | "awaiting-ec2"
  | "forcing-off"
  | "blind"
  | "ending";

/** How a piece of work ended. */
export type Outcome =
  | "completed"
  | "never-joined"
  | "deadline"
  | "called-off"
  | "completed-by-hook"
  | "completed-by-other"
  | "already-over"
  | "freed"
  | "instance-gone"
  | "gave-up"
  | "foreign";

export type Next =
  | { readonly kind: "again"; readonly inSeconds: number }
  | { readonly kind: "done"; readonly outcome: Outcome; readonly reason: string };

/** D11's answer for one volume. */
export type Verdict =
  | "attached"
  | "detaching"
  | "busy"
  | "leaked"
  | "moved"
  | "foreign"
  | "local"
  | "pinned"
  | "volumeless";

export interface VolumeVerdict {
  readonly verdict: Verdict;
  /** It keeps the work open. */
  readonly blocks: boolean;
  readonly attachment?: string;
  readonly volumeName?: string;
  readonly driver?: string;
  readonly handle?: string;
  /** One sentence: which source said what. */
  readonly why: string;
}

export interface Decision {
  readonly phase: Phase;
  /** Rules that made it, such as `D7`. */
  readonly rules: readonly string[];
  /** One sentence for whoever is paged. */
  readonly reason: string;
  readonly actions: readonly Action[];
  readonly next: Next;
  /** Set where this look found the rule's whole condition true and one more must agree (D12). */
  readonly agrees?: string;
  readonly verdicts: readonly VolumeVerdict[];
  /** Pods that keep the work open, each with what blocks it. */
  readonly waitingFor: readonly string[];
  readonly deadline: Instant;
}
