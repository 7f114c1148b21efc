/** The node's control groups: the one thing of it that the kernel does not take away by itself. */
import { mkdir, readFile, readdir, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const root = "/sys/fs/cgroup";
const prefix = "ebs-drain-e2e-";

/**
 * Makes the group under which the kubelet puts its own, after it removed those of test processes that are gone.
 * @returns its name, for the kubelet's `cgroupRoot`
 */
export async function createControlGroup(): Promise<string> {
  const name = `${prefix}${process.pid}`;
  for (const hierarchy of await hierarchies()) {
    for (const other of await readdir(hierarchy)) {
      if (other.startsWith(prefix) && !(await isAlive(other.slice(prefix.length)))) {
        await removeTree(path.join(hierarchy, other));
      }
    }
    await mkdir(path.join(hierarchy, name), { recursive: true });
  }
  return name;
}

/** @throws where processes are left in it */
export async function removeControlGroup(name: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeTree(path.join(hierarchy, name));
}

/**
 * The most memory that a container has had charged, in bytes: its own and the pages of files that it brought in.
 * @param group of the node; @throws where the container is not there
 */
export async function memoryPeak(group: string, containerId: string): Promise<number> {
  for (const hierarchy of await hierarchies()) {
    const folder = path.join(hierarchy, group);
    const entries = await readdir(folder, { recursive: true });
    const found = entries.find((entry) => path.basename(entry) === containerId);
    for (const file of found === undefined ? [] : ["memory.peak", "memory.max_usage_in_bytes"]) {
      const text = await readFile(path.join(folder, found ?? "", file), "utf8").catch(() => undefined);
      if (text !== undefined) return Number(text);
    }
  }
  throw new Error(`no control group of container ${containerId} tells its memory`);
}

/** Of version 1 every controller has a tree of its own, of version 2 there is one. */
async function hierarchies(): Promise<readonly string[]> {
  const isVersion2 = await exists(path.join(root, "cgroup.controllers"));
  if (isVersion2) return [root];
  const entries = await readdir(root, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => path.join(root, entry.name));
}

/** Files in there go with their folder. */
async function removeTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) if (entry.isDirectory()) await removeTree(path.join(folder, entry.name));
  // The processes were killed; the kernel needs a moment before a group is empty.
  for (let attempt = 0; ; attempt++) {
    try {
      await rmdir(folder);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      if (attempt === 50) throw error;
      await delay(100);
    }
  }
}

function isAlive(pid: string): Promise<boolean> {
  return exists(`/proc/${pid}`);
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
