/** `ebs-drain` as its users run it: a process of its own, with a kubeconfig, and AWS by its environment. */
import { type ChildProcess, spawn } from "node:child_process";
import path from "node:path";
import { REGION } from "./region.ts";

const ENTRY = path.resolve(import.meta.dirname, "../../bin/ebs-drain.ts");
/** Far more than any command here needs; it only catches hangs. */
const LIMIT_MS = 200_000;

export interface CommandPlace {
  readonly kubeconfig: string;
  /** EC2's and Auto Scaling's endpoint; absent: there are no AWS credentials. */
  readonly awsUrl?: string;
}

export interface CommandEnd {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

export interface RunningCommand {
  readonly ended: Promise<CommandEnd>;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly soFar: () => string;
}

export function startCommand(place: CommandPlace, args: readonly string[]): RunningCommand {
  const child = spawn(process.execPath, [ENTRY, ...args], { env: environmentOf(place), timeout: LIMIT_MS });
  let out = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise<CommandEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, errors }));
  });
  return { ended, child, soFar: () => out };
}

export function runCommand(place: CommandPlace, ...args: readonly string[]): Promise<CommandEnd> {
  return startCommand(place, args).ended;
}

/** Nothing of this machine's own AWS or Kubernetes configuration. */
function environmentOf({ kubeconfig, awsUrl }: CommandPlace): Record<string, string> {
  const base = {
    PATH: process.env["PATH"] ?? "",
    KUBECONFIG: kubeconfig,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "/dev/null",
    AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  };
  if (awsUrl === undefined) return base;
  return {
    ...base,
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL: awsUrl,
    AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "example",
  };
}
