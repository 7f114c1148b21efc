/**
 * The attach/detach controller of kube-controller-manager: what pods want against what it remembers as attached. It keeps the
 * order that a drain depends on: a volume leaves `volumesInUse`, then its VolumeAttachment is deleted, then it may go elsewhere.
 */
import type { Instant } from "../drain/time.ts";
import { OUT_OF_SERVICE_TAINT } from "../drain/names.ts";
import type { Change } from "./api-server.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw, untilNext } from "./cluster-context.ts";
import type { AttachmentObject, NodeObject, PodObject } from "./cluster-objects.ts";
import { hasTaint, isDeleting, isFinished, isReady } from "./cluster-objects.ts";
import type { PodVolume } from "./cluster-volumes.ts";
import { attachmentNameOf, handleOf, uniqueName, volumesOf } from "./cluster-volumes.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

interface Attached {
  readonly volume: PodVolume;
  readonly node: string;
  /** `uncertain`: a failed detach, or found after a restart. It no longer keeps the volume from other nodes. */
  state: "attaching" | "attached" | "detaching" | "uncertain";
  /** Since when no pod of the node wants it. */
  unwantedSince?: Instant;
}

export class AttachDetach {
  readonly #context: ClusterContext;
  readonly #queue: WorkQueue;
  readonly #sync: WorkQueue;
  readonly #phase: number;
  /** By the VolumeAttachment's name. */
  readonly #attached = new Map<string, Attached>();
  /** What each Node last said; it stays after the Node's end. */
  readonly #inUse = new Map<string, { readonly names: readonly string[]; readonly digest: string }>();
  readonly #blocked = new Set<string>();
  /** Handles whose next detach is cut short, and the names of the attachments that were left behind so. */
  readonly #leaking = new Set<string>();
  readonly #leaked = new Set<string>();

