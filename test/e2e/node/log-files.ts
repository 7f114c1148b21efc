/** Log files that grow, and that come while one looks. */
import { open, readdir } from "node:fs/promises";
import path from "node:path";

/** Reads what came to a file since the last time. */
export class LogFile {
  readonly #file: string;
  #position: number;
  #rest = "";

  /** @param position where to begin, in bytes */
  constructor(file: string, position = 0) {
    this.#file = file;
    this.#position = position;
  }

  /** Complete lines only; none where the file is not there. */
  async newLines(): Promise<readonly string[]> {
    const handle = await open(this.#file).catch(() => undefined);
    if (handle === undefined) return [];
    try {
      const { size } = await handle.stat();
      const { buffer, bytesRead } = await handle.read({
        buffer: Buffer.alloc(Math.max(0, size - this.#position)),
        position: this.#position,
      });
      this.#position += bytesRead;
      const lines = (this.#rest + buffer.toString("utf8", 0, bytesRead)).split("\n");
      this.#rest = lines.pop() ?? "";
      return lines;
    } finally {
      await handle.close();
    }
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
    const found: ContainerLine[] = [];
    const entries = await readdir(this.#folder, { recursive: true }).catch(() => []);
    for (const entry of entries.filter((name) => name.endsWith(".log"))) {
      const [pods = "", name = "", file = ""] = entry.split(path.sep);
      const known = this.#files.get(entry) ?? new LogFile(path.join(this.#folder, entry));
      this.#files.set(entry, known);
      const restarts = Number.parseInt(file, 10);
      const container = restarts > 0 ? `${name}#${restarts}` : name;
      const pod = pods.split("_")[1] ?? "";
      for (const line of await known.newLines()) found.push({ pod, container, ...parsed(line) });
    }
    return found;
  }
}

/** `17:00:00.123 text`, as the stand-ins beside the pods write it: today, in UTC. */
export function readTimedLine(line: string): { readonly at: number; readonly text: string } {
  const at = Date.parse(`${new Date().toISOString().slice(0, 10)}T${line.slice(0, 12)}Z`);
  return { at, text: line.slice(13) };
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
