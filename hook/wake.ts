/** Sleeping until a time, or until somebody says that it is worth looking. */
export class Wake {
  #isDue = false;
  #end: (() => void) | undefined;

  /** Ends the sleep; where nobody sleeps, the next one ends at once. */
  now(): void {
    this.#isDue = true;
    this.#end?.();
  }

  /** Resolves after this many milliseconds at the latest. */
  async within(milliseconds: number): Promise<void> {
    if (!this.#isDue) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#end = undefined;
    this.#isDue = false;
  }
}
