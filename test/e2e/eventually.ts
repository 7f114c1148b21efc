/** Waiting for what the control plane does in its own time. */
import { setTimeout as delay } from "node:timers/promises";

const pollMs = 100;

type Truthy<T> = Exclude<T, false | 0 | "" | null | undefined>;

/**
 * Asks until the answer is truthy, and returns it. The limit only catches hangs.
 * @throws naming what never came true
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T> | T,
  limitSeconds = 120,
): Promise<Truthy<T>> {
  const end = performance.now() + limitSeconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer as Truthy<T>;
    if (performance.now() > end) throw new Error(`never within ${limitSeconds} s: ${what}`);
    await delay(pollMs);
  }
}
