/**
 * npm run bench -- hook [--at 0,1000,10000,100000] [--rounds 5] [--memory-limit 96]
 *
 * What a hold costs by the size of the cluster, beside a whole-cluster informer, on a real API server. Needs Linux, and what the
 * end-to-end tests need; as root it also tries the memory limit (MiB).
 */
import { parseArgs } from "node:util";
import { runHookBench } from "./hook-bench.ts";
import { type HookFigures, hookTable, missedTargets } from "./hook-table.ts";
import { UsageError, wholeNumber } from "./usage.ts";

const MIB = 1_048_576;

/** Prints Markdown on standard output. @throws UsageError */
export async function benchHook(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      at: { type: "string", default: "0,1000,10000,100000" },
      rounds: { type: "string", default: "5" },
      "memory-limit": { type: "string", default: "96" },
    },
  });
  const sizes = values.at.split(",").map((size) => wholeNumber("--at", size));
  const options = {
    sizes: sizes.toSorted((a, b) => a - b),
    rounds: wholeNumber("--rounds", values.rounds, 1),
    memoryLimit: wholeNumber("--memory-limit", values["memory-limit"], 1) * MIB,
  };
  if (process.platform !== "linux") throw new UsageError("it reads /proc: run it on Linux");
  const figures = await runHookBench(options, (line) => console.error(`bench: ${line}`));
  console.log(hookTable(figures));
  console.log(`\n${missedText(figures)}`);
}

/** The targets are for the largest cluster; in smaller ones they hold all the more. */
function missedText(figures: readonly HookFigures[]): string {
  const largest = figures.findLast(({ program }) => program === "hook");
  if (largest === undefined) return "Nothing was measured.";
  const at = `At ${largest.attachments.toLocaleString("en-US")} attachments`;
  const missed = missedTargets(largest);
  if (missed.length === 0) return `${at} the hook meets every target.`;
  return [`${at} the hook misses:`, "", ...missed.map((each) => `- ${each}`)].join("\n");
}
