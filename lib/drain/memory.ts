/**
 * What a piece of work carries from look to look: small JSON, all of it re-creatable. Losing it (a crash before a checkpoint) costs
 * a repeated look, never a wrong act.
 */
import type { Phase } from "./decision.ts";
import type { ResolvedVolume } from "./observation.ts";
import type { EventReason } from "./names.ts";
import type { Instant } from "./time.ts";

/** How the last eviction request for a uid ended. */
export interface EvictionRecord {
  readonly outcome: "accepted" | "budget" | "failed" | "gone" | "left";
  readonly at: Instant;
  /** `namespace/name`, for messages. */
  readonly pod: string;
  readonly budget?: string;
}

export interface Memory {
  readonly looks: number;
  /** The Node's name once known, and its uid while it exists. `uid` empty: known from attachments only. */
  readonly node?: { readonly name: string; readonly uid: string };
  /** EC2's private DNS name: under it the Node is looked for until it is found. EC2 forgets it once the instance terminates. */
  readonly dnsName?: string;
  /** Look-ups of a Node that found none, and whether the one list of Nodes was spent (I11): a list that failed was not. */
  readonly lookups: number;
  readonly nodesListed: boolean;
  /** The boot for which provider id, CSINode and EC2 agreed that the Node is this machine's. */
  readonly verifiedBoot?: string;
  readonly rootDevice?: string;
  /** EC2 showed this machine in this work (D14: NotFound alone proves nothing). */
  readonly machineSeen: boolean;
  /** When the cordon, or the Node's absence, was confirmed. */
  readonly cordonedAt?: Instant;
  /** By uid. */
  readonly evictions: Readonly<Record<string, EvictionRecord>>;
  /** `namespace/kind/name` of controllers whose pods were evicted: what they bring back here is not evicted again (D8). */
  readonly evictedControllers: readonly string[];
  readonly claims: Readonly<Record<string, ResolvedVolume>>;
  readonly volumes: Readonly<Record<string, ResolvedVolume>>;
  /** Names of VolumeAttachments of this node seen so far and not yet seen gone. */
  readonly attachments: readonly string[];
  /** Handles that were attached here and managed, seen in either source. */
  readonly handles: readonly string[];
  /** Lists of all attachments: how many, when the last, and whether it showed a name not known before. */
  readonly lists: {
    readonly count: number;
    readonly at: Instant;
    readonly foundNew: boolean;
    /** The last one that failed. */
    readonly failedAt?: Instant;
  };
  readonly beat?: { readonly at: Instant; readonly ok: boolean };
  /** EC2 reads outside D14 (I12), and not before when the next one may come. */
  readonly ec2Reads: number;
  readonly ec2NotBefore: Instant;
  /** When EC2's volumes were last read. */
  readonly ec2VolumesAt?: Instant;
  /** The rule whose whole condition the previous look found true (D12's "agree"); empty: none. */
  readonly agreed: string;
  /** uid of the CSI node pod that the work was handed to. */
  readonly handedOver?: string;
  readonly handedOverAt?: Instant;
  /** Our lifecycle action: open, ended by us, or found over. */
  readonly action: "open" | "completed" | "over";
  /**
   * What became of a completion that did not succeed: its answer was lost, so "over" is our own doing; or it was refused because the
   * action was over already.
   */
  readonly completion: "none" | "lost" | "refused";
  /** EC2, when last asked, said stopped or terminated: no kubelet is waited for (C26). */
  readonly machineDown: boolean;
  /** Other Nodes, when this one fell silent: how many, and how many of them silent too (D13). */
  readonly others?: { readonly total: number; readonly unknown: number; readonly at: Instant };
  /** Events written, by reason and where it matters a detail: one per change of state. */
  readonly reported: readonly string[];
  /** Consecutive looks that could not read Kubernetes, or were told to slow down when they asked it to evict. */
  readonly blindLooks: number;
  /** This work has seen the machine without evictable pods (D17). */
  readonly emptied: boolean;
  /** The Lease as first seen with this renewTime (D14). */
  readonly lease?: { readonly renewTime: string; readonly at: Instant };
  /** Renewals of the Lease seen while EC2 said the machine is down: its kubelet's last one may be among them. */
  readonly renewalsWhileDown: number;
  /** When our out-of-service taint went on. */
  readonly taintedAt?: Instant;
  /** Text that changes when anything moves, and when it last did: paces the looks and feeds the no-progress metric. */
  readonly progress: { readonly mark: string; readonly at: Instant };
  /** The phase that the last look decided on, and when it began. */
  readonly stage?: { readonly phase: Phase; readonly at: Instant };
  /** Handles that only EC2 still held when it was last asked: a look that does not ask EC2 must not seem to move them. */
  readonly orphans?: readonly string[];
}

export function initialMemory(at: Instant): Memory {
  return {
    looks: 0,
    lookups: 0,
    nodesListed: false,
    machineSeen: false,
    evictions: {},
    evictedControllers: [],
    claims: {},
    volumes: {},
    attachments: [],
    handles: [],
    lists: { count: 0, at: 0, foundNew: false },
    ec2Reads: 0,
    ec2NotBefore: 0,
    agreed: "",
    action: "open",
    completion: "none",
    machineDown: false,
    reported: [],
    blindLooks: 0,
    emptied: false,
    renewalsWhileDown: 0,
    progress: { mark: "", at },
  };
}

/** Whether this Event was written already. `detail` tells apart repeats that are changes of state (50 % and 90 %). */
export function hasReported(memory: Memory, reason: EventReason, detail = ""): boolean {
  return memory.reported.includes(reportKey(reason, detail));
}

export function reportKey(reason: EventReason, detail = ""): string {
  return detail === "" ? reason : `${reason}/${detail}`;
}
