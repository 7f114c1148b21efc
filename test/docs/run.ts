/**
 * npm run docs:check -- [FILE...]
 *
 * Runs every command that the documents print, in a copy of the project and with no cluster and no AWS account; reads those that need
 * one, or that .ci/run runs itself. A comment before the block says which: see command-blocks.ts.
 */
import { execFile, spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../e2e/cache.ts";
import { AcceptedCommands } from "./accepted.ts";
import type { CommandBlock } from "./command-blocks.ts";
import { commandBlocksOf, inlineCommandsOf } from "./command-blocks.ts";
import { simpleCommandsOf } from "./simple-commands.ts";

const run = promisify(execFile);
const repository = path.resolve(import.meta.dirname, "..", "..");
/** Milliseconds: what takes longer hangs. */
const LONGEST = 600_000;

process.exitCode = await main(process.argv.slice(2));

async function main(only: readonly string[]): Promise<number> {
  const files = (await projectFiles()).filter((file) => file.endsWith(".md"));
  const wanted = only.length === 0 ? files : files.filter((file) => only.includes(file));
  const unread = only.filter((file) => !files.includes(file));
  if (unread.length > 0) return complain([`no such document: ${unread.join(", ")}`]);
  const texts = await Promise.all(
    wanted.map(async (file) => ({ file, text: await readFile(path.join(repository, file), "utf8") })),
  );
  const blocks = texts.flatMap(({ file, text }) => commandBlocksOf(file, text));
  const inline = texts.flatMap(({ file, text }) => inlineCommandsOf(file, text));
  const problems = [
    ...(await checkRead([...blocks, ...inline])),
    ...(await checkCi(blocks)),
    ...(await runAll(blocks)),
  ];
  return complain(problems);
}

function complain(problems: readonly string[]): number {
  for (const problem of problems) console.error(`docs:check: ${problem}`);
  console.log(
    problems.length === 0
      ? "docs:check: every command that the documents print works or is understood"
      : `docs:check: ${problems.length} problems`,
  );
  return problems.length === 0 ? 0 : 1;
}

/** Files that git knows or would take. */
async function projectFiles(): Promise<readonly string[]> {
  const { stdout } = await run("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: repository,
  });
  const files = [...new Set(stdout.split("\0").filter((file) => file !== ""))];
  const there = await Promise.all(
    files.map((file) =>
      stat(path.join(repository, file)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return files.filter((_, index) => there[index]);
}

/** Programs, subcommands and flags of all commands, also of those that are run. */
async function checkRead(blocks: readonly CommandBlock[]): Promise<readonly string[]> {
  const commands = new AcceptedCommands(await findKubectl());
  const unknown = new Map<string, number>();
  const problems: string[] = [];
  for (const { file, line, script } of blocks) {
    const syntax = await run("bash", ["-n", "-c", script]).then(
      () => "",
      (error: unknown) => String(error),
    );
    if (syntax !== "") problems.push(`${file}:${line}: the shell does not understand it: ${syntax}`);
    for (const words of simpleCommandsOf(script)) {
      const verdict = await commands.judge(words);
      if (verdict.kind === "refused") problems.push(`${file}:${line}: ${words.join(" ")}: ${verdict.why}`);
      if (verdict.kind === "unknown-program")
        unknown.set(verdict.program, (unknown.get(verdict.program) ?? 0) + 1);
    }
  }
  const rest = [...unknown].map(([program, count]) => `${program} ${count}`).join(", ");
  console.log(
    `docs:check: ${blocks.length} blocks and sentences read; by the shell only: ${rest === "" ? "none" : rest}`,
  );
  return problems;
}

/** On the PATH, or the one that the end-to-end tests have built. */
async function findKubectl(): Promise<string | undefined> {
  const found = await run("bash", ["-c", "command -v kubectl"]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );
  if (found !== "") return found;
  const cache = cacheDirectory();
  const folders = (await readdir(cache).catch(() => [])).filter((name) => name.startsWith("controlplane-"));
  const [first] = folders;
  return first === undefined ? undefined : path.join(cache, first, "kubectl");
}

/** What is left to .ci/run has to be in it. */
async function checkCi(blocks: readonly CommandBlock[]): Promise<readonly string[]> {
  const ci = await readFile(path.join(repository, ".ci", "run"), "utf8");
  const steps = ci.split("\n").filter((line) => line.startsWith("step npm "));
  return blocks
    .filter(({ treatment }) => treatment.kind === "ci")
    .flatMap(({ file, line, script }) =>
      simpleCommandsOf(script)
        .filter((words) => !steps.some((step) => isStep(step, words)))
        .map((words) => `${file}:${line}: .ci/run does not run "${words.join(" ")}"`),
    );
}

/** Flags may differ: `npm ci --no-audit` is `npm ci`. */
function isStep(step: string, words: readonly string[]): boolean {
  const names = (all: readonly string[]): string =>
    all
      .filter((word) => !word.startsWith("-"))
      .slice(0, 3)
      .join(" ");
  return names(step.split(" ").slice(1)) === names(words);
}

/** The copy shares its packages with the checkout. */
function isInstall({ script }: CommandBlock): boolean {
  return simpleCommandsOf(script).some(
    ([program, command]) => program === "npm" && ["ci", "install"].includes(command ?? ""),
  );
}

async function runAll(blocks: readonly CommandBlock[]): Promise<readonly string[]> {
  const toRun = blocks.filter(({ treatment }) => treatment.kind === "run");
  const installs = toRun.filter(isInstall);
  if (installs.length > 0) {
    return installs.map(
      ({ file, line }) => `${file}:${line}: packages are installed by .ci/run only: mark the block "ci"`,
    );
  }
  const copy = await mkdtemp(path.join(tmpdir(), "ebs-drain-docs-"));
  try {
    await copyProject(copy);
    const problems: string[] = [];
    for (const block of toRun) {
      const begun = performance.now();
      const failure = await runBlock(block, copy);
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      console.log(
        `docs:check: ${failure === undefined ? "ran" : "FAILED"} ${block.file}:${block.line} (${seconds} s)`,
      );
      if (failure !== undefined) problems.push(`${block.file}:${block.line}: ${failure}`);
    }
    return problems;
  } finally {
    await rm(copy, { recursive: true });
  }
}

/** Commands may write files: not into the checkout. `ebs-drain` is on the PATH there, as after an installation. */
async function copyProject(copy: string): Promise<void> {
  for (const file of await projectFiles()) {
    await mkdir(path.dirname(path.join(copy, file)), { recursive: true });
    await cp(path.join(repository, file), path.join(copy, file));
  }
  await symlink(path.join(repository, "node_modules"), path.join(copy, "node_modules"));
  await mkdir(path.join(copy, "build", "bin"), { recursive: true });
  const program = path.join(copy, "build", "bin", "ebs-drain");
  await writeFile(
    program,
    `#!/bin/sh\nexec "${process.execPath}" "${path.join(copy, "bin", "ebs-drain.ts")}" "$@"\n`,
  );
  await chmod(program, 0o755);
}

async function runBlock({ script }: CommandBlock, copy: string): Promise<string | undefined> {
  const child = spawn("bash", ["-euo", "pipefail", "-c", script], {
    cwd: copy,
    env: {
      ...process.env,
      PATH: `${path.join(copy, "build", "bin")}:${process.env["PATH"] ?? ""}`,
      KUBECONFIG: path.join(copy, "no-kubeconfig"),
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: what it has started ends with it.
    detached: true,
  });
  const { pid } = child;
  const tooLong = setTimeout(() => {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  }, LONGEST);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (output = `${output}${data.toString()}`.slice(-2_000)));
  const code = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exit, signal) => resolve(exit ?? signal));
  });
  clearTimeout(tooLong);
  return code === 0 ? undefined : `ended with ${code}\n${output}`;
}
