/** The latest versions of one object, so that an eventually consistent describe call can answer as of a moment ago. */
import type { Instant } from "../drain/time.ts";

interface Version<T> {
  readonly at: Instant;
  readonly value: T | undefined;
}

export class Versions<T> {
  #versions: Version<T>[] = [];
  readonly #keep: number;

  /** `keep`: milliseconds for which an outdated version can still be asked for. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  get current(): T | undefined {
    return this.#versions.at(-1)?.value;
  }

  /** `undefined`: the object is gone. */
  set(at: Instant, value: T | undefined): void {
    const outdated = this.#versions.findLastIndex((version) => version.at <= at - this.#keep);
    this.#versions = this.#versions.slice(Math.max(0, outdated));
    this.#versions.push({ at, value });
  }

  asOf(at: Instant): T | undefined {
    return this.#versions.findLast((version) => version.at <= at)?.value;
  }
}
