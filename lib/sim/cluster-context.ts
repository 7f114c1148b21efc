/** What every part of the simulated cluster works with, and how long things take there. */
import { MINUTE, SECOND } from "../drain/time.ts";
import type { ApiServer } from "./api-server.ts";
import type { Clock } from "./clock.ts";
import type { Gate } from "./cluster-work-queue.ts";
import type { Faults } from "./faults.ts";
import type { Random } from "./random.ts";
import type { MachineHost, Note } from "./seams.ts";

/** Least and most milliseconds. */
export type Span = readonly [number, number];

export interface ClusterTiming {
  /** From a change in the API to the round of the controller that watches it. */
  readonly watch: Span;
  /** From the scheduler's choice to the binding: what it chose by may be out of date by then. */
  readonly bind: Span;
  /** Share of the bindings that come late, and how late: up to a second after a cordon. */
  readonly lateBind: { readonly share: number; readonly span: Span };
  /** From the binding to the VolumeAttachment. */
  readonly attach: Span;
  /** From the last condition met (`volumesInUse`, …) to the VolumeAttachment's deletionTimestamp. */
  readonly detach: Span;
  /** The CSI controller asks EC2 this often while an attach or detach is under way. */
  readonly attacherPoll: number;
  /** The attacher gives up one call to the driver after this, and tries again. */
  readonly attacherTimeout: number;
  /** Lease of the attacher's leader: another pod of the CSI controller takes over only once it has run out. */
  readonly leaderLease: Span;
  readonly mount: Span;
  /** From the mounts to running and ready. */
  readonly podStart: Span;
  /** NodeUnpublish, after which the pod is gone. */
  readonly unpublish: Span;
  /** NodeUnstage, after which the volume is no longer mounted at all. */
  readonly unstage: Span;
  /** From a kubelet's start to Ready. */
  readonly nodeReady: Span;
  /** From power-on to the kubelet's start. */
  readonly boot: Span;
  /** The kubelet renews its Lease and writes its Node's status this often; volumesInUse changes only then. */
  readonly statusPeriod: number;
  /** From the cordon to kcm's unschedulable taint. */
  readonly taintByCondition: Span;
  /** A Lease silent for so long (one figure per cluster) makes Ready Unknown; looked at every `nodeMonitorPeriod`. */
  readonly nodeMonitorGrace: Span;
  readonly nodeMonitorPeriod: number;
  /** A volume unwanted for so long on a node that is not ready is detached although it may be mounted. */
  readonly forceDetachAfter: number;
  /** The attach/detach controller compares its memory with the VolumeAttachments this often. */
  readonly attachmentSync: number;
  readonly podCollection: { readonly period: number; readonly quarantine: number };
  /** The cloud controller looks at Nodes that are not ready this often; `undefined`: it never deletes any. */
  readonly cloudController: number | undefined;
}

export const USUAL_TIMING: ClusterTiming = {
  watch: [5, 30],
  bind: [5, 60],
  lateBind: { share: 0.15, span: [200, 950] },
  attach: [35, 105],
  detach: [40, 80],
  attacherPoll: SECOND,
  attacherTimeout: 15 * SECOND,
  leaderLease: [10 * SECOND, 20 * SECOND],
  mount: [100, 600],
  podStart: [500, 1_800],
  unpublish: [20, 120],
  unstage: [50, 300],
  nodeReady: [500, 1_500],
  boot: [15 * SECOND, 30 * SECOND],
  statusPeriod: 10 * SECOND,
  taintByCondition: [10, 200],
  nodeMonitorGrace: [40 * SECOND, 50 * SECOND],
  nodeMonitorPeriod: 5 * SECOND,
  forceDetachAfter: 6 * MINUTE,
  attachmentSync: MINUTE,
  podCollection: { period: 20 * SECOND, quarantine: 40 * SECOND },
  cloudController: 5 * SECOND,
};

export interface ClusterContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly api: ApiServer;
  readonly host: MachineHost;
  readonly note: Note;
  readonly timing: ClusterTiming;
  /** What the CSI controller's requests to EC2 meet: operations `csi.attachVolume` and `csi.detachVolume`. */
  readonly faults: Faults;
  /** Closed while kube-controller-manager or the API server is away. */
  readonly controllerManager: Gate;
}

export function draw(context: Pick<ClusterContext, "random">, span: Span): number {
  return context.random.between(span[0], span[1]);
}

/** Milliseconds until the next multiple of `period`, counted from `phase`. */
export function untilNext(now: number, period: number, phase: number): number {
  const past = (((now - phase) % period) + period) % period;
  return period - past;
}
