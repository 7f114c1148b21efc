/**
 * `npm run soak -- --seeds 10000 [--from 0]`: that many seeded runs, every invariant, on every processor.
 * `npm run soak -- --seed 42`: one of them, with its timeline.
 */
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { isoOf } from "../../lib/drain/time.ts";
import { describeViolations } from "../../lib/sim/invariants.ts";
import { type SoakResult, runSeed } from "./soak-run.ts";

interface Share {
  readonly from: number;
  readonly count: number;
  readonly step: number;
}

/** What a worker tells of one seed. */
interface Told {
  readonly seed: number;
  readonly looks: number;
  readonly outcomes: readonly string[];
  readonly failure?: string;
}

if (isMainThread) await main();
else await work(workerData as Share);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1000" },
      from: { type: "string", default: "0" },
      seed: { type: "string" },
      stop: { type: "boolean", default: false },
    },
  });
  if (values.seed !== undefined) return showOne(wholeNumber("--seed", values.seed));
  const seeds = wholeNumber("--seeds", values.seeds);
  await soak(seeds, wholeNumber("--from", values.from), values.stop);
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`${flag} takes a whole number, not "${text}"`);
  return process.exit(2);
}

async function showOne(seed: number): Promise<void> {
  const result = await runSeed(seed);
  const { run } = result;
  console.log(
    `seed ${seed}: ${run.endings.join()} of ${run.victims.join()}; disturbances: ${run.disturbances.join(", ") || "none"}`,
  );
  console.log(`policy ${JSON.stringify(run.policy)}`);
  for (const { at, lane, subject, text } of run.world.happenings) {
    console.log(`${isoOf(at).slice(11, 23)} ${lane.padEnd(10)} ${subject.padEnd(42)} ${text}`);
  }
  console.log(result.outcomes.join("\n"));
  console.log(describeViolations(result.violations) || "no violation");
  process.exitCode = result.violations.length > 0 ? 1 : 0;
}

/** `stop`: at the first seed that fails, as the mutants need it. */
async function soak(seeds: number, from: number, stop: boolean): Promise<void> {
  const started = Date.now();
  const workers = Math.min(availableParallelism(), seeds);
  const outcomes = new Map<string, number>();
  let looks = 0;
  const failed: Told[] = [];
  const runs = Array.from({ length: workers }, (_, index) => {
    const share: Share = { from: from + index, count: Math.ceil((seeds - index) / workers), step: workers };
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: share });
    worker.on("message", (told: Told) => {
      looks += told.looks;
      for (const outcome of told.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (told.failure === undefined) return;
      failed.push(told);
      if (failed.length <= 10) console.log(`seed ${told.seed} FAILED\n${told.failure}`);
      if (stop) process.exit(1);
    });
    return new Promise<void>((resolve, reject) => {
      worker.on("error", reject);
      worker.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`worker ended with ${code}`))));
    });
  });
  await Promise.all(runs);
  const seconds = ((Date.now() - started) / 1_000).toFixed(0);
  for (const [outcome, count] of [...outcomes].sort(([a], [b]) => a.localeCompare(b)))
    console.log(`${outcome.padEnd(30)} ${count}`);
  console.log(`${seeds} seeds, ${looks} looks, ${failed.length} failed, ${seconds} s`);
  if (failed.length > 0) {
    console.log(`show one: npm run soak -- --seed ${failed[0]?.seed}`);
    process.exitCode = 1;
  }
}

/** To the main thread. */
function report(told: Told): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port has no origin
  parentPort?.postMessage(told);
}

async function work(share: Share): Promise<void> {
  for (let index = 0; index < share.count; index++) {
    report(await tell(share.from + index * share.step));
  }
}

async function tell(seed: number): Promise<Told> {
  try {
    return toldOf(await runSeed(seed));
  } catch (error) {
    return {
      seed,
      looks: 0,
      outcomes: [],
      failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function toldOf({ seed, looks, outcomes, violations, run }: SoakResult): Told {
  const what = `${run.endings.join()}; ${run.disturbances.join(", ")}`;
  return {
    seed,
    looks,
    outcomes,
    ...(violations.length > 0 ? { failure: `${what}\n${describeViolations(violations)}` } : {}),
  };
}
