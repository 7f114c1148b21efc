/** Calling the API server as a kubelet does: through any outage of it. */
import { setTimeout as delay } from "node:timers/promises";
import { ApiRequestError } from "./api-client.ts";

const retryMs = 250;

/**
 * Calls until there is an answer. 409 is called again too: somebody else wrote at the same moment.
 * @throws for a request that the API server refuses for good, and when the kubelet ends
 */
export async function persist<T>(host: { readonly signal: AbortSignal }, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      host.signal.throwIfAborted();
      if (error instanceof ApiRequestError && isRefusal(error.status)) throw error;
    }
    await delay(retryMs, undefined, { signal: host.signal });
  }
}

function isRefusal(status: number): boolean {
  return status < 500 && status !== 429 && status !== 409;
}
