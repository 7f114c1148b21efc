/** One wait for all containers that ask (H11), and which of them have asked (H4). */
import type { HoldEnd } from "./hold-end.ts";

/** Milliseconds: all containers' hooks of a pod's end arrive within about 25 ms. */
const TOGETHER = 250;

interface Wait {
  readonly arrived: Set<string>;
  readonly end: Promise<HoldEnd>;
  ended?: { readonly end: HoldEnd; readonly at: number };
}

export class SharedWait {
  readonly #begin: (arrived: () => number) => Promise<HoldEnd>;
  readonly #now: () => number;
  #wait: Wait | undefined;
  #anonymous = 0;

  /** @param begin starts a hold, and never rejects; it may ask how many containers' hooks have arrived */
  constructor(
    begin: (arrived: () => number) => Promise<HoldEnd>,
    now: () => number = () => performance.now(),
  ) {
    this.#begin = begin;
    this.#now = now;
  }

  get isWaiting(): boolean {
    return this.#wait !== undefined && this.#wait.ended === undefined;
  }

  /** @param container whose preStop this is; one that does not say counts as another container each time */
  join(container: string | undefined): Promise<HoldEnd> {
    const name = container ?? `(${(this.#anonymous += 1)})`;
    const wait = this.#wait;
    if (wait !== undefined && this.#isSame(wait, name)) {
      wait.arrived.add(name);
      return wait.end;
    }
    return this.#start(name);
  }

  /**
   * A hook that comes a moment after the answer, from a container that has not asked yet, is of the same end of the pod. After one
   * container's restart (H4) nothing is: what comes next may be the pod's end.
   */
  #isSame({ ended, arrived }: Wait, name: string): boolean {
    if (ended === undefined) return true;
    return ended.end.rule !== "H4" && !arrived.has(name) && this.#now() - ended.at < TOGETHER;
  }

  #start(name: string): Promise<HoldEnd> {
    const arrived = new Set([name]);
    const end = this.#begin(() => arrived.size);
    const wait: Wait = { arrived, end };
    this.#wait = wait;
    void this.#noteEnd(wait);
    return end;
  }

  async #noteEnd(wait: Wait): Promise<void> {
    const end = await wait.end;
    wait.ended = { end, at: this.#now() };
  }
}
