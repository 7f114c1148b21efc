/**
 * npm run test:e2e -- [--slow] [vitest's filters and flags]
 *
 * Builds the control plane where the machine does not have it yet, runs the tests under test/e2e, and ends whatever
 * they left running. `--slow` adds the tests that wait for Kubernetes' own minutes.
 */
import { spawn } from "node:child_process";
import { constants, tmpdir } from "node:os";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildPrograms } from "./build.ts";
import { endLeftovers } from "./child-programs.ts";
import { MissingPrerequisiteError } from "./prerequisites.ts";
import { leftOutFile, slowVariable, stateRootVariable } from "./run-settings.ts";

const slowFlag = "--slow";
const repository = path.resolve(import.meta.dirname, "../..");

process.exitCode = await main(process.argv.slice(2));

/** @returns the exit code: vitest's, or 1 where it did not come to that */
async function main(args: readonly string[]): Promise<number> {
  try {
    await buildPrograms(say);
  } catch (error) {
    say(error instanceof MissingPrerequisiteError ? error.message : String(error));
    return 1;
  }
  const isSlow = args.includes(slowFlag);
  const root = await mkdtemp(path.join(tmpdir(), "ebs-drain-e2e-run-"));
  const code = await runVitest(
    args.filter((arg) => arg !== slowFlag),
    { [stateRootVariable]: root, [slowVariable]: isSlow ? "1" : "0" },
  );
  const left = await endLeftovers(root);
  if (left.length > 0) say(`ended what the tests left running: ${left.join(", ")}`);
  await reportLeftOut(root);
  if (code === 0) await rm(root, { recursive: true, force: true });
  else say(`logs of the control planes: ${root}`);
  return code;
}

async function runVitest(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const vitest = path.join(
    path.dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))),
    "vitest.mjs",
  );
  const child = spawn(process.execPath, [vitest, "run", "--project", "e2e", ...args], {
    cwd: repository,
    env: { ...process.env, ...env },
    stdio: "inherit",
  });
  // Stay until vitest has ended: what it leaves running is ended here.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

async function reportLeftOut(root: string): Promise<void> {
  const names = await readFile(path.join(root, leftOutFile), "utf8").catch(() => "");
  if (names === "") return;
  const list = names.trimEnd().split("\n");
  say(`left out as slow; ${slowFlag} runs them:\n  ${list.join("\n  ")}`);
}

function say(line: string): void {
  console.error(`test:e2e: ${line}`);
}
