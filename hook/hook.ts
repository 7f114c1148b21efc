/** The hook's parts, put together: from a container's question to the answer, with completion (H9) and report (H10) before it. */
import type { NodeView } from "../lib/drain/cluster.ts";
import { DEFAULT_POLICY } from "../lib/drain/policy.ts";
import { readWork } from "../lib/drain/work-order.ts";
import type { PortError } from "../lib/engine/errors.ts";
import { ApiConnection } from "./api-connection.ts";
import { listAttachmentsOfNode } from "./attachment-list.ts";
import { type WatchSettings, untilGone } from "./attachment-watch.ts";
import { untilDriverGone } from "./driver-watch.ts";
import type { HoldEnd } from "./hold-end.ts";
import { HoldLoop, type HoldSources } from "./hold-loop.ts";
import { LifecycleCompletion, type LoadAutoScaling } from "./lifecycle-completion.ts";
import type { Log } from "./log-line.ts";
import { errorFields } from "../lib/engine/errors.ts";
import { HookMetrics } from "./metrics.ts";
import { NodeAttachments } from "./node-attachments.ts";
import { recordEnd } from "./node-event.ts";
import { isNodeLocal, readNewestRevision, readNode, readOwnPod } from "./node-reader.ts";
import { type Credentials, serviceAccount } from "./service-account.ts";
import type { HookSettings } from "./settings.ts";
import { SharedWait } from "./shared-wait.ts";
import { TroubleLog } from "./trouble-log.ts";

export interface HookParts {
  readonly settings: HookSettings;
  readonly log: Log;
  readonly loadAutoScaling: LoadAutoScaling;
  /** Name of the attachment of this volume to this node. */
  readonly attachmentName: (handle: string, driver: string, node: string) => string;
  readonly now?: () => number;
  readonly watch?: WatchSettings;
}

export class Hook {
  readonly #parts: HookParts;
  readonly #credentials: Credentials;
  readonly #connection: ApiConnection;
  readonly #metrics = new HookMetrics();
  readonly #completion: LifecycleCompletion;
  readonly #wait: SharedWait;
  readonly #now: () => number;
  #node: NodeView | undefined;

