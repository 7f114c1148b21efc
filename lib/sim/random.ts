/** A seeded source of choices: the same seed gives the same world. Mulberry32: 32 bits of state are plenty for a test's choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** Whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[Math.floor(this.next() * choices.length)];
    if (choice === undefined) throw new RangeError("nothing to pick from");
    return choice;
  }

  /** A generator of its own: what one part draws does not shift what another part draws. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 4_294_967_296));
  }
}
