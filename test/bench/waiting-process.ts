/** A hook's process, ours or the one it is compared with, as a kubelet sees it. */
import { type ChildProcess, spawn } from "node:child_process";
import { get } from "node:http";
import { createInterface } from "node:readline";
import { eventually } from "../e2e/eventually.ts";
import { POD_ENVIRONMENT } from "../hook/hook-process.ts";

export interface WaitingProgram {
  readonly name: string;
  /** Path of its bundle. */
  readonly file: string;
  readonly nodeFlags: readonly string[];
}

export interface StartOptions {
  readonly environment: Readonly<Record<string, string>>;
  /** `cgroup.procs` of a control group to run in. */
  readonly group?: string;
}

const CONTAINERS = ["ebs-plugin", "node-driver-registrar", "ebs-drain-hook"];

/**
 * In the group before it is Node, so that everything counts from the first page on. The copy of Node's program is read for the first
 * time in the group: its pages are charged to it as in a container that is the first of its image on a machine.
 */
const IN_GROUP = 'echo $$ > "$0" && cp "$1" "$2" && shift && exec "$@"';

export class WaitingProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #messages: ReadonlySet<string>;

  private constructor(child: ChildProcess, port: number, messages: ReadonlySet<string>) {
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.#port = port;
    this.#messages = messages;
  }

  /** Resolves when it listens, and its server has answered as to a kubelet's probe. */
  static async start(program: WaitingProgram, { environment, group }: StartOptions): Promise<WaitingProcess> {
    const command = [...program.nodeFlags, program.file];
    const copy = `${program.file}.node`;
    const env = { ...POD_ENVIRONMENT, ...environment };
    const stdio = ["ignore", "pipe", "ignore"] as const;
    const child =
      group === undefined
        ? spawn(process.execPath, command, { env, stdio: [...stdio] })
        : spawn("/bin/sh", ["-c", IN_GROUP, group, process.execPath, copy, ...command], {
            env,
            stdio: [...stdio],
          });
    endWithUs(child);
    const messages = new Set<string>();
    let port: number | undefined;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as { readonly message: string; readonly port?: number };
      messages.add(said.message);
      port ??= said.port;
    });
    await eventually(`${program.name} listens`, () => port !== undefined || hasEnded(child), 20);
    if (port === undefined) throw new Error(`${program.name} ended at its start`);
    const started = new WaitingProcess(child, port, messages);
    await started.#get("/readyz");
    return started;
  }

  get hasEnded(): boolean {
    return hasEnded(this.#child);
  }

  /** All containers' preStop at once, as at a pod's end. Resolves with the text when all are answered. */
  async preStop(): Promise<string> {
    const answers = await Promise.all(CONTAINERS.map((name) => this.#get(`/pre-stop?container=${name}`)));
    return answers[0] ?? "";
  }

  async untilListed(): Promise<void> {
    await eventually("the attachments are listed", () => {
      if (this.hasEnded) throw new Error("it ended during the list");
      return this.#messages.has("attachments listed");
    });
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  #get(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = get({ host: "127.0.0.1", port: this.#port, path, agent: false }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
        answer.on("end", () => {
          if (answer.statusCode === 200) resolve(text.trim());
          else reject(new Error(`${path}: ${answer.statusCode} ${text}`));
        });
      });
      asked.on("error", reject);
    });
  }
}

function endWithUs(child: ChildProcess): void {
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.removeListener("exit", kill));
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