  constructor(parts: HookParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#credentials = serviceAccount(parts.settings.serviceAccount);
    this.#connection = new ApiConnection(parts.settings.apiServer, this.#credentials, ({ kind }) => {
      // What goes between two reads is not found by the second: an answer, not a failed request.
      if (kind !== "not-found") this.#metrics.apiError(kind);
    });
    this.#completion = new LifecycleCompletion(parts.loadAutoScaling);
    this.#wait = new SharedWait((arrived) => this.#hold(arrived));
  }

  /** A container's preStop; resolves when it may be stopped, and never rejects. */
  preStop(container: string | undefined): Promise<HoldEnd> {
    return this.#wait.join(container);
  }

  get isWaiting(): boolean {
    return this.#wait.isWaiting;
  }

  /** Rejects where the pod's own credentials cannot be read: then no hold can know anything. */
  async ready(): Promise<void> {
    await Promise.all([this.#credentials.token(), this.#credentials.authorities()]);
  }

  metrics(): string {
    return this.#metrics.text();
  }

  /**
   * Reads once, at the process's start, what each hold begins with: the only answer of its life then finds its code compiled, and a
   * missing right is in the log while somebody looks. Never rejects.
   */
  async rehearse(): Promise<void> {
    const { log } = this.#parts;
    try {
      const loop = this.#loop(() => this.#parts.settings.containers, new TroubleLog(log));
      await loop.rehearse();
    } catch (error) {
      log("warn", "the rehearsal failed", errorFields(error));
    }
    this.#connection.rest();
  }

  close(): void {
    this.#connection.close();
  }

  async #hold(arrived: () => number): Promise<HoldEnd> {
    const trouble = new TroubleLog(this.#parts.log);
    this.#node = undefined;
    const loop = this.#loop(arrived, trouble);
    this.#metrics.began();
    const found = await loop.run();
    const completed = await this.#complete(found, loop.deadline);
    await this.#report(completed, loop);
    this.#metrics.ended(completed, (this.#now() - loop.startedAt) / 1_000, loop.attachmentsSeen);
    return completed;
  }

  #loop(arrived: () => number, trouble: TroubleLog): HoldLoop {
    const { settings, log } = this.#parts;
    const { drivers, criticalBudgetSeconds: criticalBudget } = settings;
    return new HoldLoop({
      sources: this.#sources(),
      attachments: (onChange) => this.#attachments(onChange, trouble),
      policy: { ...DEFAULT_POLICY, drivers, criticalBudget },
      drainTaints: settings.drainTaints,
      configuredGrace: settings.graceSeconds,
      hooks: () => ({ arrived: arrived(), expected: settings.containers }),
      onNode: (node) => this.#seeNode(node),
      trouble,
      log,
      now: this.#now,
    });
  }

  #sources(): HoldSources {
    const { settings, attachmentName } = this.#parts;
    const { csiSocket, node, pod } = settings;
    return {
      readNode: (signal) => readNode(this.#connection, node, signal),
      readPod: (signal) => readOwnPod(this.#connection, pod, signal),
      readNewestRevision: (owner, signal) =>
        readNewestRevision(this.#connection, pod.namespace, owner, signal),
      attachmentName: (handle, driver) => attachmentName(handle, driver, node),
      ...(csiSocket === undefined
        ? {}
        : { untilDriverGone: (signal: AbortSignal) => untilDriverGone(csiSocket, signal) }),
    };
  }

  #attachments(onChange: () => void, trouble: TroubleLog): NodeAttachments {
    const { log, settings, watch } = this.#parts;
    return new NodeAttachments({
      source: {
        list: async (signal) => {
          const rows = await listAttachmentsOfNode(this.#connection, settings.node, signal);
          trouble.ended("listAttachments");
          log("info", "attachments listed", { ofNode: rows.length });
          return rows;
        },
        isLocal: (row, signal) => isNodeLocal(this.#connection, row, signal),
        untilGone: (name, watched, signal) => untilGone(this.#connection, name, watched, signal, watch),
      },
      drivers: settings.drivers,
      onChange,
      onTrouble: (error: PortError) => trouble.began(error.operation, error),
    });
  }

  /** While there is time, a hook that was handed an action makes ready to complete it. */
  #seeNode(node: NodeView): void {
    this.#node = node;
    if (this.#handed() !== undefined) this.#completion.prepare();
  }

  /** The work that was handed over to this very pod, on this boot. */
  #handed() {
    const work = this.#node === undefined ? undefined : readWork(this.#node);
    return work?.kind === "open" && work.work.handedOver === this.#parts.settings.pod.uid
      ? work.work
      : undefined;
  }

  async #complete(end: HoldEnd, deadline: number): Promise<HoldEnd> {
    const work = this.#handed();
    if (!end.detached || work === undefined) return end;
    return { ...end, completion: await this.#completion.complete(work, deadline - this.#now()) };
  }

  /** H10. An answer that held nothing is a rollout's on a healthy node: no Event for those. */
  async #report(end: HoldEnd, loop: HoldLoop): Promise<void> {
    const { settings, log } = this.#parts;
    const seconds = (this.#now() - loop.startedAt) / 1_000;
    const isTrouble = end.left.length > 0 && end.held;
    log(isTrouble ? "warn" : "info", "answer", { ...end, seconds, attachments: loop.attachmentsSeen });
    if (!end.held) return;
    const subject = {
      node: settings.node,
      pod: settings.pod.name,
      ...(this.#node === undefined ? {} : { nodeUid: this.#node.uid }),
    };
    await recordEnd(this.#connection, subject, end, this.#now()).catch((error: unknown) =>
      log("warn", "no Event could be recorded", errorFields(error)),
    );
  }
}
