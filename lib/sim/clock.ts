/**
 * Time for the simulated world. `VirtualClock` jumps from one due event to the next; `RealClock` lets the same simulated services
 * stand behind a real control plane.
 *
 * Code under test is real asynchronous code. It runs as an *actor*: whatever it asks of the world goes through `call`, which
 * answers after some virtual time. The clock moves on only when every running actor waits for such an answer, so runs are exact and
 * repeat by seed, however long the code between two calls takes in real time.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate as immediate } from "node:timers/promises";
import type { Instant } from "../drain/time.ts";

export interface Clock {
  readonly now: () => Instant;
  /** Runs `run` once, `milliseconds` from now. The answer cancels it. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
}

export class RealClock implements Clock {
  readonly now = (): Instant => Date.now();
  readonly after = (milliseconds: number, run: () => void): (() => void) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  };
}

interface Due {
  readonly at: Instant;
  readonly sequence: number;
  readonly run: () => void;
  cancelled: boolean;
}

interface Actor {
  readonly name: string;
  pending: number;
}

/** Real milliseconds that an actor may spend outside the world before the run is called stuck. */
const STUCK_AFTER = 30_000;

export class VirtualClock implements Clock {
  #now: Instant;
  #sequence = 0;
  readonly #queue: Due[] = [];
  readonly #actors = new Set<Actor>();
  readonly #current = new AsyncLocalStorage<Actor>();

  constructor(start: Instant) {
    this.#now = start;
  }

  readonly now = (): Instant => this.#now;

  readonly after = (milliseconds: number, run: () => void): (() => void) => {
    const due: Due = {
      at: this.#now + Math.max(0, milliseconds),
      sequence: this.#sequence++,
      run,
      cancelled: false,
    };
    push(this.#queue, due);
    return () => {
      due.cancelled = true;
    };
  };

  /** Runs real code in this world. Its calls belong to it until it ends. */
  actor<T>(name: string, work: () => Promise<T>): Promise<T> {
    const actor: Actor = { name, pending: 0 };
    this.#actors.add(actor);
    return this.#current.run(actor, () => work().finally(() => this.#actors.delete(actor)));
  }

  /** An actor's question to the world: `answer` runs `milliseconds` later and what it returns or throws is the outcome. */
  call<T>(milliseconds: number, answer: () => T): Promise<T> {
    const actor = this.#current.getStore();
    if (actor !== undefined) actor.pending++;
    return new Promise<T>((resolve, reject) => {
      this.after(milliseconds, () => {
        if (actor !== undefined) actor.pending--;
        try {
          resolve(answer());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  sleep(milliseconds: number): Promise<void> {
    return this.call(milliseconds, () => undefined);
  }

  /** Runs every event due until `until` or until `enough` says so after one; then stands at the last event's time, or at `until`. */
  async advance(until: Instant, enough: () => boolean = () => false): Promise<void> {
    for (;;) {
      await this.#settle();
      if (enough()) return;
      const due = this.#next(until);
      if (due === undefined) break;
      this.#now = due.at;
      due.run();
    }
    this.#now = Math.max(this.#now, until);
  }

  #next(until: Instant): Due | undefined {
    for (;;) {
      const first = this.#queue[0];
      if (first === undefined || first.at > until) return undefined;
      pop(this.#queue);
      if (!first.cancelled) return first;
    }
  }

  async #settle(): Promise<void> {
    if (this.#actors.size === 0) return;
    const started = Date.now();
    do {
      await immediate();
      if (Date.now() - started > STUCK_AFTER) {
        const names = [...this.#actors].filter((actor) => actor.pending === 0).map((actor) => actor.name);
        throw new Error(`waits for something outside the simulated world: ${names.join(", ")}`);
      }
    } while ([...this.#actors].some((actor) => actor.pending === 0));
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}

function push(heap: Due[], due: Due): void {
  heap.push(due);
  let index = heap.length - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!swapIfBefore(heap, index, parent)) return;
    index = parent;
  }
}

function pop(heap: Due[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  heap[0] = last;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const right = left + 1;
    const smaller = isLess(heap, right, left) ? right : left;
    if (!swapIfBefore(heap, smaller, index)) return;
    index = smaller;
  }
}

function isLess(heap: readonly Due[], a: number, b: number): boolean {
  const first = heap[a];
  const second = heap[b];
  return first !== undefined && second !== undefined && isBefore(first, second);
}

function swapIfBefore(heap: Due[], child: number, parent: number): boolean {
  const a = heap[child];
  const b = heap[parent];
  if (a === undefined || b === undefined || !isBefore(a, b)) return false;
  heap[child] = b;
  heap[parent] = a;
  return true;
}
