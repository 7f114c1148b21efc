/** A control group that limits the memory of what is started in it, as a container's limit does. Linux, as root. */
import { access, mkdtemp, readFile, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Names of the two versions' files; what cannot be read as one number has a name of its field. */
interface Layout {
  readonly limit: string;
  readonly peak: string;
  readonly kills: { readonly file: string; readonly field: string };
}

const VERSION_1: Layout = {
  limit: "memory.limit_in_bytes",
  peak: "memory.max_usage_in_bytes",
  kills: { file: "memory.oom_control", field: "oom_kill" },
};
const VERSION_2: Layout = {
  limit: "memory.max",
  peak: "memory.peak",
  kills: { file: "memory.events", field: "oom_kill" },
};

export interface GroupUse {
  /** Most bytes that were charged to the group: memory of its processes and the files that they were first to read. */
  readonly peak: number;
  /** Processes that the kernel killed because the limit was reached. */
  readonly kills: number;
}

export class MemoryGroup {
  readonly #folder: string;
  readonly #layout: Layout;

  private constructor(folder: string, layout: Layout) {
    this.#folder = folder;
    this.#layout = layout;
  }

  /** @param root where control groups are mounted @throws where this machine has none, or does not let us make one */
  static async create(limit: number, root = "/sys/fs/cgroup"): Promise<MemoryGroup> {
    const isVersion2 = await exists(path.join(root, "cgroup.controllers"));
    const layout = isVersion2 ? VERSION_2 : VERSION_1;
    const parent = isVersion2 ? root : path.join(root, "memory");
    const group = new MemoryGroup(await mkdtemp(path.join(parent, "ebs-drain-bench-")), layout);
    try {
      await writeFile(group.#file(layout.limit), String(limit));
    } catch (error) {
      await group.remove();
      throw error;
    }
    return group;
  }

  /** Whoever writes its process id here is in the group, and so is what it starts. */
  get processes(): string {
    return this.#file("cgroup.procs");
  }

  async use(): Promise<GroupUse> {
    const { peak, kills } = this.#layout;
    return {
      peak: Number(await readFile(this.#file(peak), "utf8")),
      kills: fieldOf(await readFile(this.#file(kills.file), "utf8"), kills.field),
    };
  }

  /** Its processes have ended; the kernel notices a moment later. */
  async remove(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await rmdir(this.#folder);
        return;
      } catch (error) {
        if (attempt === 20 || (error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
        await delay(100);
      }
    }
  }

  #file(name: string): string {
    return path.join(this.#folder, name);
  }
}

/** @param text lines such as `oom_kill 0` */
export function fieldOf(text: string, field: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${field} `));
  if (line === undefined) throw new Error(`no ${field} in ${text.slice(0, 100)}`);
  return Number(line.slice(field.length + 1));
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
