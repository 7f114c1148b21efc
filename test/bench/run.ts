/** npm run bench -- <name> [flags]: measures, prints Markdown on standard output, and writes nothing into the repository. */
import { benchHook } from "./hook.ts";
import { benchScale } from "./scale.ts";
import { UsageError } from "./usage.ts";

/** Each takes its own flags. @throws UsageError, or the TypeError of node:util's parseArgs */
const BENCHES: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  hook: benchHook,
  scale: benchScale,
};

// An orderly exit ends the programs that a bench has started.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const [name = "", ...flags] = process.argv.slice(2);
try {
  const bench = BENCHES[name];
  if (bench === undefined) {
    throw new UsageError(`expected one of ${Object.keys(BENCHES).join(", ")}, got "${name}"`);
  }
  await bench(flags);
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error as NodeJS.ErrnoException).code?.startsWith("ERR_PARSE_ARGS");
  if (isUsage !== true) throw error;
  console.error(`bench: ${(error as Error).message}`);
  process.exitCode = 2;
}
