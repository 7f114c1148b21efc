/** What one hold carries from look to look: signs that stay true although a later look no longer shows them. */
import type { NodeSigns } from "./going-away.ts";
import { isShuttingDown } from "./going-away.ts";
import type { Reading } from "./observation.ts";
import { valueOf } from "./observation.ts";
import { readWork } from "./work-order.ts";

export interface HoldMemory {
  /** The Node said "node is shutting down": sticky, a kubelet that is called off notices only after all pods are dead. */
  readonly shuttingDown: boolean;
  /** `work` for this boot was there. */
  readonly worked: boolean;
  /** The pod had a deletionTimestamp, which never goes away again, or was gone. */
  readonly podDeleted: boolean;
  /** The node was going away and volumes kept this hold (H6 speaks of nothing else). */
  readonly held: boolean;
  /** The pod's deletionGracePeriodSeconds. */
  readonly podGrace?: number;
  /** Names of attachments that `work` last said to ignore. */
  readonly ignore: readonly string[];
}

/** The pod that the hook runs in. */
export interface OwnPod {
  /** It has a deletionTimestamp. */
  readonly deleting: boolean;
  /** `deletionGracePeriodSeconds`. */
  readonly graceSeconds?: number;
  /** Label `controller-revision-hash`. */
  readonly revision?: string;
}

export const NOTHING_HELD: HoldMemory = Object.freeze({
  shuttingDown: false,
  worked: false,
  podDeleted: false,
  held: false,
  ignore: Object.freeze([]),
});

/** The memory with what this look saw added. */
export function foldMemory(look: {
  readonly memory: HoldMemory;
  readonly pod: Reading<OwnPod | null>;
  readonly node: Reading<NodeSigns | null>;
}): HoldMemory {
  const { memory } = look;
  const node = valueOf(look.node);
  const pod = valueOf(look.pod);
  const work = node ? readWork(node) : undefined;
  const podGrace = pod?.graceSeconds ?? memory.podGrace;
  return {
    shuttingDown: memory.shuttingDown || (!!node && isShuttingDown(node)),
    worked: memory.worked || work?.kind === "open",
    podDeleted: memory.podDeleted || pod === null || pod?.deleting === true,
    held: memory.held,
    ...(podGrace === undefined ? {} : { podGrace }),
    ignore: node ? (work?.kind === "open" ? work.work.ignore : []) : memory.ignore,
  };
}
