/**
 * One hold: look, decide, sleep until something happens, until the decision is to let go. The decision itself is `hold` (H1 to H6, H8);
 * here is what it needs to know, and H7, H12 and H13.
 */
import { type HoldMemory, NOTHING_HELD } from "../lib/drain/hold-memory.ts";
import type { HoldObservation, HoldVerdict } from "../lib/drain/hold.ts";
import { hold, holdDeadline, rememberHold } from "../lib/drain/hold.ts";
import { valueOf } from "../lib/drain/observation.ts";
import type { Policy } from "../lib/drain/policy.ts";
import type { Instant } from "../lib/drain/time.ts";
import { SECOND } from "../lib/drain/time.ts";
import { isLocal } from "../lib/drain/volumes.ts";
import { backoffAfter } from "./backoff.ts";
import type { HoldEnd } from "./hold-end.ts";
import type { Log } from "./log-line.ts";
import { errorFields } from "../lib/engine/errors.ts";
import type { NodeAttachments } from "./node-attachments.ts";
import { NodeLook, type NodeLooked, type NodeSources } from "./node-look.ts";
import type { NodeReading } from "./node-reader.ts";
import type { TroubleLog } from "./trouble-log.ts";
import { Wake } from "./wake.ts";

/** What one hold asks of the world. */
export interface HoldSources extends NodeSources {
  readonly attachmentName: (handle: string, driver: string) => string;
  /** Resolves when the driver is gone; absent: it is not watched. */
  readonly untilDriverGone?: (signal: AbortSignal) => Promise<void>;
}

export interface HoldOptions {
  readonly sources: HoldSources;
  readonly attachments: (onChange: () => void) => NodeAttachments;
  readonly policy: Policy;
  readonly drainTaints: readonly string[];
  readonly configuredGrace: number;
  /** Containers whose hook has arrived, and containers that have one. */
  readonly hooks: () => { readonly arrived: number; readonly expected: number };
  /** The work of the Node was read: it may be handed over to this pod. */
  readonly onNode: (node: NodeReading["view"]) => void;
  readonly trouble: TroubleLog;
  readonly log: Log;
  readonly now: () => Instant;
}

/**
 * Milliseconds. A look that news of an attachment has woken goes by what the last one read of the Node: between two regular looks as
 * much time passes, and reading it again would double the time to the answer.
 */
const RECENT = 2_000;
/** Milliseconds that one look waits for its reads; near the deadline it has no time to lose. */
const LONGEST_LOOK = 5_000;
const SHORTEST_LOOK = 100;

export class HoldLoop {
  readonly #options: HoldOptions;
  readonly #attachments: NodeAttachments;
  readonly #startedAt: Instant;
  readonly #over = new AbortController();
  readonly #wake = new Wake();
  readonly #look: NodeLook;
  #memory: HoldMemory = NOTHING_HELD;
  #isDriverGone = false;
  #isWoken = false;
  #lastRead: { readonly at: Instant; readonly looked: NodeLooked } | undefined;
  #failures = 0;
  #told = "";

  constructor(options: HoldOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#look = new NodeLook(options.sources, options.drainTaints, options.trouble);
    this.#attachments = options.attachments(() => this.#wake.now());
  }

  get startedAt(): Instant {
    return this.#startedAt;
  }

  get attachmentsSeen(): number {
    return this.#attachments.seen;
  }

  /** H8, as far as is known by now. */
  get deadline(): Instant {
    return holdDeadline({
      startedAt: this.#startedAt,
      podGrace: this.#memory.podGrace,
      configuredGrace: this.#options.configuredGrace,
      criticalBudget: this.#options.policy.criticalBudget,
      shuttingDown: this.#memory.shuttingDown,
    });
  }

  /** Reads and decides as the first look of a hold, which then never comes to be. */
  async rehearse(): Promise<void> {
    hold(await this.#observe());
  }

  /** Never rejects (H13). */
  async run(): Promise<HoldEnd> {
    try {
      for (;;) {
        const end = await this.#lookSafely();
        if (end !== undefined) return end;
      }
    } finally {
      this.#over.abort();
      this.#attachments.close();
    }
  }

  /** H13: an error of our own is no reason to let go before the deadline. */
  async #lookSafely(): Promise<HoldEnd | undefined> {
    try {
      return await this.#lookOnce();
    } catch (error) {
      this.#options.log("error", "a look failed", errorFields(error));
      if (this.#options.now() >= this.deadline) {
        return { rule: "H13", reason: "own error at the deadline", detached: false, left: [], held: true };
      }
      this.#isWoken = false;
      await this.#wake.within(SECOND);
      return undefined;
    }
  }

