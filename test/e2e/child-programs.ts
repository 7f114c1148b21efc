/**
 * Programs that run beside a test: started with their output in a file, and ended whatever happens to the test.
 *
 * Three nets, because an orphaned API server costs 500 MB: `killAll` in the ordinary case; an exit handler where
 * the test process ends without it; and `endLeftovers`, by the recorded process ids, where the test process was
 * killed and could run no handler.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const record = "pids";
const restartMs = 1_000;

export interface ProgramStart {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class ChildPrograms {
  readonly #directory: string;
  readonly #running = new Map<string, ChildProcess>();
  readonly #ends = new Map<string, number>();

  /** @param directory holds `pids` and one log per program; every program must name it in its arguments */
  constructor(directory: string) {
    this.#directory = directory;
    process.once("exit", this.#killAtExit);
  }

  /**
   * Starts a program, and starts it again whenever it ends by itself, as a cluster's kubelet does. It is needed:
   * kube-scheduler ends itself when a watch that broke made it miss that a pod of the same name moved.
   */
  start(wanted: ProgramStart): void {
    if (this.isRunning(wanted.name)) throw new Error(`${wanted.name} is running already`);
    const child = this.#launch(wanted);
    this.#running.set(wanted.name, child);
    child.once("exit", () => {
      if (this.#running.get(wanted.name) !== child) return; // it was killed
      this.#ends.set(wanted.name, this.endsByItself(wanted.name) + 1);
      setTimeout(() => {
        if (this.#running.get(wanted.name) === child) this.start(wanted);
      }, restartMs).unref();
    });
  }

  isRunning(name: string): boolean {
    const child = this.#running.get(name);
    return child !== undefined && !hasEnded(child);
  }

  /** How often a program ended without being killed. */
  endsByItself(name: string): number {
    return this.#ends.get(name) ?? 0;
  }

  /**
   * Kills a program and waits until it is gone. Always by SIGKILL: its state is thrown away, and an API server that is
   * asked politely waits up to a minute for its watches.
   */
  async kill(name: string): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (child === undefined || hasEnded(child)) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGKILL");
    await ended;
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.kill(name)));
    process.removeListener("exit", this.#killAtExit);
  }

  logFile(name: string): string {
    return path.join(this.#directory, `${name}.log`);
  }

  /** The end of a program's log. */
  log(name: string, lines: number): string {
    const file = this.logFile(name);
    return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").slice(-lines).join("\n") : "";
  }

  /** The log of an earlier start under the same name is continued. */
  #launch(wanted: ProgramStart): ChildProcess {
    const log = openSync(this.logFile(wanted.name), "a");
    const child = spawn(wanted.program, wanted.args, {
      stdio: ["ignore", log, log],
      env: { ...process.env, ...wanted.env },
      // A process group of its own: Ctrl-C in the terminal reaches the test only, which then ends them.
      detached: true,
    });
    closeSync(log);
    if (child.pid === undefined) throw new Error(`${wanted.program} cannot be started`);
    appendFileSync(path.join(this.#directory, record), `${child.pid} ${wanted.name}\n`);
    return child;
  }

  readonly #killAtExit = (): void => {
    for (const child of this.#running.values()) child.kill("SIGKILL");
  };
}

/**
 * Ends what programs are left of the state folders below `root`, and returns their names. A recorded process id may
 * belong to somebody else by now, so only a process whose command line names the state folder is touched.
 */
export async function endLeftovers(root: string): Promise<readonly string[]> {
  const ended: string[] = [];
  for (const entry of await readdir(root)) {
    const directory = path.join(root, entry);
    const text = await readFile(path.join(directory, record), "utf8").catch(() => "");
    for (const line of text.split("\n").filter(Boolean).toReversed()) {
      const [pid = "", name = ""] = line.split(" ");
      if (!commandLine(Number(pid)).includes(directory)) continue;
      process.kill(Number(pid), "SIGKILL");
      ended.push(name);
    }
  }
  // The kernel needs a moment before a killed process's files and ports are free.
  if (ended.length > 0) await delay(200);
  return ended;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function commandLine(pid: number): string {
  try {
    if (existsSync("/proc/self/cmdline")) return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return execFileSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return ""; // no such process
  }
}
