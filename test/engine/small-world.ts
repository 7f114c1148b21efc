/**
 * One node, one machine and one lifecycle action in memory, behind the engine's ports. Every request is noted, every change kept; an
 * evicted pod ends, its volumes are unmounted and detached, each some seconds later. `failing` makes a port method fail.
 */
import { type Operation, applyPatch } from "rfc6902";
import type {
  AttachmentRow,
  AttachmentView,
  CsiNodeView,
  LeaseView,
  NodeView,
  PatchOperation,
  PodView,
  Taint,
  VolumeView,
} from "../../lib/drain/cluster.ts";
import type {
  Ec2AttachmentView,
  Ec2VolumeView,
  GroupMemberView,
  InstanceView,
} from "../../lib/drain/machine.ts";
import { type Memory, initialMemory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER, type EventReason, type MetricName, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import type { Task } from "../../lib/drain/task.ts";
import { type Instant, SECOND } from "../../lib/drain/time.ts";
import { parseVolumeInUse } from "../../lib/drain/volumes.ts";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import { type FailureKind, PortError } from "../../lib/engine/errors.ts";
import { type Look, look } from "../../lib/engine/look.ts";
import type { ClusterPort, LifecycleActionRef, PodRef, Ports } from "../../lib/engine/ports.ts";
import {
  INSTANCE,
  NODE,
  NOW,
  ROOT,
  TOKEN,
  ec2Attachment,
  inUse,
  instance,
  policy,
  untouchedNode,
} from "../drain/observation-builder.ts";

/** Port methods that change something. */
const CHANGES = [
  "kubernetes.patchNode",
  "kubernetes.evictPod",
  "kubernetes.deletePod",
  "kubernetes.failPod",
  "kubernetes.recordEvent",
  "autoScaling.heartbeat",
  "autoScaling.complete",
];

interface Call {
  readonly at: Instant;
  readonly method: string;
  /** What it was about, in a word. */
  readonly about: string;
}

export class SmallWorld {
  now: Instant = NOW;
  readonly calls: Call[] = [];
  readonly nodes = new Map<string, NodeView>([[NODE, untouchedNode()]]);
  pods: PodView[] = [];
  readonly claims = new Map<string, { readonly volumeName?: string }>();
  readonly volumes = new Map<string, VolumeView>();
  attachments: (AttachmentView & { readonly nodeId?: string })[] = [];
  csiNode: CsiNodeView | undefined = { name: NODE, nodeIds: { [EBS_DRIVER]: INSTANCE } };
  lease: LeaseView | undefined = { name: NODE, renewTime: "09:30:00" };
  machine: InstanceView | undefined = instance();
  disks: Ec2AttachmentView[] = [ROOT];
  elsewhere: Ec2VolumeView[] = [];
  member: GroupMemberView | undefined = {
    instance: INSTANCE,
    group: "workers-a",
    lifecycleState: "Terminating:Wait",
  };
  actionIsOpen = true;
  readonly beats: Instant[] = [];
  readonly results: string[] = [];
  readonly events: { readonly reason: EventReason; readonly message: string }[] = [];
  readonly metrics: MetricName[] = [];
  /** By port method: every call of it fails so, before anything is done. */
  readonly failing = new Map<string, FailureKind>();
  /** By pod uid: the eviction API refuses so. */
  readonly refusing = new Map<string, FailureKind>();
  /** Seconds from the eviction to the pod's end, from there to the unmount, and from there to the detach. */
  stopsAfter = 3;
  unmountsAfter = 2;
  detachesAfter = 2;
  readonly #due: { readonly at: Instant; readonly run: () => void }[] = [];

  readonly ports: Ports = {
    cluster: this.#cluster(),
    ec2: {
      describeInstance: (id) => this.#ask("ec2.describeInstance", id, () => this.machine),
      describeInstances: (ids) => this.#ask("ec2.describeInstances", ids.join(), () => []),
      listAttachedVolumes: (id) => this.#ask("ec2.listAttachedVolumes", id, () => [...this.disks]),
      describeVolumes: (ids) =>
        this.#ask("ec2.describeVolumes", ids.join(), () =>
          this.elsewhere.filter(({ volumeId }) => ids.includes(volumeId)),
        ),
    },
    autoScaling: {
      describeMember: (id) => this.#ask("autoScaling.describeMember", id, () => this.member),
      listMembers: () => this.#ask("autoScaling.listMembers", "", () => []),
      heartbeat: (action) =>
        this.#ask("autoScaling.heartbeat", action.token ?? action.instance, () => {
          this.#requireOpen(action, "autoScaling.heartbeat");
          this.beats.push(this.now);
        }),
      complete: (action, result) =>
        this.#ask("autoScaling.complete", `${result} ${action.token ?? action.instance}`, () => {
          this.#requireOpen(action, "autoScaling.complete");
          this.actionIsOpen = false;
          this.results.push(result);
        }),
    },
    telemetry: {
      look: () => undefined,
      log: () => undefined,
      metric: (name) => {
        this.metrics.push(name);
      },
    },
    now: () => this.now,
  };

  /** A bound claim `shop/<claim>` whose volume is attached to the node and mounted by its pod. */
  attach(handle: string, claim: string): void {
    const volumeName = `pv-of-${handle}`;
    this.claims.set(`shop/${claim}`, { volumeName });
    this.volumes.set(volumeName, { name: volumeName, driver: EBS_DRIVER, handle });
    this.attachments.push({
      name: attachmentName(handle, EBS_DRIVER, NODE),
      attacher: EBS_DRIVER,
      nodeName: NODE,
      volumeName,
      deleting: false,
      nodeId: INSTANCE,
    });
    this.disks.push(ec2Attachment(handle));
    this.changeNode(({ volumesInUse }) => ({ volumesInUse: [...volumesInUse, ...inUse(handle)] }));
  }

  changeNode(change: (node: NodeView) => Partial<NodeView>): void {
    const node = this.nodes.get(NODE);
    if (node !== undefined) this.nodes.set(NODE, { ...node, ...change(node) });
  }

  after(seconds: number, run: () => void): void {
    this.#due.push({ at: this.now + seconds * SECOND, run });
  }

  /** Lets time pass, and what is due with it. */
  pass(seconds: number): void {
    const until = this.now + seconds * SECOND;
    for (;;) {
      const due = this.#due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#due.splice(this.#due.indexOf(due), 1);
      this.now = due.at;
      due.run();
    }
    this.now = until;
  }

  /** How often each method was asked, since the n-th call. */
  counts(since = 0): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { method } of this.calls.slice(since)) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  }

  /** Changes asked for, in order: `patchNode …`, `evictPod shop/web`. */
  changes(): readonly string[] {
    return this.calls
      .filter(({ method }) => CHANGES.includes(method))
      .map(({ method, about }) => `${method.split(".")[1]} ${about}`);
  }

  async #ask<T>(method: string, about: string, answer: () => T): Promise<T> {
    this.calls.push({ at: this.now, method, about });
    const kind = this.failing.get(method);
    if (kind !== undefined) throw new PortError(kind, method, `${method}: ${kind}`);
    return answer();
  }

  #requireOpen(action: LifecycleActionRef, method: string): void {
    if (this.actionIsOpen && (action.token === undefined || action.token === TOKEN)) return;
    throw new PortError("no-active-action", method, "No active Lifecycle Action found");
  }

  #cluster(): ClusterPort {
    return {
      getNode: (name) => this.#ask("kubernetes.getNode", name, () => this.nodes.get(name)),
      listNodes: () => this.#ask("kubernetes.listNodes", "", () => [...this.nodes.values()]),
      listPodsOnNode: (name) =>
        this.#ask("kubernetes.listPodsOnNode", name, () =>
          this.pods.filter(({ nodeName }) => nodeName === name),
        ),
      getClaim: (namespace, name) =>
        this.#ask("kubernetes.getClaim", name, () => this.claims.get(`${namespace}/${name}`)),
      getVolume: (name) => this.#ask("kubernetes.getVolume", name, () => this.volumes.get(name)),
      getAttachment: (name) =>
        this.#ask("kubernetes.getAttachment", name, () =>
          this.attachments.find((each) => each.name === name),
        ),
      listAttachmentRows: ({ withNodeIds }) =>
        this.#ask("kubernetes.listAttachmentRows", withNodeIds ? "with node ids" : "", () =>
          this.attachments.map((each) => rowOf(each, withNodeIds)),
        ),
      getCsiNode: (name) => this.#ask("kubernetes.getCsiNode", name, () => this.csiNode),
      getLease: (name) => this.#ask("kubernetes.getLease", name, () => this.lease),
      patchNode: (name, patch) => this.#ask("kubernetes.patchNode", name, () => this.#patch(name, patch)),
      evictPod: (pod, grace) =>
        this.#ask("kubernetes.evictPod", `${nameOf(pod)}${grace === undefined ? "" : ` ${grace}`}`, () => {
          const refusal = this.refusing.get(pod.uid);
          if (refusal !== undefined) {
            throw new PortError(refusal, "kubernetes.evictPod", refusal, { budget: "shop/web-pdb" });
          }
          this.#end(pod, "kubernetes.evictPod");
        }),
      deletePod: (pod, grace) =>
        this.#ask("kubernetes.deletePod", `${nameOf(pod)}${grace === undefined ? "" : ` ${grace}`}`, () => {
          if (grace === 0) {
            this.#find(pod, "kubernetes.deletePod");
            this.pods = this.pods.filter(({ uid }) => uid !== pod.uid);
          } else this.#end(pod, "kubernetes.deletePod");
        }),
      failPod: (pod) =>
        this.#ask("kubernetes.failPod", nameOf(pod), () => {
          this.#find(pod, "kubernetes.failPod");
          this.#replace(pod.uid, { phase: "Failed" });
        }),
      recordEvent: ({ reason, message }) =>
        this.#ask("kubernetes.recordEvent", reason, () => {
          this.events.push({ reason, message });
        }),
    };
  }

  #find(pod: PodRef, method: string): PodView {
    const found = this.pods.find(({ namespace, name }) => namespace === pod.namespace && name === pod.name);
    if (found === undefined) throw new PortError("not-found", method, `${nameOf(pod)} is not there`);
    if (found.uid !== pod.uid) throw new PortError("conflict", method, `${nameOf(pod)} has another uid`);
    return found;
  }

  #replace(uid: string, differs: Partial<PodView>): void {
    this.pods = this.pods.map((pod) => (pod.uid === uid ? { ...pod, ...differs } : pod));
  }

  #end(ref: PodRef, method: string): void {
    const pod = this.#find(ref, method);
    this.#replace(pod.uid, { deleting: true });
    this.after(this.stopsAfter, () => {
      this.pods = this.pods.filter(({ uid }) => uid !== pod.uid);
      this.after(this.unmountsAfter, () => this.#unmount(pod));
    });
  }

  #unmount(pod: PodView): void {
    const handles = pod.claims.map((claim) => this.#handleOf(`${pod.namespace}/${claim}`));
    this.changeNode(({ volumesInUse }) => ({
      volumesInUse: volumesInUse.filter((name) => !handles.includes(parseVolumeInUse(name)?.handle)),
    }));
    this.after(this.detachesAfter, () => {
      const names = handles.map((handle) => attachmentName(handle ?? "", EBS_DRIVER, NODE));
      this.disks = this.disks.filter(({ volumeId }) => !handles.includes(volumeId));
      this.attachments = this.attachments.filter(({ name }) => !names.includes(name));
    });
  }

  #handleOf(claim: string): string | undefined {
    return this.volumes.get(this.claims.get(claim)?.volumeName ?? "")?.handle;
  }

  #patch(name: string, patch: readonly PatchOperation[]): NodeView {
    const before = this.nodes.get(name);
    if (before === undefined) throw new PortError("not-found", "kubernetes.patchNode", `no Node ${name}`);
    const raw = rawOf(before);
    if (applyPatch(raw, patch as Operation[]).some((failure) => failure !== null)) {
      throw new PortError("conflict", "kubernetes.patchNode", "a test of the patch failed");
    }
    const after = patched(before, raw);
    this.nodes.set(name, after);
    return after;
  }
}

