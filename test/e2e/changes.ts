/** Waiting for a condition over changing state, without asking again and again. */
import { EventEmitter, once, setMaxListeners } from "node:events";

const changed = "changed";

export class Changes {
  readonly #emitter = new EventEmitter();

  constructor() {
    setMaxListeners(0, this.#emitter); // one per pod that waits
  }

  notify(): void {
    this.#emitter.emit(changed);
  }

  /**
   * Returns true once the condition holds, false after `limitMs`.
   * @throws when `signal` is aborted
   */
  async until(isTrue: () => boolean, signal: AbortSignal, limitMs?: number): Promise<boolean> {
    const end = limitMs === undefined ? undefined : performance.now() + limitMs;
    const alarm = limitMs === undefined ? undefined : setTimeout(() => this.notify(), limitMs + 1);
    try {
      for (;;) {
        signal.throwIfAborted();
        if (isTrue()) return true;
        if (end !== undefined && performance.now() >= end) return false;
        await once(this.#emitter, changed, { signal });
      }
    } finally {
      clearTimeout(alarm);
    }
  }
}
