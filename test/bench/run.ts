/**
 * npm run bench -- hook [--at 0,1000,10000,100000] [--rounds 5] [--memory-limit 96]
 *
 * Measures on a real API server and prints Markdown on standard output; it writes nothing into the repository. Needs Linux, and what
 * the end-to-end tests need; as root it also tries the memory limit.
 */
import { parseArgs } from "node:util";
import { runHookBench } from "./hook-bench.ts";
import { type HookFigures, hookTable, missedTargets } from "./hook-table.ts";

const MIB = 1_048_576;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      at: { type: "string", default: "0,1000,10000,100000" },
      rounds: { type: "string", default: "5" },
      "memory-limit": { type: "string", default: "96" },
    },
  });
  if (positionals.length !== 1 || positionals[0] !== "hook") {
    say(`expected one bench, "hook", got ${JSON.stringify(positionals)}`);
    return 2;
  }
  const sizes = values.at.split(",").map((size) => wholeNumber("--at", size));
  const figures = await runHookBench(
    {
      sizes: sizes.toSorted((a, b) => a - b),
      rounds: wholeNumber("--rounds", values.rounds, 1),
      memoryLimit: wholeNumber("--memory-limit", values["memory-limit"], 1) * MIB,
    },
    say,
  );
  console.log(hookTable(figures));
  tellMissed(figures);
  return 0;
}

/** The targets are for the largest cluster that they name; they hold in smaller ones all the more. */
function tellMissed(figures: readonly HookFigures[]): void {
  const largest = figures.findLast(({ program }) => program === "hook");
  if (largest === undefined) return;
  const missed = missedTargets(largest);
  console.log(`\nAt ${largest.attachments.toLocaleString("en-US")} attachments the hook misses `);
  console.log(missed.length === 0 ? "no target." : missed.map((each) => `- ${each}`).join("\n"));
}

function wholeNumber(flag: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= least) return value;
  say(`${flag}: expected a whole number from ${least} on, got "${text}"`);
  return process.exit(2);
}

function say(line: string): void {
  console.error(`bench: ${line}`);
}
