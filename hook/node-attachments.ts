/**
 * The attachments of this node during one hold (H5): names that follow from the node's own volumes are watched at once, one list of the
 * cluster's attachments says whether there are others. A few are watched at a time: the last one to go is always among them.
 */
import type { HeldAttachment } from "../lib/drain/hold.ts";
import type { AttachmentRow } from "../lib/drain/cluster.ts";
import type { Failure, Reading } from "../lib/drain/observation.ts";
import { UNREAD } from "../lib/drain/observation.ts";
import type { PortError } from "../lib/engine/errors.ts";
import { backoffAfter, pause } from "./backoff.ts";
import type { Watched } from "./attachment-watch.ts";

/** How this node's attachments are read; each is one function of the API client, with its connection. */
export interface AttachmentSource {
  readonly list: (signal: AbortSignal) => Promise<readonly AttachmentRow[]>;
  readonly isLocal: (row: AttachmentRow, signal: AbortSignal) => Promise<boolean>;
  readonly untilGone: (name: string, watched: Watched, signal: AbortSignal) => Promise<void>;
}

export interface NodeAttachmentsOptions {
  readonly source: AttachmentSource;
  /** Attachments of other drivers are nobody's business here (C25). */
  readonly drivers: readonly string[];
  /** Something that a hold waits for has happened: the list is complete, or the last attachment is gone. */
  readonly onChange: () => void;
  readonly onTrouble: (error: PortError) => void;
}

/** Each watch holds a connection. */
const MOST_WATCHES = 8;

interface Entry extends HeldAttachment {
  /** `unknown` until somebody has looked: a name that follows from a volume need not be there. */
  state: "unknown" | "there" | "gone";
  /** Ends its watch, where it has one. */
  watch?: AbortController;
}

export class NodeAttachments {
  readonly #options: NodeAttachmentsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #over = new AbortController();
  readonly #seen = new Set<string>();
  #expected: ReadonlySet<string> = new Set();
  #ignore: readonly string[] = [];
  #isStarted = false;
  #isListed = false;
  #failure: Failure | undefined;

  constructor(options: NodeAttachmentsOptions) {
    this.#options = options;
  }

  /** Begins the list and the watches; again does nothing. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    void this.#list();
    this.#watchMore();
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /**
   * Attachments that follow from the node's volumes, as the Node lists them now. The kubelet's list is seconds late: one that has gone
   * counts again only where the Node had stopped to list it.
   */
  expect(attachments: readonly HeldAttachment[]): void {
    for (const attachment of attachments) {
      if (!this.#expected.has(attachment.name)) this.#add(attachment, "unknown");
    }
    this.#expected = new Set(attachments.map(({ name }) => name));
    this.#watchMore();
  }

  /** Names that `work` says not to wait for: no watch is spent on them. */
  ignore(names: readonly string[]): void {
    this.#ignore = names;
    for (const name of names) this.#entries.get(name)?.watch?.abort();
    this.#watchMore();
  }

  /** The list was read to its end and each name was looked at, so that nothing of the node is unknown. */
  get isComplete(): boolean {
    return this.#isListed && this.#entriesThat("unknown").every(({ name }) => this.#ignore.includes(name));
  }

  /** What is known to be there; `failed` where nothing could be read yet. */
  reading(): Reading<readonly HeldAttachment[]> {
    if (!this.#isStarted) return UNREAD;
    const there = this.#entriesThat("there");
    if (there.length === 0 && !this.#isListed && this.#failure !== undefined) {
      return { kind: "failed", failure: this.#failure };
    }
    return { kind: "read", value: there.map(({ name, attacher, local }) => ({ name, attacher, local })) };
  }

  /** How many were ever there. */
  get seen(): number {
    return this.#seen.size;
  }

  close(): void {
    this.#over.abort();
    for (const { watch } of this.#entries.values()) watch?.abort();
  }

  async #list(): Promise<void> {
    const { signal } = this.#over;
    for (let failures = 1; ; failures++) {
      try {
        const rows = await this.#options.source.list(signal);
        await Promise.all(rows.map((row) => this.#addRow(row)));
        this.#isListed = true;
        this.#watchMore();
        this.#options.onChange();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#noteTrouble(error as PortError);
        await pause(backoffAfter(failures, error), signal).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }

  async #addRow(row: AttachmentRow): Promise<void> {
    const { name, attacher } = row;
    if (this.#entries.has(name) || !this.#options.drivers.includes(attacher)) return;
    // One whose volume cannot be read counts: better to wait for too many than for too few.
    const local = await this.#options.source.isLocal(row, this.#over.signal).catch(() => false);
    this.#add({ name, attacher, local }, "there");
  }

  #add({ name, attacher, local }: HeldAttachment, state: Entry["state"]): void {
    const known = this.#entries.get(name);
    if (!this.#options.drivers.includes(attacher)) return;
    // Attached again while the node still runs pods: its name is that of the one that has gone.
    if (known !== undefined && known.state !== "gone") return;
    if (state === "there") this.#seen.add(name);
    this.#entries.set(name, { name, attacher, local, state: local ? "there" : state });
  }

  #entriesThat(state: Entry["state"]): readonly Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.state === state);
  }

  #watchMore(): void {
    if (!this.#isStarted || this.#over.signal.aborted) return;
    let watches = [...this.#entries.values()].filter(({ watch }) => watch !== undefined).length;
    for (const entry of this.#entries.values()) {
      if (watches >= MOST_WATCHES) return;
      if (entry.state === "gone" || entry.local || entry.watch !== undefined) continue;
      if (this.#ignore.includes(entry.name)) continue;
      watches += 1;
      void this.#watch(entry);
    }
  }

  async #watch(entry: Entry): Promise<void> {
    const watch = new AbortController();
    entry.watch = watch;
    const watched: Watched = {
      onThere: () => {
        if (entry.state === "gone") return;
        entry.state = "there";
        this.#seen.add(entry.name);
      },
      onTrouble: (error) => this.#noteTrouble(error),
    };
    try {
      await this.#options.source.untilGone(entry.name, watched, watch.signal);
      entry.state = "gone";
    } catch {
      // Ended by us: it is ignored, or the hold is over.
    }
    delete entry.watch;
    this.#watchMore();
    if (this.#isNothingLeft()) this.#options.onChange();
  }

  #isNothingLeft(): boolean {
    return (
      this.isComplete &&
      this.#entriesThat("there").every((entry) => entry.local || this.#ignore.includes(entry.name))
    );
  }

  #noteTrouble(error: PortError): void {
    this.#failure = { operation: error.operation, cause: error.kind, message: error.message };
    this.#options.onTrouble(error);
  }
}
