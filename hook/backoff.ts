/** Waiting between tries (H7). */
import { setTimeout as delay } from "node:timers/promises";
import { PortError } from "../lib/engine/errors.ts";

/** Milliseconds. A passing fault costs little; hundreds of nodes that lost the same API server must not come back as one. */
const FIRST = 100;
const LONGEST = 5_000;

/**
 * Milliseconds to wait after so many failures in a row (1 is the first): doubled each time, half of it by chance, at least what the
 * API server asked for where that is short enough to be waited for.
 * @param random from 0 to below 1
 */
export function backoffAfter(failures: number, error: unknown, random: () => number = Math.random): number {
  const base = Math.min(LONGEST, FIRST * 2 ** Math.min(failures - 1, 10));
  const asked = error instanceof PortError ? (error.retryAfter ?? 0) * 1_000 : 0;
  return Math.max(base * (0.5 + random() / 2), Math.min(asked, LONGEST));
}

/** Resolves after this many milliseconds; rejects once the signal is aborted. Keeps no process alive. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal, ref: false });
}
