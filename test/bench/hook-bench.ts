/** `npm run bench -- hook`: what a hold costs by the size of the cluster, beside a whole-cluster informer, on a real API server. */
import path from "node:path";
import { build } from "esbuild";
import { bundleHook } from "../../scripts/hook-image/bundle.ts";
import { readDockerfile } from "../../scripts/hook-image/dockerfile.ts";
import { buildPrograms } from "../e2e/build.ts";
import { BenchCluster } from "./bench-cluster.ts";
import { type HoldFigures, limitedRound, holdRound, receivedRound, skipRound } from "./hook-rounds.ts";
import type { HookFigures } from "./hook-table.ts";
import { median } from "./median.ts";
import type { WaitingProgram } from "./waiting-process.ts";

export interface HookBenchOptions {
  /** Attachments in the cluster, growing. */
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** Bytes; every program also has to hold within this. */
  readonly memoryLimit: number;
}

/** Figures by size and program. */
export async function runHookBench(
  options: HookBenchOptions,
  say: (line: string) => void,
): Promise<readonly HookFigures[]> {
  await buildPrograms(say);
  const cluster = await BenchCluster.start(say);
  try {
    return await measureAll(cluster, options, say);
  } finally {
    await cluster.stop();
  }
}

async function measureAll(
  cluster: BenchCluster,
  { sizes, rounds, memoryLimit }: HookBenchOptions,
  say: (line: string) => void,
): Promise<readonly HookFigures[]> {
  const programs = [await hookProgram(cluster.folder), await informerProgram(cluster.folder)];
  const figures: HookFigures[] = [];
  for (const size of sizes) {
    await cluster.grow(size);
    for (const program of programs) {
      say(`${size} attachments: ${program.name}`);
      figures.push({
        attachments: size,
        program: program.name,
        ...(await measure(cluster, program, rounds, memoryLimit)),
      });
    }
  }
  return figures;
}

/** As the image has it. */
async function hookProgram(folder: string): Promise<WaitingProgram> {
  await bundleHook(folder);
  const { Entrypoint } = await readDockerfile();
  return { name: "hook", file: path.join(folder, "server.mjs"), nodeFlags: Entrypoint.slice(1, -1) };
}

async function informerProgram(folder: string): Promise<WaitingProgram> {
  const outfile = path.join(folder, "informer.mjs");
  await build({
    entryPoints: [path.join(import.meta.dirname, "whole-cluster-informer.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    banner: {
      js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
    },
    logLevel: "warning",
  });
  return { name: "informer", file: outfile, nodeFlags: [] };
}

async function measure(
  cluster: BenchCluster,
  program: WaitingProgram,
  rounds: number,
  memoryLimit: number,
): Promise<Omit<HookFigures, "attachments" | "program">> {
  const skips: number[] = [];
  const holds: HoldFigures[] = [];
  for (let round = 0; round < rounds; round++) {
    skips.push(await skipRound(cluster, program));
    holds.push(await holdRound(cluster, program));
  }
  const middle = (of: (figures: HoldFigures) => number): number => median(holds.map(of));
  const { held, stayed } = await receivedRound(cluster, program);
  return {
    idle: middle(({ idle }) => idle.resident),
    anonymous: middle(({ idle }) => idle.anonymous),
    // The worst, not the middle: one round above the limit is one killed process.
    peakInList: Math.max(...holds.map(({ peakInList }) => peakInList)),
    received: held.total,
    receivedWithoutList: held.total - held.list,
    receivedStaying: stayed.total,
    processor: middle(({ processor }) => processor),
    staying: median(skips),
    answer: middle(({ answer }) => answer),
    limited: await limitedRound(cluster, program, memoryLimit),
  };
}