  constructor(context: ClusterContext) {
    this.#context = context;
    this.#phase = draw(context, [0, context.timing.attachmentSync - 1]);
    const { clock, controllerManager, api, timing } = context;
    this.#queue = new WorkQueue(
      clock,
      controllerManager,
      () => draw(context, timing.detach),
      (key) => this.#reconcile(key),
    );
    this.#sync = new WorkQueue(
      clock,
      controllerManager,
      () => untilNext(clock.now(), timing.attachmentSync, this.#phase),
      (name) => this.#verify(name),
    );
    api.pods.watch((pod, change) => this.#onPod(pod, change));
    api.nodes.watch((node, change) => this.#onNode(node, change));
    api.csiNodes.watch(({ metadata }) =>
      api.podsOn(metadata.name).forEach((pod) => this.#onPod(pod, "changed")),
    );
    api.attachments.watch((attachment, change) => this.#onAttachment(attachment, change));
    api.claims.watch(({ metadata: { namespace } }, change) => {
      if (change !== "changed") return;
      for (const pod of api.pods.list()) if (pod.metadata.namespace === namespace) this.#onPod(pod, change);
    });
  }

  /** The process ends between the last two writes of this volume's next detach: nobody deletes its VolumeAttachment any more. */
  leakNextDetach(handle: string): void {
    this.#leaking.add(handle);
  }

  /** A new process of kube-controller-manager knows only what the API says. */
  restart(): void {
    const { api } = this.#context;
    this.#attached.clear();
    for (const attachment of api.attachments.list()) {
      const handle = handleOf(api, attachment);
      if (handle === undefined || this.#leaked.has(attachment.metadata.name)) continue;
      const { attacher: driver, nodeName: node, source } = attachment.spec;
      const volume = { handle, driver, source };
      const listed = api.nodes
        .get(node)
        ?.status.volumesAttached?.some(({ name }) => name === uniqueName(volume));
      this.#attached.set(attachment.metadata.name, {
        volume,
        node,
        state: listed === true ? "attached" : "uncertain",
      });
      this.#queue.add(uniqueName(volume));
    }
  }

  #onPod(pod: PodObject, change: Change): void {
    if (pod.spec.nodeName === undefined) return;
    const { timing } = this.#context;
    const delay = draw(this.#context, change === "removed" ? timing.detach : timing.attach);
    for (const volume of volumesOf(this.#context.api, pod) ?? []) this.#queue.add(uniqueName(volume), delay);
  }

  #onNode(node: NodeObject, change: Change): void {
    const { name } = node.metadata;
    const names = node.status.volumesInUse ?? [];
    const digest =
      change === "removed"
        ? "removed"
        : `${names.join()} ${isReady(node)} ${hasTaint(node, OUT_OF_SERVICE_TAINT)}`;
    if (this.#inUse.get(name)?.digest === digest) return;
    this.#inUse.set(name, { names, digest });
    for (const attached of this.#attached.values()) {
      if (attached.node === name) this.#queue.add(uniqueName(attached.volume));
    }
  }

  #onAttachment(attachment: AttachmentObject, change: Change): void {
    const attached = this.#attached.get(attachment.metadata.name);
    if (attached === undefined) return;
    const key = uniqueName(attached.volume);
    if (change === "removed") {
      if (attached.state === "attached" || attached.state === "attaching") {
        // Deleted by somebody else: believed attached until the next comparison.
        return this.#sync.add(attachment.metadata.name);
      }
      this.#attached.delete(attachment.metadata.name);
      return this.#queue.add(key, draw(this.#context, this.#context.timing.watch));
    }
    if (attachment.status.attached && attached.state === "attaching") {
      attached.state = "attached";
      this.#report(attached, true);
    }
    if (attachment.status.detachError !== undefined && attached.state === "detaching") {
      attached.state = "uncertain";
      this.#queue.add(key, draw(this.#context, this.#context.timing.detach));
    }
  }

  #verify(name: string): void {
    const attached = this.#attached.get(name);
    if (attached === undefined || this.#context.api.attachments.get(name) !== undefined) return;
    this.#attached.delete(name);
    this.#report(attached, false);
    this.#reconcile(uniqueName(attached.volume));
  }

  #reconcile(key: string): void {
    const wanted = this.#wantedOn(key);
    const all = [...this.#attached.values()].filter(({ volume }) => uniqueName(volume) === key);
    for (const attached of all) {
      if (wanted.has(attached.node)) delete attached.unwantedSince;
      else this.#tryDetach(key, attached);
    }
    for (const [node, volume] of wanted) {
      if (!all.some((attached) => attached.node === node)) this.#tryAttach(key, volume, node);
    }
  }

  /** Nodes with a pod that wants the volume. A finished pod wants none, nor one asked to end with no container running. */
  #wantedOn(key: string): Map<string, PodVolume> {
    const { api } = this.#context;
    const wanted = new Map<string, PodVolume>();
    for (const pod of api.pods.list()) {
      const { nodeName, volumes } = pod.spec;
      if (nodeName === undefined || volumes.length === 0 || isFinished(pod)) continue;
      if (isDeleting(pod) && !pod.status.containersRunning) continue;
      const volume = volumesOf(api, pod)?.find((each) => uniqueName(each) === key);
      if (volume !== undefined) wanted.set(nodeName, volume);
    }
    return wanted;
  }

  #tryAttach(key: string, volume: PodVolume, node: string): void {
    const { api, note } = this.#context;
    if (api.csiNodes.get(node)?.spec.drivers[volume.driver] === undefined) return;
    const elsewhere = [...this.#attached.values()].find(
      (other) => uniqueName(other.volume) === key && other.state !== "uncertain",
    );
    if (elsewhere !== undefined) {
      if (!this.#blocked.has(key))
        note("attachment", volume.handle, `Multi-Attach: still on ${elsewhere.node}`);
      this.#blocked.add(key);
      return;
    }
    this.#blocked.delete(key);
    const name = attachmentNameOf(volume, node);
    const existing = api.attachments.get(name);
    if (existing !== undefined && isDeleting(existing))
      return this.#queue.add(key, this.#context.timing.attacherPoll);
    this.#attached.set(name, { volume, node, state: existing === undefined ? "attaching" : "attached" });
    if (existing !== undefined) return;
    api.attachments.create(
      { name },
      {
        spec: { attacher: volume.driver, nodeName: node, source: volume.source },
        status: { attached: false },
      },
    );
    note("attachment", volume.handle, `attachment to ${node} created`);
  }

  #tryDetach(key: string, attached: Attached): void {
    const { api, clock, timing } = this.#context;
    if (attached.state === "detaching" || this.#isFailing(attached)) return;
    attached.unwantedSince ??= clock.now();
    const node = api.nodes.get(attached.node);
    const names = node === undefined ? this.#inUse.get(attached.node)?.names : node.status.volumesInUse;
    if (names?.includes(key) === true) {
      const isHealthy = node !== undefined && isReady(node);
      const left = attached.unwantedSince + timing.forceDetachAfter - clock.now();
      const isForced = !isHealthy && left <= 0;
      const isOutOfService = node !== undefined && hasTaint(node, OUT_OF_SERVICE_TAINT);
      if (!isForced && !isOutOfService) {
        if (!isHealthy) this.#queue.add(key, left + draw(this.#context, timing.detach));
        return;
      }
    }
    this.#detach(attached);
  }

  /** The detach was asked for and failed: the attacher goes on with it by itself. */
  #isFailing({ state, volume, node }: Attached): boolean {
    const attachment = this.#context.api.attachments.get(attachmentNameOf(volume, node));
    return state === "uncertain" && attachment !== undefined && isDeleting(attachment);
  }

  #detach(attached: Attached): void {
    const { api, note } = this.#context;
    const name = attachmentNameOf(attached.volume, attached.node);
    attached.state = "detaching";
    this.#report(attached, false);
    const attachment = api.attachments.get(name);
    const isLeaked = this.#leaking.delete(attached.volume.handle);
    if (isLeaked) this.#leaked.add(name);
    if (attachment === undefined || isLeaked) {
      this.#attached.delete(name);
      return this.#queue.add(uniqueName(attached.volume));
    }
    note("attachment", attached.volume.handle, `detach from ${attached.node} asked for`);
    api.attachments.delete(attachment);
  }

  /** `Node.status.volumesAttached`: changes before the detach, so it tells nobody that one is done. */
  #report({ volume, node: nodeName }: Attached, attached: boolean): void {
    const node = this.#context.api.nodes.get(nodeName);
    if (node === undefined) return;
    const name = uniqueName(volume);
    const others = (node.status.volumesAttached ?? []).filter((other) => other.name !== name);
    this.#context.api.nodes.update(node, ({ status }) => {
      status.volumesAttached = attached ? [...others, { name, devicePath: "" }] : others;
    });
  }
}
