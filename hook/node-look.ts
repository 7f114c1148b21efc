/** What one look of a hold reads of the Node, the own pod and the DaemonSet: as little as the rules need. */
import { isGoingAway } from "../lib/drain/going-away.ts";
import type { Reading } from "../lib/drain/observation.ts";
import { UNREAD, valueOf } from "../lib/drain/observation.ts";
import { PortError } from "../lib/engine/errors.ts";
import type { NodeReading, OwnPodReading } from "./node-reader.ts";
import type { TroubleLog } from "./trouble-log.ts";

/** Each rejects with a PortError. */
export interface NodeSources {
  readonly readNode: (signal: AbortSignal) => Promise<NodeReading | null>;
  readonly readPod: (signal: AbortSignal) => Promise<OwnPodReading | null>;
  /** Hash of the newest revision of the DaemonSet with this uid. */
  readonly readNewestRevision: (owner: string, signal: AbortSignal) => Promise<string | undefined>;
}

export interface NodeLooked {
  readonly node: Reading<NodeReading | null>;
  readonly pod: Reading<OwnPodReading | null>;
  readonly newestRevision: Reading<string>;
}

export class NodeLook {
  readonly #sources: NodeSources;
  readonly #drainTaints: readonly string[];
  readonly #trouble: TroubleLog;
  #pod: Reading<OwnPodReading | null> = UNREAD;
  #newestRevision: Reading<string> = UNREAD;

  constructor(sources: NodeSources, drainTaints: readonly string[], trouble: TroubleLog) {
    this.#sources = sources;
    this.#drainTaints = drainTaints;
    this.#trouble = trouble;
  }

  /** @param podDeleted the pod is known to be deleted, which never changes again */
  async read(podDeleted: boolean, signal: AbortSignal): Promise<NodeLooked> {
    const [node] = await Promise.all([
      this.#read("getNode", () => this.#sources.readNode(signal)),
      podDeleted ? undefined : this.#readPod(signal),
    ]);
    if (node.kind === "read" && node.value !== null) await this.#readRevision(node.value, signal);
    return { node, pod: this.#pod, newestRevision: this.#newestRevision };
  }

  async #readPod(signal: AbortSignal): Promise<void> {
    if (!isWorthReading(this.#pod)) return;
    this.#pod = await this.#read("getOwnPod", () => this.#sources.readPod(signal));
  }

  /** H3 asks on a plain cordon only, once; without the right it is off for this hold. */
  async #readRevision({ view }: NodeReading, signal: AbortSignal): Promise<void> {
    const owner = valueOf(this.#pod)?.owner;
    if (owner === undefined || this.#newestRevision.kind === "read") return;
    if (!isWorthReading(this.#newestRevision)) return;
    if (isGoingAway(view, this.#drainTaints)?.kind !== "cordon") return;
    const newest = await this.#read("listRevisions", () => this.#sources.readNewestRevision(owner, signal));
    if (newest.kind !== "read") this.#newestRevision = newest;
    else this.#newestRevision = newest.value === undefined ? UNREAD : { kind: "read", value: newest.value };
  }

  async #read<T>(operation: string, ask: () => Promise<T>): Promise<Reading<T>> {
    try {
      const value = await ask();
      this.#trouble.ended(operation);
      return { kind: "read", value };
    } catch (error) {
      if (!(error instanceof PortError)) throw error;
      this.#trouble.began(operation, error);
      return { kind: "failed", failure: { operation, cause: error.kind, message: error.message } };
    }
  }
}

/** Whoever may not read something now will not be allowed to within one hold. */
function isWorthReading(reading: Reading<unknown>): boolean {
  return reading.kind !== "failed" || reading.failure.cause !== "forbidden";
}
