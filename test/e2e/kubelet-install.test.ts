/** What an install comes to on a real kubelet: the check before it, and what the hook's container may and may not do there. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installPullCheck } from "../../lib/cli/install.ts";
import { KeptTerminal } from "../cli/terminal.ts";
import { type Kubectl, kubectlOf, succeeded } from "./kubectl.ts";
import { HOOK_IMAGE } from "./node/hook-image.ts";
import { NodeStage } from "./node/node-stage.ts";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";

let stage: NodeStage;
let kubectl: Kubectl;
beforeAll(async () => {
  stage = await NodeStage.start({ isFast: true });
  kubectl = await kubectlOf(stage.stage.controlPlane);
}, BUILD_LIMIT_MS);
afterAll(() => stage?.close());

/** As the command prints it, for the real node only. */
async function pullCheck(image: string): Promise<string> {
  const terminal = new KeptTerminal();
  const nodeSelector = { "kubernetes.io/hostname": stage.node.name };
  const place = { namespace: "kube-system", serviceAccount: "ebs-csi-node-sa" };
  await installPullCheck({ ...place, image, nodeSelector }, terminal);
  return terminal.printed.join("\n");
}

describe("the pull check", () => {
  const status = ["rollout", "status", "-n", "kube-system", "daemonset/ebs-drain-hook-pull-check"];

  it("is rolled out where the node can have the image and run it, and not where it cannot", async () => {
    await succeeded(kubectl(["apply", "-f", "-"], await pullCheck(HOOK_IMAGE)));
    expect(await succeeded(kubectl([...status, "--timeout=120s"]))).toContain("successfully rolled out");
    await succeeded(kubectl(["apply", "-f", "-"], await pullCheck("localhost/nowhere:1")));
    expect(await kubectl([...status, "--timeout=10s"])).toMatchObject({ code: 1 });
    await succeeded(kubectl(["delete", "-f", "-"], await pullCheck(HOOK_IMAGE)));
  });
});

/** What a process in the hook's container is, and what it can do. */
const PROBE = `
const { readFileSync, writeFileSync, readdirSync } = require("node:fs");
const status = readFileSync("/proc/self/status", "utf8");
const line = (name) => new RegExp("^" + name + ":\\\\s+(\\\\S+)", "m").exec(status)[1];
const attempt = (act) => { try { act(); return "done"; } catch (error) { return error.code; } };
const end = (socket) => {
  const tells = ["Uid", "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"].map((name) => [name, line(name)]);
  console.log(JSON.stringify({
    ...Object.fromEntries(tells),
    root: attempt(() => writeFileSync("/written", "")),
    folder: attempt(() => writeFileSync("/csi/written", "")),
    sees: attempt(() => readdirSync("/csi")) === "done" ? readdirSync("/csi") : [],
    socket,
  }));
  process.exit();
};
require("node:net").connect("/csi/csi.sock").on("connect", () => end("open")).on("error", (error) => end(error.code));
`;

async function probe(): Promise<unknown> {
  const { metadata } = await stage.csiPod();
  const container = await stage.containerId(metadata.name, "ebs-drain-hook");
  const program = ["/usr/bin/node", "--eval", PROBE];
  const exec = ["--namespace", "k8s.io", "tasks", "exec", "--exec-id", "probe", container, ...program];
  return JSON.parse(await stage.node.runtime.ctr(exec)) as unknown;
}

const CONFINED = {
  CapEff: "0000000000000000",
  CapPrm: "0000000000000000",
  CapBnd: "0000000000000000",
  NoNewPrivs: "1",
  Seccomp: "2",
  root: "EROFS",
};

describe("the hook's container on a real kubelet", () => {
  it("is user 0 without any capability, writes nowhere, and may connect to the driver's socket (H12)", async () => {
    await stage.install.byPolicy();
    await stage.rollOut();
    expect(await probe()).toMatchObject({
      ...CONFINED,
      Uid: "0",
      folder: "EROFS",
      sees: ["csi.sock"],
      socket: "open",
    });
  });

  it("is nobody, and sees nothing of the node, where it is installed so", async () => {
    await stage.install.byPolicy({ unprivileged: true });
    await stage.rollOut();
    expect(await probe()).toMatchObject({ ...CONFINED, Uid: "65532", sees: [], socket: "ENOENT" });
  });
});
