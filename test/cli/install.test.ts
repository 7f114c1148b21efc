import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type InstallHookOptions,
  installHook,
  installPullCheck,
  installRbac,
} from "../../lib/cli/install.ts";
import { installCommand } from "../../lib/cli/install-command.ts";
import { told } from "../../lib/cli/running.ts";
import { rbacYaml } from "../../lib/kubernetes/rbac-manifests.ts";
import { KeptTerminal } from "./terminal.ts";

const IMAGE = "registry.example.com:5000/ebs-drain-hook:1.2.3";
const PLACE = { namespace: "kube-system", serviceAccount: "ebs-csi-node-sa" };
const HOOK = { ...PLACE, image: IMAGE, driver: "ebs.csi.aws.com", with: "admission-policy" } as const;

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "install-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function run(change: Partial<InstallHookOptions>) {
  const terminal = new KeptTerminal();
  const code = await told((shown) => installHook({ ...HOOK, ...change }, shown), terminal);
  return { code, out: terminal.printed.join("\n"), errors: terminal.complaints.join("\n") };
}

describe("install hook", () => {
  it("prints the admission policy for this image and applies nothing", async () => {
    const { code, out } = await run({ env: { AWS_REGION: "eu-central-1" } });
    expect(code).toBe(0);
    expect(out).toContain(`'image': dyn('${IMAGE}')`);
    expect(out).toContain("{'name': 'AWS_REGION', 'value': 'eu-central-1'}");
  });

  it("chooses pods by their nodes' labels for a start on a few", async () => {
    const { out } = await run({ nodeSelector: { "example.com/canary": "true" } });
    expect(out).toContain('example.com/canary: "true"');
    expect(out).toContain("params.metadata.name");
  });

  it("writes a kustomize component to a folder, with a post-renderer that can be run", async () => {
    const out = path.join(folder, "component");
    const { code, out: printed } = await run({
      with: "kustomize",
      out,
      daemonset: ["ebs-csi-node", "ebs-csi-node-db"],
    });
    expect(code).toBe(0);
    expect(printed.split("\n").map((file) => path.basename(file))).toEqual([
      "kustomization.yaml",
      "rbac.yaml",
      "post-render.sh",
    ]);
    expect(await readFile(path.join(out, "kustomization.yaml"), "utf8")).toContain("name: ebs-csi-node-db");
    expect((await stat(path.join(out, "post-render.sh"))).mode & 0o111).toBe(0o111);
  });

  it("tells the hook of the grace period that the pods really have beside an add-on (H8)", async () => {
    const out = path.join(folder, "beside");
    await run({ with: "server-side-apply", out });
    const daemonSet = await readFile(path.join(out, "daemonset.yaml"), "utf8");
    expect(daemonSet).toMatch(/EBS_DRAIN_HOOK_GRACE_SECONDS\s+value: "30"/u);
  });

  it.each<[string, Partial<InstallHookOptions>, string]>([
    ["no version", { image: "example.com/hook" }, "--image: name a version, as example.com/hook:1.0.0"],
    ["the port of a registry for a version", { image: "example.com:5000/hook" }, "--image: name a version"],
    [
      "a version that changes",
      { image: "example.com/hook:latest" },
      "--image: name a version, as example.com/hook:1.0.0",
    ],
    ["no image", { image: "my hook" }, '--image: "my hook" is no image.'],
    [
      "a variable of the install",
      { env: { NODE_NAME: "x" } },
      "--env NODE_NAME: the install sets it itself.",
    ],
    ["no variable", { env: { "a-b": "x" } }, "--env a-b: no name of a variable."],
    ["a DaemonSet to a policy", { daemonset: ["x"] }, "--daemonset: the policy finds"],
    ["a network mode to a policy", { hostNetwork: true }, "--host-network: the policy sees it in each pod."],
    [
      "labels of nodes to kustomize",
      { with: "kustomize", out: "x", nodeSelector: { a: "b" } },
      "--node-selector: kustomize changes a DaemonSet",
    ],
    [
      "no folder for several files",
      { with: "server-side-apply" },
      "--out: server-side-apply is several files; give a folder.",
    ],
  ])("refuses %s, and says what to do", async (_, change, problem) => {
    const { code, out, errors } = await run(change);
    expect([code, out]).toEqual([2, ""]);
    expect(errors).toContain(problem);
  });

  it("tells all problems at once", async () => {
    const { errors } = await run({ image: "hook", with: "kustomize", nodeSelector: { a: "b" } });
    for (const option of ["--image", "--node-selector", "--out"]) expect(errors).toContain(`${option}: `);
  });

  it("takes a digest for a version", async () => {
    expect(await run({ image: `example.com/hook@sha256:${"a".repeat(64)}` })).toMatchObject({ code: 0 });
  });
});

describe("install rbac", () => {
  it("prints the drain's roles, and the hook's for another namespace", async () => {
    const drain = new KeptTerminal();
    await installRbac({ ...PLACE, for: "drain" }, drain);
    expect(`${drain.printed.join("\n")}\n`).toBe(rbacYaml());
    const hook = new KeptTerminal();
    await installRbac({ namespace: "storage", serviceAccount: "csi-node", for: "hook" }, hook);
    expect(hook.printed).toContain("    namespace: storage");
    expect(hook.printed).toContain("    name: csi-node");
  });
});

describe("install pull-check", () => {
  it("refuses an image without a version too", async () => {
    const terminal = new KeptTerminal();
    const code = await told((shown) => installPullCheck({ ...PLACE, image: "hook" }, shown), terminal);
    expect([code, terminal.printed]).toEqual([2, []]);
  });
});

describe("the command line", () => {
  it("has no default image, and no default way", async () => {
    for (const [given, missing] of [
      ["--with=admission-policy", "--image"],
      [`--image=${IMAGE}`, "--with"],
    ] as const) {
      const failure = await parse(["hook", given]).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "commander.missingMandatoryOptionValue" });
      expect(String(failure)).toContain(missing);
    }
  });

  it.each([
    ["a grace period that is no number", ["--grace-seconds=soon"], "whole seconds from 10 to 86400"],
    ["a variable without a value", ["--env", "AWS_REGION"], "Give name=value"],
    ["a variable twice", ["--env", "A=1", "A=2"], "A is given twice"],
  ])("refuses %s", async (_, given, problem) => {
    const failure = await parse(["hook", `--image=${IMAGE}`, "--with=admission-policy", ...given]).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).toContain(problem);
  });
});

/** Complaints are thrown, not printed. */
async function parse(args: readonly string[]): Promise<void> {
  const command = installCommand();
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({ writeErr: () => {} });
  }
  await command.parseAsync([...args], { from: "user" });
}
