/** Sleeping until a time, or until somebody says that it is worth looking. */
export class Wake {
  #isDue = false;
  #end: (() => void) | undefined;

  /** Ends the sleep; where nobody sleeps, the next one ends at once. */
  now(): void {
    this.#isDue = true;
    this.#end?.();
  }

  /** Resolves after this many milliseconds at the latest, with whether somebody said so. */
  async within(milliseconds: number): Promise<boolean> {
    if (!this.#isDue) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const isWoken = this.#isDue;
    this.#end = undefined;
    this.#isDue = false;
    return isWoken;
  }
}
