/** The real node that the other kubelet tests stand on: it starts, runs pods, and leaves nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Pod } from "./api-objects.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { createAll, object } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { BUILD_LIMIT_MS, type RealNode, startRealNode } from "./node/real-node.ts";
import { STAND_IN_IMAGE } from "./node/stand-in-image.ts";

const NODE = "node-a";
const POD = "/api/v1/namespaces/default/pods/database";

let controlPlane: ControlPlane;
let node: RealNode;
beforeAll(async () => {
  controlPlane = await startControlPlane({ ec2Url: "http://127.0.0.1:1" });
  node = await startRealNode(controlPlane, {
    name: NODE,
    instanceId: "i-0123456789abcdef0",
    zone: "eu-west-1a",
  });
}, BUILD_LIMIT_MS);
afterAll(async () => {
  await node?.stop();
  await controlPlane?.stop();
});

describe("a real node", () => {
  it("runs a pod and stops it as the API says", async () => {
    const container = {
      name: "database",
      image: STAND_IN_IMAGE,
      imagePullPolicy: "Never",
      volumeMounts: [{ name: "data", mountPath: "/data" }],
      command: ["/bin/database", "-file", "/data/journal", "-stop", "1s"],
    };
    const volumes = [{ name: "data", hostPath: { path: node.folder } }];
    const pod = { metadata: { name: "database" }, spec: { containers: [container], volumes } };
    await createAll(controlPlane.api, [object("Pod", pod)]);
    const isRunning = async () => (await controlPlane.api.get<Pod>(POD))?.status?.phase === "Running";
    await eventually("the pod runs", isRunning);
    await controlPlane.api.delete(POD);
    await eventually("the pod is gone", async () => (await controlPlane.api.get(POD)) === undefined);
    expect(await readFile(path.join(node.folder, "journal"), "utf8")).toBe("started\nended\n");
  });

  it("leaves no process, mount or control group", async () => {
    const folder = node.folder;
    await node.stop();
    const mounts = await readFile("/proc/self/mountinfo", "utf8");
    expect(mounts).not.toContain(folder);
    expect(await processesOf(folder)).toEqual([]);
    const groups = await readdir("/sys/fs/cgroup", { recursive: true });
    expect(groups.filter((name) => name.includes(`ebs-drain-e2e-${process.pid}`))).toEqual([]);
  });

  it("ends with the process that started it, also where that is killed", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-node-"));
    const module = new URL("node/namespaces.ts", import.meta.url).href;
    const script = `import { Namespaces } from ${JSON.stringify(module)};
      await Namespaces.create(${JSON.stringify(folder)}, []);
      console.log("up");`;
    const starter = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    await once(starter.stdout, "data");
    expect((await processesOf(folder)).length).toBeGreaterThan(1);
    starter.kill("SIGKILL");
    await eventually("nothing of it runs", async () => (await processesOf(folder)).length === 0);
    await rm(folder, { recursive: true });
  });
});

/** Command lines of this machine that name a folder. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const reading = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return (await Promise.all(reading)).filter((commandLine) => commandLine.includes(folder));
}
