/** containerd with runc and the bridge network, inside the node's namespaces. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { ARCHITECTURES, isThisMachine } from "../../../scripts/hook-image/architecture.ts";
import type { RunConfiguration } from "../../../scripts/hook-image/dockerfile.ts";
import { writeOciArchive } from "../../../scripts/hook-image/oci-archive.ts";
import type { NodePrograms } from "../build.ts";
import type { ChildPrograms } from "../child-programs.ts";
import { eventually } from "../eventually.ts";
import type { Namespaces } from "./namespaces.ts";

/** The node's own: its namespaces have a /run that nobody else sees. */
export const RUNTIME_SOCKET = "/run/containerd/containerd.sock";
/** The image of every pod's sandbox. */
export const PAUSE_IMAGE = "localhost/pause:1";
const POD_NETWORK = "10.245.0.0/24";

export interface Image {
  /** With its tag: `localhost/database:1`. */
  readonly name: string;
  /** The folder of its root file system. */
  readonly root: string;
  readonly run: RunConfiguration;
}

interface Runtime {
  readonly folder: string;
  readonly programs: NodePrograms;
  readonly namespaces: Namespaces;
  readonly children: ChildPrograms;
}

export class ContainerRuntime {
  readonly #runtime: Runtime;
  readonly #ctr: string;

  private constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#ctr = path.join(runtime.programs.containerd, "ctr");
  }

  /** Starts containerd and returns when it answers. */
  static async start(runtime: Runtime): Promise<ContainerRuntime> {
    const { folder, programs, namespaces, children } = runtime;
    const network = path.join(folder, "network");
    await mkdir(network, { recursive: true });
    await writeFile(path.join(network, "10-pods.conflist"), JSON.stringify(podNetwork()));
    const configFile = path.join(folder, "containerd.toml");
    await writeFile(configFile, containerdConfig(folder, programs.cni, network));
    children.start(
      namespaces.enter({
        name: "containerd",
        program: path.join(programs.containerd, "containerd"),
        args: ["--config", configFile],
        // It finds its shim by the path.
        env: { PATH: `${programs.containerd}:${process.env["PATH"]}` },
      }),
    );
    const started = new ContainerRuntime(runtime);
    await eventually("containerd answers", () =>
      started.ctr(["version"]).then(
        () => true,
        () => false,
      ),
    );
    return started;
  }

  /** Makes an image of a folder known to the node. */
  async load(image: Image): Promise<void> {
    const { folder } = this.#runtime;
    const archive = path.join(folder, `${image.name.replaceAll(/\W/gu, "-")}.tar`);
    const architecture = ARCHITECTURES.find(isThisMachine);
    if (architecture === undefined) throw new Error(`no image is made for ${process.arch}`);
    await writeOciArchive(archive, { ...image, architecture });
    await this.ctr(["--namespace", "k8s.io", "images", "import", "--local", archive]);
    await rm(archive);
  }

  /** Signals a container's first process, behind the kubelet's back. */
  async signal(containerId: string, signal: string): Promise<void> {
    await this.ctr(["--namespace", "k8s.io", "tasks", "kill", "--signal", signal, containerId]);
  }

  /** Ends a container at once; one that has ended by itself in the meantime is ended, too. */
  async kill(containerId: string): Promise<void> {
    try {
      await this.signal(containerId, "SIGKILL");
    } catch (error) {
      if (await this.#isRunning(containerId)) throw error;
    }
  }

  async #isRunning(containerId: string): Promise<boolean> {
    const tasks = await this.ctr(["--namespace", "k8s.io", "tasks", "list"]);
    return tasks.split("\n").some((line) => line.startsWith(containerId) && line.includes("RUNNING"));
  }

  ctr(args: readonly string[]): Promise<string> {
    return this.#runtime.namespaces.run(this.#ctr, ["--address", RUNTIME_SOCKET, ...args]);
  }
}

function containerdConfig(folder: string, plugins: string, network: string): string {
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  const images = "plugins.'io.containerd.cri.v1.images'";
  return [
    "version = 3",
    `root = ${JSON.stringify(path.join(folder, "containerd"))}`,
    `state = "/run/containerd"`,
    `disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]`,
    `[grpc]`,
    `address = "${RUNTIME_SOCKET}"`,
    `[${images}.pinned_images]`,
    `sandbox = "${PAUSE_IMAGE}"`,
    `[${runtime}]`,
    // Where root lacks CAP_SYS_RESOURCE, as in many a container, runc may not lower it.
    "restrict_oom_score_adj = true",
    "disable_apparmor = true",
    `[${runtime}.cni]`,
    `bin_dirs = [${JSON.stringify(plugins)}]`,
    `conf_dir = ${JSON.stringify(network)}`,
    `[${runtime}.containerd]`,
    `default_runtime_name = "runc"`,
    `[${runtime}.containerd.runtimes.runc]`,
    `runtime_type = "io.containerd.runc.v2"`,
    `[${runtime}.containerd.runtimes.runc.options]`,
    "SystemdCgroup = false",
    "",
  ].join("\n");
}

/** Pods reach the node, and through it the API server's address, and nothing else. */
function podNetwork() {
  const ranges = [[{ subnet: POD_NETWORK }]];
  const ipam = { type: "host-local", ranges, routes: [{ dst: "0.0.0.0/0" }] };
  const bridge = { type: "bridge", bridge: "pods", isGateway: true, ipMasq: false, ipam };
  return { cniVersion: "1.0.0", name: "pods", plugins: [bridge] };
}
