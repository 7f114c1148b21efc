/** What really happens in a simulated run, seen after every event of its clock, whoever drains and whatever that one believes. */
import type { Instant } from "../drain/time.ts";
import type { LifecycleRecord } from "../sim/auto-scaling-actions.ts";
import type { Scene } from "../sim/scenario.ts";
import type { World } from "../sim/world.ts";

/** One pod's time out of service. */
export interface Outage {
  readonly pod: string;
  readonly from: Instant;
  readonly until?: Instant;
}

/** A volume that the machine held, and when it was let go of. */
export interface HeldVolume {
  readonly handle: string;
  /** The pod whose it is. */
  readonly pod: string;
  /** EC2 no longer shows it attached to the machine. */
  readonly detachedAt?: Instant;
  /** Its VolumeAttachment for the node is gone. */
  readonly unattachedAt?: Instant;
  /** It is attached to another node. */
  readonly movedAt?: Instant;
}

/** The end of the machine's lifecycle action, and what the machine still held in that moment. */
export interface ActionEnd {
  readonly at: Instant;
  readonly result: string;
  /** `drain`, `hook`, `pod drainer`, or `time-out`. */
  readonly by: string;
  /** Handles that EC2 shows attached to the machine. */
  readonly attached: readonly string[];
  /** Pods of the node that are neither finished nor a DaemonSet's. */
  readonly pods: readonly string[];
}

/** The moment in which nothing on the machine runs any more. */
export interface MachineEnd {
  readonly at: Instant;
  /** Handles that its kubelet last reported as in use. */
  readonly inUse: readonly string[];
}

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };

export class Witness {
  readonly outages: Changing<Outage>[] = [];
  readonly volumes: Changing<HeldVolume>[] = [];
  readonly actionEnds: ActionEnd[] = [];
  openedAt: Instant | undefined;
  machineEnd: MachineEnd | undefined;
  readonly #world: World;
  readonly #scene: Scene;
  readonly #pods: readonly string[];
  #recordsSeen: number;

  constructor(world: World, scene: Scene) {
    this.#world = world;
    this.#scene = scene;
    const { api } = world.cluster;
    this.#pods = api.statefulSets
      .list()
      .flatMap(({ metadata: { name }, spec }) =>
        Array.from({ length: spec.replicas }, (_, ordinal) => `${name}-${ordinal}`),
      );
    this.#recordsSeen = world.autoScaling.getHistory().length;
  }

  /** Names of the pods whose being up counts. */
  get pods(): readonly string[] {
    return this.#pods;
  }

  /** Looks at the world as it is now. */
  look(): void {
    for (const pod of this.#pods) this.#lookAtPod(pod);
    for (const held of volumesAttached(this.#world, this.#scene.instance)) {
      if (!this.volumes.some(({ handle }) => handle === held.handle)) this.volumes.push(held);
    }
    for (const volume of this.volumes) this.#lookAtVolume(volume);
    this.#lookAtActions();
    this.#lookAtMachine();
  }

  isAllUp(): boolean {
    return this.outages.every(({ until }) => until !== undefined);
  }

  #lookAtPod(pod: string): void {
    const now = this.#world.clock.now();
    const open = this.outages.find((outage) => outage.pod === pod && outage.until === undefined);
    const isUp = isServing(this.#world, pod);
    if (open !== undefined && isUp) open.until = now;
    else if (open === undefined && !isUp) this.outages.push({ pod, from: now });
  }

  #lookAtVolume(volume: Changing<HeldVolume>): void {
    const { ec2, cluster, clock } = this.#world;
    if (volume.movedAt !== undefined) return;
    const now = clock.now();
    const names = namesOfVolume(this.#world, volume.handle);
    const ours = cluster.api.attachments
      .list()
      .filter(({ spec: { source } }) => "volumeName" in source && names.includes(source.volumeName));
    const here = ours.some(({ spec }) => spec.nodeName === this.#scene.node);
    if (ec2.volumeState(volume.handle, this.#scene.instance) === "none") volume.detachedAt ??= now;
    if (!here) volume.unattachedAt ??= now;
    const elsewhere = ours.some(({ spec, status }) => spec.nodeName !== this.#scene.node && status.attached);
    if (elsewhere) volume.movedAt = now;
  }

  #lookAtActions(): void {
    const history = this.#world.autoScaling.getHistory();
    for (; this.#recordsSeen < history.length; this.#recordsSeen++) {
      const record = history[this.#recordsSeen];
      if (record?.instance !== this.#scene.instance) continue;
      if (record.kind === "opened") this.openedAt ??= record.at;
      const end = endOf(record);
      if (end === undefined) continue;
      const { instance, node } = this.#scene;
      this.actionEnds.push({
        at: record.at,
        ...end,
        attached: volumesAttached(this.#world, instance).map(({ handle }) => handle),
        pods: podsOn(this.#world, instance, node),
      });
    }
  }

  #lookAtMachine(): void {
    const { cluster, ec2, clock } = this.#world;
    const state = ec2.instance(this.#scene.instance)?.state;
    if (this.machineEnd !== undefined || state === "running" || state === "pending") return;
    const inUse = cluster.api.nodes.get(this.#scene.node ?? "")?.status.volumesInUse ?? [];
    this.machineEnd = { at: clock.now(), inUse: inUse.map((name) => name.slice(name.indexOf("^") + 1)) };
  }
}

function endOf(record: LifecycleRecord): Pick<ActionEnd, "result" | "by"> | undefined {
  switch (record.kind) {
    case "complete":
      return record.outcome === "accepted" ? { result: record.result, by: record.by } : undefined;
    case "expired":
      return { result: record.result, by: "time-out" };
    case "opened":
    case "heartbeat":
    case "ended":
      return undefined;
    default:
      return record satisfies never;
  }
}

/** Ready in the API and really running on a machine that is on. */
function isServing({ cluster }: World, name: string): boolean {
  const pod = cluster.api.pods.get(name, "default");
  if (pod?.spec.nodeName === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
  const kubelet = cluster.kubeletOf(pod.spec.nodeName);
  return pod.status.ready && kubelet?.isOn === true && kubelet.running().includes(pod.metadata.uid);
}

/** Volumes of claims that EC2 has attached to the machine. */
export function volumesAttached(world: World, instance: string): readonly { handle: string; pod: string }[] {
  const { api } = world.cluster;
  return api.claims.list().flatMap(({ metadata, spec }) => {
    const source = api.volumes.get(spec.volumeName ?? "")?.spec.source;
    if (source?.kind !== "csi" || world.ec2.volumeState(source.handle, instance) === "none") return [];
    return [{ handle: source.handle, pod: metadata.name.replace(/^data-/, "") }];
  });
}

/** Pods of the machine; those on a Node that another machine has taken up are not. */
function podsOn({ cluster }: World, instance: string, node: string | undefined): readonly string[] {
  if (node === undefined || cluster.kubeletOf(node)?.options.instance !== instance) return [];
  return cluster
    .pods()
    .filter((pod) => pod.nodeName === node && pod.controller?.kind !== "DaemonSet")
    .map(({ name }) => name);
}

function namesOfVolume({ cluster }: World, handle: string): readonly string[] {
  return cluster.api.volumes
    .list()
    .flatMap(({ metadata, spec: { source } }) =>
      source.kind === "csi" && source.handle === handle ? [metadata.name] : [],
    );
}
