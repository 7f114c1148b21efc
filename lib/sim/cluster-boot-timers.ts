import type { Clock } from "./clock.ts";

/** Timers of one machine's kubelet: they end with the boot, and wait while its process is frozen. */
export class BootTimers {
  readonly #clock: Clock;
  #boot = 0;
  #isFrozen = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The answer cancels it. */
  readonly after = (milliseconds: number, run: () => void): (() => void) => {
    const boot = this.#boot;
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled || boot !== this.#boot) return;
      if (this.#isFrozen) this.#held.push(fire);
      else run();
    };
    const cancel = this.#clock.after(milliseconds, fire);
    return () => {
      isCancelled = true;
      cancel();
    };
  };

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const fire of this.#held.splice(0)) fire();
  }

  /** The machine is off: nothing of this boot will run. */
  end(): void {
    this.#boot++;
    this.#isFrozen = false;
    this.#held = [];
  }
}