  async #lookOnce(): Promise<HoldEnd | undefined> {
    const { observation, verdict } = this.#decide(await this.#observe());
    this.#memory = rememberHold(observation, verdict);
    if (verdict.kind === "release") return { ...verdict, held: this.#attachments.isStarted };
    if (this.#isDriverGone) return this.#endWithoutDriver(observation);
    this.#tell(verdict);
    this.#isWoken = await this.#wake.within(this.#pauseAfter(verdict));
    return undefined;
  }

  /** Attachments cost something and are read only for a node that is going away, or may be. */
  #decide(observation: HoldObservation): {
    readonly observation: HoldObservation;
    readonly verdict: HoldVerdict;
  } {
    const verdict = hold(observation);
    const needsAttachments = verdict.kind === "hold" && verdict.rule !== "H4";
    if (!needsAttachments || this.#attachments.isStarted) return { observation, verdict };
    // What `work` says to ignore is known from this look on, and is not to be watched at all.
    this.#attachments.ignore(rememberHold(observation, verdict).ignore);
    this.#startWaiting();
    const informed = {
      ...observation,
      attachments: this.#attachments.reading(),
      listed: this.#attachments.isComplete,
    };
    return { observation: informed, verdict: hold(informed) };
  }

  #pauseAfter(verdict: Extract<HoldVerdict, { kind: "hold" }>): number {
    if (this.#failures === 0) return verdict.againSeconds * SECOND;
    const remaining = Math.max(0, this.deadline - this.#options.now());
    return Math.min(backoffAfter(this.#failures, undefined), remaining);
  }

  #startWaiting(): void {
    this.#attachments.start();
    void this.#watchDriver();
  }

  async #watchDriver(): Promise<void> {
    try {
      await this.#options.sources.untilDriverGone?.(this.#over.signal);
    } catch {
      return; // the hold is over
    }
    this.#isDriverGone = this.#options.sources.untilDriverGone !== undefined;
    if (this.#isDriverGone) this.#wake.now();
  }

  #endWithoutDriver({ attachments }: HoldObservation): HoldEnd {
    const left = (valueOf(attachments) ?? [])
      .filter(({ name, local }) => !local && !this.#memory.ignore.includes(name))
      .map(({ name }) => name);
    const reason = "the driver is gone: nobody can unmount here before the next pod";
    return { rule: "H12", reason, detached: false, left, held: true };
  }

  async #observe(): Promise<HoldObservation> {
    const options = this.#options;
    const { node, pod, newestRevision } = this.#recentLook() ?? (await this.#readLook());
    this.#failures = node.kind === "failed" ? this.#failures + 1 : 0;
    if (node.kind === "read" && node.value !== null) {
      options.onNode(node.value.view);
      this.#attachments.expect(this.#namesOf(node.value));
    }
    return {
      at: options.now(),
      startedAt: this.#startedAt,
      policy: options.policy,
      drainTaints: options.drainTaints,
      hooks: options.hooks(),
      configuredGrace: options.configuredGrace,
      pod,
      newestRevision,
      node: node.kind === "read" ? { kind: "read", value: node.value?.view ?? null } : node,
      ...this.#attached(),
      memory: this.#memory,
    };
  }

  #recentLook(): NodeLooked | undefined {
    const last = this.#lastRead;
    // In a shutdown it is the Node's own word that is waited for.
    if (last === undefined || !this.#isWoken || this.#memory.shuttingDown) return undefined;
    const isRecent = this.#options.now() - last.at < RECENT && last.looked.node.kind === "read";
    return isRecent ? last.looked : undefined;
  }

  async #readLook(): Promise<NodeLooked> {
    const at = this.#options.now();
    const signal = AbortSignal.timeout(Math.max(SHORTEST_LOOK, Math.min(LONGEST_LOOK, this.deadline - at)));
    const looked = await this.#look.read(this.#memory.podDeleted, signal);
    this.#lastRead = { at, looked };
    return looked;
  }

  /** After the Node's `work` was read, so that no watch is spent on what it says to ignore. */
  #attached(): Pick<HoldObservation, "attachments" | "listed"> {
    this.#attachments.ignore(this.#memory.ignore);
    return { attachments: this.#attachments.reading(), listed: this.#attachments.isComplete };
  }

  #namesOf({ volumes }: NodeReading) {
    return volumes.map(({ driver, handle }) => ({
      name: this.#options.sources.attachmentName(handle, driver),
      attacher: driver,
      local: isLocal(handle),
    }));
  }

  #tell(verdict: Extract<HoldVerdict, { kind: "hold" }>): void {
    const text = `${verdict.rule} ${verdict.reason}`;
    if (text === this.#told) return;
    this.#told = text;
    this.#options.log("info", "holding", { rule: verdict.rule, reason: verdict.reason });
  }
}
