/** One hook in this process, over a fake cluster: what its containers ask, what it logs. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { HoldEnd } from "../../hook/hold-end.ts";
import { Hook } from "../../hook/hook.ts";
import type { LoadAutoScaling } from "../../hook/lifecycle-completion.ts";
import type { HookSettings } from "../../hook/settings.ts";
import { DRAIN_TAINTS } from "../../lib/drain/going-away.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import type { Work } from "../../lib/drain/work-order.ts";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import { DRIVER, FakeCluster, NODE } from "./fake-cluster.ts";

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Stage {
  readonly cluster: FakeCluster;
  readonly hook: Hook;
  readonly log: readonly LogLine[];
  /** The files `token` and `ca.crt`. */
  readonly folder: string;
  /** All three containers' preStop at once. */
  readonly stopPod: () => Promise<readonly HoldEnd[]>;
  readonly close: () => Promise<void>;
}

export const CONTAINERS = ["ebs-plugin", "node-driver-registrar", "ebs-drain-hook"] as const;

export async function startStage(
  change: Partial<HookSettings> = {},
  loadAutoScaling: LoadAutoScaling = () => Promise.reject(new Error("no AWS here")),
  nameOf: typeof attachmentName = attachmentName,
): Promise<Stage> {
  const cluster = new FakeCluster();
  await cluster.start();
  const folder = await credentialsFolder("token-1");
  const log: LogLine[] = [];
  const hook = new Hook({
    settings: { ...SETTINGS, apiServer: cluster.url, serviceAccount: folder, ...change },
    log: (level, message, fields = {}) => log.push({ level, message, ...fields }),
    loadAutoScaling,
    attachmentName: nameOf,
    watch: { verifyEvery: 300, pollEvery: 50 },
  });
  return {
    cluster,
    hook,
    log,
    folder,
    stopPod: () => Promise.all(CONTAINERS.map((container) => hook.preStop(container))),
    close: async () => {
      hook.close();
      await cluster.stop();
      await rm(folder, { recursive: true });
    },
  };
}

export const SETTINGS: HookSettings = {
  node: NODE,
  pod: { namespace: "kube-system", name: "ebs-csi-node-x", uid: "pod-uid" },
  host: "127.0.0.1",
  port: 0,
  apiServer: "",
  serviceAccount: "",
  containers: CONTAINERS.length,
  graceSeconds: 60,
  criticalBudgetSeconds: 30,
  drivers: [DRIVER],
  drainTaints: DRAIN_TAINTS,
};

export async function credentialsFolder(token: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-hook-"));
  await writeFile(path.join(folder, "token"), `${token}\n`);
  await writeFile(path.join(folder, "ca.crt"), "");
  return folder;
}

/** The name of the attachment of this volume, and how the kubelet lists the volume. */
export function volume(handle: string): { readonly name: string; readonly inUse: string } {
  return { name: attachmentName(handle, DRIVER, NODE), inUse: `kubernetes.io/csi/${DRIVER}^${handle}` };
}

export function work(change: Partial<Work> = {}): string {
  return formatWork({
    id: "lifecycle-i-0f3a9c1d2b4e5f607-t3kq2w-0a1b2c3d",
    bootID: "boot-1",
    group: "workers-a",
    hook: "ebs-drain",
    deadline: Date.now() + 3_600_000,
    cordoned: true,
    ignore: [],
    ...change,
  });
}

/** Waits for what happens in its own time; the limit only catches hangs. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const end = performance.now() + 20_000;
  while (!isTrue()) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await delay(5);
  }
}

/** Whether the promise has settled by now. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, delay(20, false)]);
}
