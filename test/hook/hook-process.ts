/** The hook as a process of its own, as the kubelet runs it. */
import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { until } from "./hook-stage.ts";

export interface HookProcess {
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: () => readonly Readonly<Record<string, unknown>>[];
  /** GET of a path; the answer's status and text. */
  readonly get: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
  /** Resolves with the exit code; 137 where it had to be killed. */
  readonly stop: () => Promise<number>;
}

const SERVER = path.join(import.meta.dirname, "../../hook/server.ts");

export const POD_ENVIRONMENT = {
  POD_NAME: "ebs-csi-node-x",
  POD_NAMESPACE: "kube-system",
  POD_UID: "pod-uid",
  EBS_DRAIN_HOOK_HOST: "127.0.0.1",
  EBS_DRAIN_HOOK_PORT: "0",
} as const;

/** @param environment the whole of it */
export async function startHook(
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<HookProcess> {
  const child = spawn(process.execPath, [...nodeOptions, SERVER], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let written = "";
  child.stdout?.setEncoding("utf8").on("data", (piece: string) => (written += piece));
  const log = () =>
    written
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const listening = () => log().find(({ message }) => message === "listening");
  const exited = new Promise<number>((resolve) => {
    child.on("exit", (code, signal) => resolve(code ?? (signal === null ? 1 : 137)));
  });
  await until("the hook listens", () => listening() !== undefined || child.exitCode !== null);
  const url = `http://127.0.0.1:${String(listening()?.["port"])}`;
  return {
    url,
    child,
    log,
    get: async (where) => {
      const answer = await fetch(url + where);
      return { status: answer.status, text: await answer.text() };
    },
    stop: () => {
      child.kill("SIGTERM");
      const kill = setTimeout(() => child.kill("SIGKILL"), 10_000);
      return exited.finally(() => clearTimeout(kill));
    },
  };
}

/** Runs a hook that is expected not to start. */
export async function runHook(
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  const child = spawn(process.execPath, [SERVER], { env: environment, stdio: ["ignore", "ignore", "pipe"] });
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  return { errors: await text(child.stderr), code: await exited };
}
