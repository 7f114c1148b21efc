/** The process around a drain by hand: its terminal, its clock, and Ctrl-C. */
import { setTimeout as sleep } from "node:timers/promises";
import { SECOND } from "../drain/time.ts";
import type { Output } from "./connection-options.ts";
import type { DrainSurroundings } from "./drain.ts";
import { liveProgress } from "./live-progress.ts";
import { plainProgress } from "./plain-progress.ts";
import type { Terminal } from "./simulate.ts";

/** From now on the first Ctrl-C only asks for the end; the second one is the system's own. */
export function surroundings(terminal: Terminal, output: Output): DrainSurroundings {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const { signal } = interruption;
  return {
    terminal,
    // What a machine reads on standard output is the answer alone.
    progress: ({ at, node }) =>
      output === "json" || output === "yaml"
        ? plainProgress(terminal.complain, at)
        : process.stdout.isTTY
          ? liveProgress(node.name)
          : plainProgress(terminal.print, at),
    wait: (seconds) =>
      sleep(seconds * SECOND, undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      }),
    isInterrupted: () => signal.aborted,
  };
}
