/**
 * The namespaces of a node: processes, mounts and network of its own, so that it is like a machine of its own, and so that
 * nothing can be left of it. Its first process ends when this one does, however that ends, and takes all others along.
 */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { cacheDirectory } from "../cache.ts";
import type { ProgramStart } from "../child-programs.ts";

const run = promisify(execFile);
/** It takes a fraction of a second, once no other test run has a node. */
const startLimitMs = 900_000;

export class Namespaces {
  readonly #init: ChildProcessByStdio<Writable, Readable, Readable>;

  private constructor(init: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#init = init;
  }

  /**
   * @param folder the node's state
   * @param addresses IPv4 addresses that the node has, besides 127.0.0.1
   * @throws with what the set-up said
   */
  static async create(folder: string, addresses: readonly string[]): Promise<Namespaces> {
    const flags = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
    const script = path.join(import.meta.dirname, "init.sh");
    // One node at a time on a machine, whoever runs tests: the lock ends with unshare, which flock becomes.
    const lock = ["--no-fork", path.join(cacheDirectory(), "real-node.lock")];
    const init = spawn(
      "flock",
      [...lock, "unshare", ...flags, "--propagation", "private", "bash", script, folder, ...addresses],
      // A process group of its own: Ctrl-C reaches the test only, which then ends the node.
      { stdio: ["pipe", "pipe", "pipe"], detached: true },
    );
    let said = "";
    init.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ready = once(init.stdout, "data", { signal: AbortSignal.timeout(startLimitMs) });
    const ended = once(init, "exit").then(() => {
      throw new Error(`the node's namespaces cannot be made: ${said.trim()}`);
    });
    ended.catch(() => undefined); // the end that everybody wants comes later
    await Promise.race([ready, ended]);
    return new Namespaces(init);
  }

  /** How to start a program in there. Killing the child kills the program. */
  enter({ program, args, ...rest }: ProgramStart): ProgramStart {
    return { ...rest, program: "nsenter", args: [...this.#enterArgs(), program, ...args] };
  }

  /** Runs a program in there to its end; its standard output. @throws with its standard error */
  async run(program: string, args: readonly string[], input?: string): Promise<string> {
    const running = run("nsenter", [...this.#enterArgs(), program, ...args], { maxBuffer: 2 ** 26 });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** A path as the node sees it, for this process. */
  pathOf(inside: string): string {
    return path.join(`/proc/${this.#pid}/root`, inside);
  }

  /** The mounts that the node's first process sees, in the format of /proc/self/mountinfo. */
  get mountsFile(): string {
    return `/proc/${this.#pid}/mountinfo`;
  }

  /** Ends everything in there. */
  async end(): Promise<void> {
    if (this.#init.exitCode !== null || this.#init.signalCode !== null) return;
    const ended = once(this.#init, "exit");
    this.#init.kill("SIGKILL"); // unshare ends its child by --kill-child, and with process 1 all others end
    await ended;
  }

  /** Of unshare, which is in the namespaces except the one of processes: that is for its children. */
  get #pid(): number {
    return this.#init.pid ?? 0;
  }

  #enterArgs(): readonly string[] {
    const target = [
      `--target=${this.#pid}`,
      "--mount",
      "--net",
      `--pid=/proc/${this.#pid}/ns/pid_for_children`,
    ];
    // nsenter has to fork for the process namespace, and a signal to it would not reach its child.
    return [...target, "setpriv", "--pdeathsig", "KILL", "--"];
  }
}
