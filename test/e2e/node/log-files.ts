/** Log files that grow, and that come while one looks. */
import { type FileHandle, open, readdir } from "node:fs/promises";
import path from "node:path";

/** Reads what came to a file since the last time, also after somebody removed it: whoever reads opened it before. */
export class LogFile {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #position = 0;
  #rest = "";

  constructor(file: string) {
    this.#file = file;
  }

  /** Complete lines only; none where the file is not there yet. */
  async newLines(): Promise<readonly string[]> {
    this.#handle ??= await open(this.#file).catch(() => undefined);
    if (this.#handle === undefined) return [];
    const { size } = await this.#handle.stat();
    if (size <= this.#position) return [];
    const { buffer, bytesRead } = await this.#handle.read({
      buffer: Buffer.alloc(size - this.#position),
      position: this.#position,
    });
    this.#position += bytesRead;
    const lines = (this.#rest + buffer.toString("utf8", 0, bytesRead)).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

export interface ContainerLine {
  /** Unix milliseconds. */
  readonly at: number;
  readonly pod: string;
  /** With `#2` for the second restart. */
  readonly container: string;
  readonly text: string;
}

/** The logs of all containers on a node, in the kubelet's folder: `<namespace>_<pod>_<uid>/<container>/<restarts>.log`. */
export class ContainerLogs {
  readonly #folder: string;
  readonly #files = new Map<string, LogFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async newLines(): Promise<readonly ContainerLine[]> {
    const entries = await readdir(this.#folder, { recursive: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.endsWith(".log") && !this.#files.has(entry)) {
        this.#files.set(entry, new LogFile(path.join(this.#folder, entry)));
      }
    }
    const found: ContainerLine[] = [];
    for (const [entry, file] of this.#files) {
      for (const line of await file.newLines()) found.push({ ...containerOf(entry), ...parsed(line) });
    }
    return found;
  }

  async close(): Promise<void> {
    for (const file of this.#files.values()) await file.close();
  }
}

/** `17:00:00.123 text`, as the stand-ins beside the pods write it: today, in UTC. */
export function readTimedLine(line: string): { readonly at: number; readonly text: string } {
  const at = Date.parse(`${new Date().toISOString().slice(0, 10)}T${line.slice(0, 12)}Z`);
  return { at, text: line.slice(13) };
}

function containerOf(entry: string): Pick<ContainerLine, "pod" | "container"> {
  const [pods = "", name = "", file = ""] = entry.split(path.sep);
  const restarts = Number.parseInt(file, 10);
  return { pod: pods.split("_")[1] ?? "", container: restarts > 0 ? `${name}#${restarts}` : name };
}

/** `2026-11-30T17:00:00.123456789Z stdout F text`, as the container runtime writes it. */
function parsed(line: string): Pick<ContainerLine, "at" | "text"> {
  const [time = "", , , ...words] = line.split(" ");
  return { at: Date.parse(time), text: readable(words.join(" ")) };
}

/** What every line of the hook's log says again, and who is reading knows. */
const known = new Set(["time", "level", "message", "component", "node", "pod"]);

/** The hook's log is JSON: `answer rule=H5 reason=…`; the stand-ins' begins with the time. */
function readable(text: string): string {
  if (!text.startsWith("{")) return text.replace(/^\d\d:\d\d:\d\d\.\d{3} /u, "");
  const fields = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const others = Object.entries(fields).filter(([name]) => !known.has(name));
  const told = others.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [fields["message"], ...told].join(" ");
}
