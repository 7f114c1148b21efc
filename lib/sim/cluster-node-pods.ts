/** The kubelet's pod workers: they start, stop and clear away the pods of one node. */
import { SECOND } from "../drain/time.ts";
import type { BootTimers } from "./cluster-boot-timers.ts";
import { type ClusterContext, draw } from "./cluster-context.ts";
import { AFTER_RELEASE, type CsiPodStopping, isDriverPod, refOf } from "./cluster-csi-pod.ts";
import { type LocalPod, groupOf, isActive, markShutdown } from "./cluster-local-pod.ts";
import type { PodGroup } from "./cluster-node-shutdown.ts";
import type { NodeVolumes } from "./cluster-node-volumes.ts";
import { type PodObject, isDeleting, isFinished, isMirror } from "./cluster-objects.ts";
import { PodReports } from "./cluster-pod-reports.ts";
import { volumesOf } from "./cluster-volumes.ts";
import { type Gate, WorkQueue } from "./cluster-work-queue.ts";

export type { CsiPodStopping } from "./cluster-csi-pod.ts";

export interface NodeOfPods {
  readonly name: string;
  readonly timers: BootTimers;
  /** Open while the kubelet reaches the API. */
  readonly gate: Gate;
  readonly volumes: NodeVolumes;
  readonly isShuttingDown: () => boolean;
  /** The EBS driver's registrar is up, or gone. */
  readonly onDriver: (isRegistered: boolean) => void;
  readonly onCsiPodStopping: ((stopping: CsiPodStopping) => void) | undefined;
  readonly onContainersEnded: (uid: string) => void;
  /** A pod's volumes are unpublished: nothing of it is left but perhaps its object. */
  readonly onPodDone: () => void;
}

export class NodePods {
  readonly #context: ClusterContext;
  readonly #node: NodeOfPods;
  /** Pod objects bound here, by uid; kept after the object's end while something of the pod is left here. */
  readonly #assigned = new Map<string, PodObject>();
  readonly #local = new Map<string, LocalPod>();
  readonly #queue: WorkQueue;
  readonly #reports: PodReports;

  constructor(context: ClusterContext, node: NodeOfPods) {
    this.#context = context;
    this.#node = node;
    const delay = (): number => draw(context, context.timing.watch);
    this.#queue = new WorkQueue(context.clock, node.gate, delay, (uid) => this.#sync(uid));
    this.#reports = new PodReports(context, node.gate);
  }

  /** Pods with running containers, by uid. */
  running(): readonly string[] {
    return [...this.#local].filter(([, local]) => isActive(local)).map(([uid]) => uid);
  }

  /** Pods of the group of which something is left here. */
  isDone(group: PodGroup): boolean {
    return ![...this.#local.values()].some(({ pod }) => groupOf(pod) === group);
  }

  /** An object bound here is new, changed or gone. */
  observe(pod: PodObject): void {
    this.#assigned.set(pod.metadata.uid, pod);
    this.#queue.add(pod.metadata.uid);
  }

  /** Something that pods wait for may have come: an attachment, the driver, a status report. */
  startWaiting(): void {
    for (const local of this.#local.values()) this.#tryStart(local);
  }

  stopGroup(group: PodGroup, graceMilliseconds: number): void {
    for (const local of this.#local.values()) {
      if (groupOf(local.pod) !== group) continue;
      const own = local.pod.spec.terminationGracePeriodSeconds * SECOND;
      this.#stop(local, Math.min(own, graceMilliseconds), "shutdown");
    }
  }

  /** Ready again after the control plane had given the node up. */
  reportRunning(): void {
    for (const { pod, stage } of this.#local.values()) {
      if (stage !== "running") continue;
      this.#reports.status(pod, (status) => {
        status.ready = status.phase === "Running";
      });
    }
  }

  /** The machine is off. */
  powerOff(): void {
    for (const [uid, local] of this.#local) {
      for (const listener of local.whenEnded.splice(0)) listener();
      if (isActive(local)) this.#node.onContainersEnded(uid);
    }
    this.#local.clear();
    this.#assigned.clear();
    this.#reports.drop();
  }

  #sync(uid: string): void {
    const pod = this.#assigned.get(uid);
    if (pod === undefined || isMirror(pod)) return;
    const isThere = this.#context.api.pods.has(pod);
    const local = this.#local.get(uid);
    if (local === undefined) return this.#take(pod, isThere);
    if (isThere && !isDeleting(pod)) return;
    const grace = pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds;
    // The kubelet gives a force-deleted pod's containers a moment all the same.
    this.#stop(local, Math.max(1, grace) * SECOND, "deleted");
  }

