/** How the simulated controllers take up work: after a moment, once per key, and only while what they work through is there. */
import type { Clock } from "./clock.ts";

/** Something that may be away: the API server, a controller's process. Closed for several reasons at once, or by a parent. */
export class Gate {
  readonly #parents: readonly Gate[];
  readonly #reasons = new Set<string>();
  readonly #waiting: (() => void)[] = [];

  constructor(...parents: readonly Gate[]) {
    this.#parents = parents;
    for (const parent of parents) parent.#children.push(this);
  }

  readonly #children: Gate[] = [];

  get isOpen(): boolean {
    return this.#reasons.size === 0 && this.#parents.every((parent) => parent.isOpen);
  }

  close(reason: string): void {
    this.#reasons.add(reason);
  }

  open(reason: string): void {
    this.#reasons.delete(reason);
    this.#release();
  }

  /** Runs `run` once, when the gate opens again. */
  whenOpen(run: () => void): void {
    this.#waiting.push(run);
  }

  #release(): void {
    if (!this.isOpen) return;
    for (const run of this.#waiting.splice(0)) run();
    for (const child of this.#children) child.#release();
  }
}

/** One round of a controller for one key, as client-go's work queues coalesce them. */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #process: (key: string) => void;
  readonly #delay: () => number;
  readonly #due = new Map<string, { readonly at: number; readonly cancel: () => void }>();

  /** `delay`: milliseconds from an event to the round it causes. */
  constructor(clock: Clock, gate: Gate, delay: () => number, process: (key: string) => void) {
    this.#clock = clock;
    this.#gate = gate;
    this.#delay = delay;
    this.#process = process;
  }

  /** Asks for a round in `after` milliseconds; an earlier one that is due already stays. */
  add(key: string, after: number = this.#delay()): void {
    const at = this.#clock.now() + after;
    const due = this.#due.get(key);
    if (due !== undefined) {
      if (due.at <= at) return;
      due.cancel();
    }
    this.#due.set(key, { at, cancel: this.#clock.after(after, () => this.#run(key)) });
  }

  #run(key: string): void {
    this.#due.delete(key);
    if (this.#gate.isOpen) this.#process(key);
    else this.#gate.whenOpen(() => this.add(key));
  }
}
