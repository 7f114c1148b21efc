/** Single rounds of the hook bench: a fresh node and a fresh process each, because a hook's process answers once in its life. */
import { setTimeout as delay } from "node:timers/promises";
import type { BenchCluster } from "./bench-cluster.ts";
import type { Received } from "./counting-proxy.ts";
import { MemoryGroup } from "./memory-group.ts";
import { type Memory, memoryOf, processorSeconds, resetPeak } from "./process-figures.ts";
import { WaitingProcess, type WaitingProgram } from "./waiting-process.ts";

/** Milliseconds after which a started process has done what it does at its start. */
const SETTLED = 3_000;
/** After the list: watches are open, memory is given back, and no deletion is waited for by anything but the watches. */
const QUIET = 1_000;

export interface HoldFigures {
  readonly idle: Memory;
  /** Most resident bytes from the question until the list was complete. */
  readonly peakInList: number;
  /** Milliseconds from the last attachment's end to the answer. */
  readonly answer: number;
  /** Seconds of processor time from its start to the answer. */
  readonly processor: number;
}

/** Milliseconds to the answer on a node that stays. */
export async function skipRound(cluster: BenchCluster, program: WaitingProgram): Promise<number> {
  const node = await cluster.addNode({ isGoingAway: false });
  const started = await WaitingProcess.start(program, node);
  try {
    await node.endPod();
    await delay(QUIET);
    const asked = performance.now();
    const text = await started.preStop();
    const answered = performance.now();
    if (!text.includes("not going away")) throw new Error(`answered otherwise: ${text}`);
    return answered - asked;
  } finally {
    await started.stop();
  }
}

export async function holdRound(cluster: BenchCluster, program: WaitingProgram): Promise<HoldFigures> {
  const node = await cluster.addNode({ isGoingAway: true });
  const started = await WaitingProcess.start(program, node);
  try {
    await delay(SETTLED);
    const idle = memoryOf(started.pid);
    resetPeak(started.pid);
    await node.endPod();
    const answered = timed(started.preStop());
    answered.catch(() => {}); // it is awaited below, unless something else fails first
    await started.untilListed();
    const peakInList = memoryOf(started.pid).peak;
    await delay(QUIET);
    const gone = await detachAll(cluster, node.attachments);
    const { at, text } = await answered;
    if (!text.includes("no attachment of the node is left")) throw new Error(`answered otherwise: ${text}`);
    return { idle, peakInList, answer: at - gone, processor: processorSeconds(started.pid) };
  } finally {
    await started.stop();
  }
}

/** Bytes received in a whole hold. */
export async function receivedRound(
  cluster: BenchCluster,
  program: WaitingProgram,
): Promise<{ readonly held: Received; readonly stayed: Received }> {
  return {
    held: await receivedIn(cluster, program, true),
    stayed: await receivedIn(cluster, program, false),
  };
}

async function receivedIn(
  cluster: BenchCluster,
  program: WaitingProgram,
  isGoingAway: boolean,
): Promise<Received> {
  const proxy = await cluster.startProxy();
  const node = await cluster.addNode({ isGoingAway, proxy });
  const started = await WaitingProcess.start(program, node);
  try {
    await node.endPod();
    const answered = started.preStop();
    answered.catch(() => {}); // it is awaited below, unless something else fails first
    if (isGoingAway) {
      await started.untilListed();
      await delay(QUIET);
      await detachAll(cluster, node.attachments);
    }
    await answered;
    return proxy.received();
  } finally {
    await started.stop();
    await proxy.stop();
  }
}

export type LimitedOutcome =
  /** `failed`: it was not killed, but could not do what it was asked either. */
  | { readonly kind: "ran" | "killed" | "failed"; readonly peak: number }
  | { readonly kind: "impossible"; readonly reason: string };

/** A hold with this many bytes of memory for everything. */
export async function limitedRound(
  cluster: BenchCluster,
  program: WaitingProgram,
  limit: number,
): Promise<LimitedOutcome> {
  let group: MemoryGroup;
  try {
    group = await MemoryGroup.create(limit);
  } catch (error) {
    return { kind: "impossible", reason: (error as Error).message };
  }
  const node = await cluster.addNode({ isGoingAway: true });
  const started = await WaitingProcess.start(program, { ...node, group: group.processes });
  try {
    await node.endPod();
    const answered = started.preStop().then(
      () => true,
      () => false,
    );
    // Whoever cannot read the list never says that it has.
    const isListed = await Promise.race([
      started.untilListed().then(
        () => true,
        () => false,
      ),
      answered,
    ]);
    await delay(QUIET);
    if (isListed) await detachAll(cluster, node.attachments);
    const isAnswered = isListed && (await answered);
    const { kills, peak } = await group.use();
    if (isAnswered) return { kind: "ran", peak };
    return { kind: kills > 0 ? "killed" : "failed", peak };
  } finally {
    await started.stop();
    await group.remove();
  }
}

/** @returns when the last of them was gone */
async function detachAll(
  cluster: BenchCluster,
  attachments: Awaited<ReturnType<BenchCluster["addNode"]>>["attachments"],
): Promise<number> {
  for (const attachment of attachments.slice(0, -1)) await cluster.detach(attachment);
  await delay(QUIET);
  for (const attachment of attachments.slice(-1)) await cluster.detach(attachment);
  return performance.now();
}

async function timed(text: Promise<string>): Promise<{ readonly at: number; readonly text: string }> {
  const resolved = await text;
  return { at: performance.now(), text: resolved };
}
