import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryGroup, fieldOf } from "./memory-group.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "ebs-drain-cgroup-"));
});
afterEach(() => rm(root, { recursive: true }));

/** What the kernel would show in the only group. */
async function show(parent: string, files: Readonly<Record<string, string>>): Promise<void> {
  const [group = ""] = (await readdir(parent)).filter((name) => name.startsWith("ebs-drain-bench-"));
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(parent, group, name), text);
}

describe("a memory limit", () => {
  it("is set, and its peak and kills are read, with control groups of version 1", async () => {
    await mkdir(path.join(root, "memory"));
    const group = await MemoryGroup.create(1_000, root);
    const limit = path.join(path.dirname(group.processes), "memory.limit_in_bytes");
    expect(await readFile(limit, "utf8")).toBe("1000");
    expect(group.processes.startsWith(path.join(root, "memory"))).toBe(true);
    await show(path.join(root, "memory"), {
      "memory.max_usage_in_bytes": "990\n",
      "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    });
    expect(await group.use()).toEqual({ peak: 990, kills: 2 });
  });

  it("is set, and its peak and kills are read, with control groups of version 2", async () => {
    await writeFile(path.join(root, "cgroup.controllers"), "memory pids");
    const group = await MemoryGroup.create(1_000, root);
    expect(await readFile(path.join(path.dirname(group.processes), "memory.max"), "utf8")).toBe("1000");
    await show(root, { "memory.peak": "1000\n", "memory.events": "low 0\noom 1\noom_kill 1\n" });
    expect(await group.use()).toEqual({ peak: 1_000, kills: 1 });
  });

  it("that cannot be made is an error", async () => {
    await expect(MemoryGroup.create(1_000, path.join(root, "nothing"))).rejects.toThrow("ENOENT");
  });

  it("tells nothing of a field that the kernel does not show", () => {
    expect(() => fieldOf("oom_kill_disable 0", "oom_kill")).toThrow("no oom_kill");
  });
});