interface RawNode {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly Taint[] };
}

function rawOf(view: NodeView): RawNode {
  const annotations = view.work === undefined ? {} : { [WORK_ANNOTATION]: view.work };
  return {
    metadata: {
      uid: view.uid,
      resourceVersion: view.resourceVersion,
      ...(view.hasAnnotations ? { annotations } : {}),
    },
    spec: {
      ...(view.unschedulable ? { unschedulable: true } : {}),
      ...(view.taints.length === 0 ? {} : { taints: [...view.taints] }),
    },
  };
}

function patched(before: NodeView, { metadata, spec }: RawNode): NodeView {
  const { work: _before, ...rest } = before;
  const work = metadata.annotations?.[WORK_ANNOTATION];
  return {
    ...rest,
    resourceVersion: String(Number(before.resourceVersion) + 1),
    unschedulable: spec.unschedulable === true,
    taints: spec.taints ?? [],
    hasAnnotations: metadata.annotations !== undefined,
    ...(work === undefined ? {} : { work }),
  };
}

function rowOf(each: AttachmentView & { readonly nodeId?: string }, withNodeIds: boolean): AttachmentRow {
  const { name, attacher, nodeName, volumeName, nodeId } = each;
  return {
    name,
    attacher,
    nodeName,
    ...(volumeName === undefined ? {} : { volumeName }),
    ...(withNodeIds && nodeId !== undefined ? { nodeId } : {}),
  };
}

function nameOf({ namespace, name }: PodRef): string {
  return `${namespace}/${name}`;
}

export interface Run {
  readonly looks: readonly Look[];
  readonly memory: Memory;
}

/** Looks, one after the other, each when the one before asked for it, until the work ends or the seconds are over. */
export async function run(
  world: SmallWorld,
  task: Task,
  options: { readonly seconds?: number; readonly policy?: Partial<Policy>; readonly memory?: Memory } = {},
): Promise<Run> {
  const until = world.now + (options.seconds ?? 600) * SECOND;
  const looks: Look[] = [];
  let memory = options.memory ?? initialMemory(task.at);
  while (world.now < until) {
    const made = await look(task, memory, policy(options.policy), world.ports);
    looks.push(made);
    memory = made.memory;
    if (made.next.kind === "done") break;
    world.pass(made.next.inSeconds);
  }
  return { looks, memory };
}
