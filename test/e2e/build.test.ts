import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cached, cacheDirectory, hashOf } from "./cache.ts";
import { ChildPrograms, endLeftovers } from "./child-programs.ts";
import { checkNodePrerequisites, checkPrerequisites } from "./prerequisites.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "ebs-drain-build-test-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

describe("the cache of built programs", () => {
  it("lies where the user wants it: EBS_DRAIN_CACHE, else XDG_CACHE_HOME, else ~/.cache", () => {
    expect(cacheDirectory({ EBS_DRAIN_CACHE: "/own", XDG_CACHE_HOME: "/xdg" })).toBe("/own");
    expect(cacheDirectory({ XDG_CACHE_HOME: "/xdg" })).toBe("/xdg/ebs-drain");
    expect(cacheDirectory({})).toMatch(/\.cache\/ebs-drain$/);
  });

  it("has another key when a source, its name or the Go version changes", async () => {
    const source = path.join(directory, "main.go");
    await writeFile(source, "package main");
    const key = await hashOf(directory, ["go1.26.0"]);
    expect(await hashOf(directory, ["go1.26.0"])).toBe(key);
    expect(await hashOf(directory, ["go1.26.1"])).not.toBe(key);
    await writeFile(source, "package main // changed");
    expect(await hashOf(directory, ["go1.26.0"])).not.toBe(key);
  });

  it("builds once, and leaves nothing of a build that failed", async () => {
    vi.stubEnv("EBS_DRAIN_CACHE", directory);
    const failing = cached("programs", "key", () => Promise.reject(new Error("no compiler")));
    await expect(failing).rejects.toThrow("no compiler");
    expect(await readdir(directory)).toEqual([]);

    let builds = 0;
    const produce = async (into: string) => {
      builds++;
      await writeFile(path.join(into, "program"), "built");
    };
    const first = await cached("programs", "key", produce);
    expect(await cached("programs", "key", produce)).toBe(first);
    expect(builds).toBe(1);
    expect(await readFile(path.join(first, "program"), "utf8")).toBe("built");
    expect(await readdir(directory)).toEqual(["programs-key"]);
  });
});

describe("the prerequisites", () => {
  it("are all named at once where they are missing, with the way to get them", async () => {
    vi.stubEnv("PATH", directory);
    await expect(checkPrerequisites()).rejects.toThrow(/go\.dev\/dl[\s\S]*apt-get install openssl/);
  });

  it("are not met by a Go that is too old", async () => {
    await writeFile(path.join(directory, "go"), "#!/bin/sh\necho go version go1.25.9 linux/amd64\n", {
      mode: 0o755,
    });
    vi.stubEnv("PATH", `${directory}${path.delimiter}${process.env["PATH"]}`);
    await expect(checkPrerequisites()).rejects.toThrow(/found only "go version go1\.25\.9/);
  });
});

describe("the prerequisites of a real node", () => {
  it("are all named at once where they are missing, with the packages that bring them", async () => {
    vi.stubEnv("PATH", directory);
    await expect(checkNodePrerequisites()).rejects.toThrow(
      /apt-get install runc iproute2 mount util-linux dbus|kubelet and containers run on nothing else/,
    );
  });
});

describe("the two Go modules", () => {
  it("agree on the version of every library they share, so that Go compiles it once", async () => {
    const kubernetes = await resolvedVersions("controlplane");
    const csi = await resolvedVersions("csi");
    const differing = [...csi].filter(([module, version]) => {
      const other = kubernetes.get(module);
      return other !== undefined && other !== version;
    });
    // The CSI protocol's own definition: nothing that both compile depends on it.
    expect(differing.map(([module]) => module)).toEqual(["github.com/container-storage-interface/spec"]);
  });
});

describe("programs beside a test", () => {
  it("are ended by what was recorded of them, where the test itself could not", async () => {
    const state = path.join(directory, "state");
    await mkdir(state);
    const children = new ChildPrograms(state);
    const program = { program: "/bin/sh", args: ["-c", "sleep 600; :", state] };
    children.start({ name: "sleeper", ...program });
    await writeFile(path.join(state, "pids"), `${process.pid} not-ours\n`, { flag: "a" });

    expect(await endLeftovers(directory)).toEqual(["sleeper"]);
    await vi.waitFor(() => expect(children.endsByItself("sleeper")).toBe(1));
    await children.killAll();
  });

  it("are started again where they end by themselves, and stay dead where they are killed", async () => {
    const children = new ChildPrograms(directory);
    children.start({ name: "sleeper", program: "/bin/sh", args: ["-c", "sleep 0.1; exec sleep 600"] });
    children.start({ name: "quitter", program: "/bin/sh", args: ["-c", "exit 1"] });
    await vi.waitFor(() => expect(children.endsByItself("quitter")).toBe(2), { timeout: 10_000 });
    await children.kill("sleeper");
    expect(children.isRunning("sleeper")).toBe(false);
    expect(children.endsByItself("sleeper")).toBe(0);
    await children.killAll();
    expect(children.isRunning("quitter")).toBe(false);
  });
});

/** Versions after `replace`, as go.mod states them. */
async function resolvedVersions(module: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(path.join(import.meta.dirname, "go", module, "go.mod"), "utf8");
  const required = text.matchAll(/^\t(\S+) (v\S+)/gm);
  const replaced = text.matchAll(/^\t(\S+) => \S+ (v\S+)/gm);
  return new Map([...required, ...replaced].map(([, name = "", version = ""]) => [name, version]));
}
