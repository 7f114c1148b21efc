/** H12: whether the CSI driver still answers. A dead one is not started again in a pod that is being stopped. */
import { connect } from "node:net";
import { setInterval as every } from "node:timers/promises";

/** Milliseconds between two knocks; this many failures in a row make about a second. */
const KNOCK_EVERY = 200;
const FAILURES = 5;
const KNOCK_TIMEOUT = 1_000;

/**
 * Resolves once the socket has refused for about a second. A socket that was never there during this watch is a wrong path, not a dead
 * driver; one that may not be opened, or is busy, tells nothing. Rejects when the signal is aborted.
 */
export async function untilDriverGone(socket: string, signal: AbortSignal): Promise<void> {
  let wasThere = false;
  let failures = 0;
  for await (const _ of every(KNOCK_EVERY, undefined, { signal, ref: false })) {
    const answer = await knock(socket);
    if (answer === "open") wasThere = true;
    const isGone = answer === "refused" || (answer === "absent" && wasThere);
    failures = isGone ? failures + 1 : 0;
    if (failures >= FAILURES) return;
  }
}

type Answer = "open" | "refused" | "absent" | "unclear";

function knock(socket: string): Promise<Answer> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const end = (answer: Answer): void => {
      connection.destroy();
      resolve(answer);
    };
    connection.setTimeout(KNOCK_TIMEOUT, () => end("unclear"));
    connection.on("connect", () => end("open"));
    connection.on("error", (error: NodeJS.ErrnoException) => end(ANSWERS[error.code ?? ""] ?? "unclear"));
  });
}

const ANSWERS: Readonly<Record<string, Answer>> = { ECONNREFUSED: "refused", ENOENT: "absent" };