  #take(pod: PodObject, isThere: boolean): void {
    const { uid } = pod.metadata;
    if (!isThere) return void this.#assigned.delete(uid);
    // Left from an earlier boot; with grace 0 only a finalizer keeps the object.
    if (isDeleting(pod) && pod.metadata.deletionGracePeriodSeconds !== 0)
      return this.#reportEnd(pod, "Failed");
    if (isDeleting(pod) || isFinished(pod)) return;
    if (this.#node.isShuttingDown()) {
      return this.#reports.status(pod, (status) => {
        status.phase = "Failed";
        status.reason = "NodeShutdown";
      });
    }
    const volumes = volumesOf(this.#context.api, pod);
    if (volumes === undefined) return this.#queue.add(uid, SECOND);
    const local: LocalPod = { pod, stage: "waiting", why: "deleted", whenEnded: [] };
    this.#local.set(uid, local);
    this.#node.volumes.want(uid, volumes);
    this.#tryStart(local);
  }

  #tryStart(local: LocalPod): void {
    const { uid } = local.pod.metadata;
    if (local.stage !== "waiting" || !this.#node.volumes.canMount(uid)) return;
    local.stage = "starting";
    const { timers, volumes } = this.#node;
    const needsMount = local.pod.spec.volumes.length > 0;
    timers.after(needsMount ? draw(this.#context, this.#context.timing.mount) : 0, () => {
      if (local.stage !== "starting") return;
      if (!volumes.tryMount(uid)) local.stage = "waiting";
      else timers.after(draw(this.#context, this.#context.timing.podStart), () => this.#started(local));
    });
  }

  #started(local: LocalPod): void {
    if (local.stage !== "starting") return;
    local.stage = "running";
    this.#context.note("pod", local.pod.metadata.name, `running on ${this.#node.name}`);
    this.#reports.status(local.pod, (status) => {
      status.phase = "Running";
      status.ready = true;
      status.containersRunning = true;
    });
    if (isDriverPod(local.pod)) this.#node.onDriver(true);
  }

  /** A second request can only shorten what is left. */
  #stop(local: LocalPod, grace: number, why: LocalPod["why"]): void {
    const { clock } = this.#context;
    switch (local.stage) {
      case "ended":
        return;
      case "waiting":
      case "starting":
        local.why = why;
        return this.#ended(local, "Failed");
      case "running":
        local.why = why;
        local.stage = "stopping";
        return isDriverPod(local.pod) ? this.#stopDriver(local, grace) : this.#terminate(local, grace);
      case "stopping":
        if (clock.now() + grace < (local.endsAt ?? 0)) this.#endIn(local, grace, "Failed");
        return;
      default:
        return local.stage satisfies never;
    }
  }

  #terminate(local: LocalPod, grace: number): void {
    const { stopsAfter } = local.pod.spec;
    this.#context.note("pod", local.pod.metadata.name, `stops on ${this.#node.name}`);
    if (stopsAfter <= grace) this.#endIn(local, stopsAfter, "Succeeded");
    else this.#endIn(local, grace, "Failed");
  }

  /** Without a hook the registrar ends at once and takes the driver's registration with it. */
  #stopDriver(local: LocalPod, grace: number): void {
    const { onCsiPodStopping, onDriver, name } = this.#node;
    if (onCsiPodStopping === undefined) {
      onDriver(false);
      return this.#terminate(local, grace);
    }
    this.#endIn(local, grace, "Failed");
    onCsiPodStopping({
      node: name,
      ...refOf(local.pod),
      why: local.why,
      graceSeconds: grace / SECOND,
      release: () => {
        if (local.stage === "stopping") this.#endIn(local, draw(this.#context, AFTER_RELEASE), "Succeeded");
      },
      deregister: () => {
        if (local.stage === "stopping") onDriver(false);
      },
      onEnded: (listener) => void local.whenEnded.push(listener),
    });
  }

  #endIn(local: LocalPod, milliseconds: number, phase: "Succeeded" | "Failed"): void {
    local.cancelEnd?.();
    local.endsAt = this.#context.clock.now() + milliseconds;
    local.cancelEnd = this.#node.timers.after(milliseconds, () => this.#ended(local, phase));
  }

  #ended(local: LocalPod, phase: "Succeeded" | "Failed"): void {
    const { pod } = local;
    const { uid, name } = pod.metadata;
    local.cancelEnd?.();
    local.stage = "ended";
    this.#context.note("pod", name, `stopped on ${this.#node.name}`);
    for (const listener of local.whenEnded.splice(0)) listener();
    if (isDriverPod(pod)) this.#node.onDriver(false);
    this.#node.onContainersEnded(uid);
    this.#reports.status(pod, (status) => {
      status.phase = phase;
      status.ready = false;
      status.containersRunning = false;
      if (local.why === "shutdown") markShutdown(status);
    });
    this.#node.volumes.release(uid, () => {
      this.#local.delete(uid);
      this.#reportEnd(pod, phase);
      this.#node.onPodDone();
    });
  }

  /** The kubelet's last word: a pod that was asked to end and of which nothing is left goes from the API. */
  #reportEnd(pod: PodObject, phase: "Succeeded" | "Failed"): void {
    if (!this.#context.api.pods.has(pod)) {
      this.#assigned.delete(pod.metadata.uid);
      return;
    }
    this.#reports.status(pod, (status) => {
      status.phase = phase;
      status.containersRunning = false;
      status.ready = false;
    });
    this.#reports.end(pod);
  }
}
