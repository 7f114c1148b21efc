/** The external attacher and the EBS CSI controller behind it: they turn VolumeAttachments into EC2 calls. */
import type { Instant } from "../drain/time.ts";
import { EBS_DRIVER, NODE_ID_ANNOTATION } from "../drain/names.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { AttachmentObject } from "./cluster-objects.ts";
import { isDeleting } from "./cluster-objects.ts";
import { handleOf, isLocal } from "./cluster-volumes.ts";
import type { Gate } from "./cluster-work-queue.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

export const ATTACHER_FINALIZER = `external-attacher/${EBS_DRIVER.replaceAll(".", "-")}`;

/** Longest pause of the attacher's back-off (--retry-interval-max). */
const LONGEST_RETRY = 5 * MINUTE;

interface Effort {
  readonly kind: "attach" | "detach";
  since: Instant;
  failures: number;
}

/** `leader`: open while some pod of the CSI controller leads. */
export function startAttacher(context: ClusterContext, leader: Gate): void {
  new Attacher(context, leader).start();
}

class Attacher {
  readonly #context: ClusterContext;
  readonly #queue: WorkQueue;
  readonly #efforts = new Map<string, Effort>();

  constructor(context: ClusterContext, leader: Gate) {
    this.#context = context;
    this.#queue = new WorkQueue(
      context.clock,
      leader,
      () => draw(context, context.timing.watch),
      (name) => this.#work(name),
    );
  }

  start(): void {
    this.#context.api.attachments.watch((attachment, change) => {
      const { name } = attachment.metadata;
      if (change === "removed") this.#efforts.delete(name);
      else if (attachment.spec.attacher === EBS_DRIVER && this.#isNews(attachment)) this.#queue.add(name);
    });
  }

  /** Its own writes are no news. */
  #isNews(attachment: AttachmentObject): boolean {
    return (
      this.#efforts.get(attachment.metadata.name)?.kind !== (isDeleting(attachment) ? "detach" : "attach")
    );
  }

  #work(name: string): void {
    const attachment = this.#context.api.attachments.get(name);
    if (attachment === undefined) return;
    const kind = isDeleting(attachment) ? "detach" : "attach";
    let effort = this.#efforts.get(name);
    if (effort?.kind !== kind) {
      effort = { kind, since: this.#context.clock.now(), failures: 0 };
      this.#efforts.set(name, effort);
    }
    try {
      const again = kind === "attach" ? this.#attach(attachment) : this.#detach(attachment, effort);
      if (again) this.#queue.add(name, this.#context.timing.attacherPoll);
    } catch (error) {
      this.#fail(attachment, effort, error instanceof Error ? error.message : String(error));
    }
  }

  /** Answers whether to look again. */
  #attach(attachment: AttachmentObject): boolean {
    const { api, host, note } = this.#context;
    if (attachment.status.attached) return false;
    const { nodeName, attacher } = attachment.spec;
    const instance = api.csiNodes.get(nodeName)?.spec.drivers[attacher];
    if (instance === undefined) throw new Error(`CSINode ${nodeName} does not contain driver ${attacher}`);
    this.#mark(attachment, instance);
    const handle = handleOf(api, attachment);
    if (handle === undefined) throw new Error("persistentvolume not found");
    if (!isLocal(handle)) {
      const state = host.volumeState(handle, instance);
      if (state === "none") {
        this.#ask("csi.attachVolume");
        host.attachVolume(handle, instance);
      }
      if (host.volumeState(handle, instance) !== "attached") return true;
    }
    api.attachments.update(attachment, ({ status }) => {
      status.attached = true;
      delete status.attachError;
    });
    note("attachment", handle, `attached to ${nodeName}`);
    return false;
  }

  #mark(attachment: AttachmentObject, instance: string): void {
    if (attachment.metadata.finalizers.includes(ATTACHER_FINALIZER)) return;
    this.#context.api.attachments.update(attachment, ({ metadata }) => {
      metadata.finalizers = [...metadata.finalizers, ATTACHER_FINALIZER];
      metadata.annotations = { ...metadata.annotations, [NODE_ID_ANNOTATION]: instance };
    });
  }

  #detach(attachment: AttachmentObject, effort: Effort): boolean {
    const { api, host, note, clock, timing } = this.#context;
    const handle = handleOf(api, attachment);
    // The attacher loops on this for ever; nothing it reads again can change it.
    if (handle === undefined) throw new Error("persistentvolume not found");
    const instance =
      attachment.metadata.annotations?.[NODE_ID_ANNOTATION] ??
      api.csiNodes.get(attachment.spec.nodeName)?.spec.drivers[attachment.spec.attacher];
    if (instance !== undefined && !isLocal(handle)) {
      const state = host.volumeState(handle, instance);
      if (state === "attached" || state === "attaching") {
        this.#ask("csi.detachVolume");
        host.detachVolume(handle, instance);
      }
      if (host.volumeState(handle, instance) !== "none") {
        if (clock.now() - effort.since < timing.attacherTimeout) return true;
        effort.since = clock.now();
        throw new Error(`rpc error: code = DeadlineExceeded desc = ${handle} is ${state} on ${instance}`);
      }
    }
    note("attachment", handle, `detached from ${attachment.spec.nodeName}`);
    api.attachments.removeFinalizer(attachment, ATTACHER_FINALIZER);
    return false;
  }

  /** What the driver's request to EC2 meets before it has any effect. */
  #ask(operation: string): void {
    const fault = this.#context.faults.before(operation);
    if (fault?.kind === "fail") throw new Error(`${operation}: ${fault.failure}`);
  }

  #fail(attachment: AttachmentObject, effort: Effort, message: string): void {
    const { api, note } = this.#context;
    note("attachment", attachment.metadata.name.slice(0, 12), `${effort.kind} failed: ${message}`);
    api.attachments.update(attachment, ({ status }) => {
      if (effort.kind === "attach") status.attachError = message;
      else status.detachError = message;
    });
    const pause = Math.min(LONGEST_RETRY, SECOND * 2 ** effort.failures);
    effort.failures++;
    this.#queue.add(attachment.metadata.name, pause);
  }
}
