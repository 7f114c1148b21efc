/**
 * `npm run mutants [-- --seeds 1500] [-- --only D14]`: breaks one rule after the other in a copy of the sources, and runs the soak
 * on each. Prints a table; fails if a mutant survives, or if one no longer applies.
 */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTANTS, type Mutant } from "./mutants.ts";

interface Fate {
  readonly mutant: Mutant;
  readonly killed: boolean;
  /** The first violation, or what went wrong instead. */
  readonly by: string;
  readonly seconds: number;
}

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({
  options: { seeds: { type: "string", default: "1500" }, only: { type: "string" } },
});

const chosen = MUTANTS.filter(({ rule }) => values.only === undefined || rule === values.only);
if (chosen.length === 0) {
  console.error(
    `no mutant breaks ${values.only}; there are ${[...new Set(MUTANTS.map(({ rule }) => rule))].join(", ")}`,
  );
  process.exit(2);
}
console.log(`${chosen.length} mutants, up to ${values.seeds} seeds each; the sources as they are come first`);
const untouched = soak(undefined);
if (untouched.status !== 0) {
  console.error(`the soak fails without any mutant:\n${untouched.stdout}${untouched.stderr}`);
  process.exit(2);
}
const fates = chosen.map((mutant) => {
  const fate = fateOf(mutant);
  console.log(rowOf(fate));
  return fate;
});
const alive = fates.filter(({ killed }) => !killed);
console.log(`${fates.length - alive.length} killed, ${alive.length} survived`);
process.exitCode = alive.length > 0 ? 1 : 0;

function fateOf(mutant: Mutant): Fate {
  const started = Date.now();
  const { status, stdout, stderr } = soak(mutant);
  return { mutant, ...verdictOf(status, stdout, stderr), seconds: (Date.now() - started) / 1_000 };
}

/** The soak over a copy of the sources, to the first violation. */
function soak(mutant: Mutant | undefined): SpawnSyncReturns<string> {
  const copy = mkdtempSync(join(tmpdir(), "ebs-drain-mutant-"));
  try {
    for (const part of ["lib", "test/soak", "package.json"]) {
      cpSync(join(ROOT, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
    if (mutant !== undefined) apply(mutant, copy);
    const args = ["test/soak/run.ts", "--seeds", values.seeds, "--stop"];
    return spawnSync(process.execPath, args, { cwd: copy, encoding: "utf8" });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function apply({ file, from, to }: Mutant, copy: string): void {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  const pieces = source.split(from);
  if (pieces.length !== 2) {
    console.error(`${file} has ${pieces.length - 1} places that read: ${from}`);
    process.exit(2);
  }
  writeFileSync(path, pieces.join(to));
}

/** Killed means that an invariant spoke. A soak that cannot run has found nothing. */
function verdictOf(status: number | null, out: string, err: string): Pick<Fate, "killed" | "by"> {
  const violation = /\b(I\d+): .*/.exec(out)?.[0];
  if (status === 0) return { killed: false, by: "no invariant was violated" };
  if (violation !== undefined) return { killed: true, by: violation };
  return {
    killed: false,
    by: `the soak ended with ${status}: ${(out + err).trim().split("\n").at(-1) ?? ""}`,
  };
}

function rowOf({ mutant, killed, by, seconds }: Fate): string {
  const fate = killed ? "killed  " : "SURVIVED";
  return `${mutant.rule.padEnd(4)} ${fate} ${seconds.toFixed(0).padStart(4)} s  ${mutant.what.padEnd(64)} ${by.slice(0, 110)}`;
}
