/**
 * Builds the programs of the control plane and of a node from the Go modules under `go/`, once per machine.
 *
 * Several modules, not one: the external attacher asks for newer versions of libraries than Kubernetes was released
 * with, and Kubernetes should be what it was released as. So the attacher's go.mod is bent to Kubernetes' versions.
 * The container runtime and the network plugins share nothing with them.
 */
import { spawn } from "node:child_process";
import { readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { cached, hashOf } from "./cache.ts";
import { checkPrerequisites } from "./prerequisites.ts";

export type Say = (line: string) => void;

/** The folders that hold the programs. */
export interface Programs {
  /** etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kubelet: links to one program. */
  readonly kubernetes: string;
  /** csi-attacher, ebs-csi-controller and node-stand-ins. */
  readonly csi: string;
}

/** What a real node needs besides. */
export interface NodePrograms extends Programs {
  /** containerd, its shim and ctr. */
  readonly containerd: string;
  /** The network plugins bridge, host-local and loopback. */
  readonly cni: string;
  /** What stands in for systemd-logind. */
  readonly logind: string;
}

interface GoBuild {
  readonly name: string;
  readonly module: string;
  /** Where to expect the outcome when nothing is in Go's own caches, for whoever waits. */
  readonly whenCold: string;
  readonly packages: readonly string[];
  readonly ldflags: string;
  readonly links: readonly { readonly name: string; readonly target: string }[];
}

const modules = path.join(import.meta.dirname, "go");
const goSettings = {
  CGO_ENABLED: "0",
  // Not -trimpath: with it Go compiles a package again for each version that a go.mod asks for, also where
  // `replace` makes them the same, and the two modules would share nothing.
  GOFLAGS: "-mod=readonly -buildvcs=false",
  GOTOOLCHAIN: "local",
  GOWORK: "off",
} as const;
const reportEveryMs = 60_000;
const kubernetesNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
  "kubelet",
];

/**
 * The programs, built first where the cache does not have them.
 * @throws MissingPrerequisiteError, or an Error with what the go command said
 */
export async function buildPrograms(say: Say): Promise<Programs> {
  const { go } = await checkPrerequisites();
  const kubernetes = await build(await kubernetesBuild(), go, say);
  const csi = await build(await csiBuild(), go, say);
  return { kubernetes, csi };
}

/**
 * The same with those of a node.
 * @throws MissingPrerequisiteError, or an Error with what the go command said
 */
export async function buildNodePrograms(say: Say): Promise<NodePrograms> {
  const programs = await buildPrograms(say);
  const { go } = await checkPrerequisites();
  const containerd = await build(containerdBuild(), go, say);
  const cni = await build(cniBuild(), go, say);
  const logind = await build(logindBuild(), go, say);
  return { ...programs, containerd, cni, logind };
}

async function kubernetesBuild(): Promise<GoBuild> {
  const module = path.join(modules, "controlplane");
  const version = await requiredVersion(module, "k8s.io/kubernetes");
  const [major, minor] = version.slice(1).split(".");
  // Without these the API server calls itself v0.0.0, and clients choose their behaviour by its version.
  const variable = "k8s.io/component-base/version";
  return {
    name: "controlplane",
    module,
    whenCold: "5 min on 2 idle cores, 4 GB of disk",
    packages: ["."],
    ldflags: [
      "-s -w",
      `-X ${variable}.gitVersion=${version}`,
      `-X ${variable}.gitMajor=${major}`,
      `-X ${variable}.gitMinor=${minor}`,
      `-X ${variable}.gitTreeState=clean`,
    ].join(" "),
    links: kubernetesNames.map((name) => ({ name, target: "controlplane" })),
  };
}

async function csiBuild(): Promise<GoBuild> {
  const module = path.join(modules, "csi");
  const attacher = "github.com/kubernetes-csi/external-attacher/v4";
  return {
    name: "csi",
    module,
    whenCold: "less than a minute after controlplane",
    packages: ["./ebs-csi-controller", "./node-stand-ins", `${attacher}/cmd/csi-attacher`],
    ldflags: `-s -w -X main.version=${await requiredVersion(module, attacher)}`,
    links: [],
  };
}

function containerdBuild(): GoBuild {
  const commands = "github.com/containerd/containerd/v2/cmd";
  return {
    name: "containerd",
    module: path.join(modules, "containerd"),
    whenCold: "2 min on 2 idle cores",
    packages: ["containerd", "containerd-shim-runc-v2", "ctr"].map((name) => `${commands}/${name}`),
    ldflags: "-s -w",
    links: [],
  };
}

function cniBuild(): GoBuild {
  const plugins = "github.com/containernetworking/plugins/plugins";
  return {
    name: "cni",
    module: path.join(modules, "cni"),
    whenCold: "half a minute",
    packages: ["main/bridge", "main/loopback", "ipam/host-local"].map((name) => `${plugins}/${name}`),
    ldflags: "-s -w",
    links: [],
  };
}

function logindBuild(): GoBuild {
  return {
    name: "logind",
    module: path.join(modules, "logind"),
    whenCold: "a few seconds",
    packages: ["."],
    ldflags: "-s -w",
    links: [],
  };
}

async function build(wanted: GoBuild, goVersion: string, say: Say): Promise<string> {
  const key = await hashOf(wanted.module, [
    goVersion,
    ...Object.values(goSettings),
    wanted.ldflags,
    ...wanted.packages,
    ...wanted.links.map(({ name }) => name),
  ]);
  return cached(wanted.name, key, async (directory) => {
    say(`building ${wanted.name} (with empty Go caches: ${wanted.whenCold})`);
    const started = performance.now();
    const seconds = () => Math.round((performance.now() - started) / 1000);
    const report = setInterval(() => say(`still building ${wanted.name}, ${seconds()} s`), reportEveryMs);
    try {
      await goBuild(wanted, directory);
    } finally {
      clearInterval(report);
    }
    for (const { name, target } of wanted.links) await symlink(target, path.join(directory, name));
    say(`built ${wanted.name} in ${seconds()} s`);
  });
}

async function goBuild(wanted: GoBuild, directory: string): Promise<void> {
  const args = ["build", "-ldflags", wanted.ldflags, "-o", directory + path.sep, ...wanted.packages];
  const child = spawn("go", args, {
    cwd: wanted.module,
    env: { ...process.env, ...goSettings },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  if (code !== 0) throw new Error(`go build of ${wanted.name} failed:\n${said.trim()}`);
}

async function requiredVersion(module: string, dependency: string): Promise<string> {
  const text = await readFile(path.join(module, "go.mod"), "utf8");
  const line = text.split("\n").find((candidate) => candidate.trim().startsWith(`${dependency} v`));
  const version = line?.trim().split(" ")[1];
  if (version === undefined) throw new Error(`${module}/go.mod does not require ${dependency}`);
  return version;
}
