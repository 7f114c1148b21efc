/**
 * A real node for a test's control plane: kubelet, containerd, runc and the CNI plugins, in namespaces of their own. Pods on it
 * are real processes with real mounts. What is stood in for: the disks, which are folders, and the machine around it.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Node } from "../api-objects.ts";
import { buildNodePrograms, type NodePrograms } from "../build.ts";
import { ChildPrograms } from "../child-programs.ts";
import type { ControlPlane } from "../control-plane.ts";
import { eventually } from "../eventually.ts";
import { checkNodePrerequisites } from "../prerequisites.ts";
import { ContainerRuntime, type Image } from "./container-runtime.ts";
import { createControlGroup, memoryPeak, removeControlGroup } from "./control-groups.ts";
import { type KubeletConfig, kubeletConfig } from "./kubelet-config.ts";
import { Namespaces } from "./namespaces.ts";
import { standInImages, writeStandIns } from "./stand-in-image.ts";
import { WayOut } from "./way-out.ts";

/** The cluster's service for the API server, which the kubelet writes in every container's environment. */
const SERVICE_ADDRESS = "10.96.0.1";
const NODE_ADDRESS = "10.244.0.1";

/** For what starts a node: containerd is built first where the machine does not have it. */
export const BUILD_LIMIT_MS = 900_000;

export interface RealNodeOptions {
  readonly name: string;
  readonly instanceId: string;
  readonly zone: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** More images than those of the stand-ins. */
  readonly images?: readonly Image[];
  /** Fields of the KubeletConfiguration, over the tests' own. */
  readonly kubeletConfig?: KubeletConfig;
  /** More variables of the kubelet's environment, for example DBUS_SYSTEM_BUS_ADDRESS. */
  readonly kubeletEnvironment?: Readonly<Record<string, string>>;
  /** Addresses with port that the node reaches besides the API server, each with the URL where it ends. */
  readonly waysOut?: Readonly<Record<string, string>>;
}

interface Parts {
  readonly controlPlane: ControlPlane;
  readonly options: RealNodeOptions;
  readonly folder: string;
  readonly programs: NodePrograms;
  readonly controlGroup: string;
  readonly namespaces: Namespaces;
  readonly children: ChildPrograms;
  readonly runtime: ContainerRuntime;
  readonly waysOut: readonly WayOut[];
}

export class RealNode {
  readonly name: string;
  readonly instanceId: string;
  readonly namespaces: Namespaces;
  readonly runtime: ContainerRuntime;
  /** Everything on the node that is not in a pod; more may be started, in the node's namespaces by `namespaces.enter`. */
  readonly children: ChildPrograms;
  /** The node's state: logs, volumes and, as /var/lib/kubelet on the node, the kubelet's. */
  readonly folder: string;
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.name = parts.options.name;
    this.instanceId = parts.options.instanceId;
    this.namespaces = parts.namespaces;
    this.runtime = parts.runtime;
    this.children = parts.children;
    this.folder = parts.folder;
  }

  /** Where the kubelet keeps its containers' logs: `<namespace>_<pod>_<uid>/<container>/<restarts>.log`. */
  get podLogs(): string {
    return podLogsOf(this.folder);
  }

  get kubeletLog(): string {
    return this.children.logFile("kubelet");
  }

  /** The kubelet's folder /var/lib/kubelet, for this process. */
  get kubeletFolder(): string {
    return path.join(this.folder, "kubelet");
  }

  /** The folder of the volumes' content, on the node and for this process. */
  get volumes(): string {
    return path.join(this.folder, "volumes");
  }

  /** Starts the kubelet, after `stopKubelet` or with another configuration; returns when the Node is ready. */
  async startKubelet(changes: KubeletConfig = {}): Promise<void> {
    const { controlPlane, options, programs, folder, controlGroup } = this.#parts;
    const { name, instanceId, zone, labels = {} } = options;
    const config = kubeletConfig({
      address: NODE_ADDRESS,
      controlGroup,
      caFile: controlPlane.caFile,
      podLogs: this.podLogs,
      changes: { ...options.kubeletConfig, ...changes },
    });
    const configFile = path.join(folder, "kubelet.json");
    await writeFile(configFile, JSON.stringify(config));
    const nodeLabels = { ...labels, "topology.kubernetes.io/zone": zone };
    const args = [
      `--config=${configFile}`,
      `--kubeconfig=${await controlPlane.kubeconfigFor(`system:node:${name}`, ["system:nodes"])}`,
      `--cert-dir=${path.join(folder, "kubelet-certificates")}`,
      `--hostname-override=${name}`,
      `--node-ip=${NODE_ADDRESS}`,
      `--provider-id=aws:///${zone}/${instanceId}`,
      `--node-labels=${Object.entries(nodeLabels)
        .map(([key, value]) => `${key}=${value}`)
        .join(",")}`,
      "--v=4", // mounts, hooks and registrations
    ];
    const program = path.join(programs.kubernetes, "kubelet");
    // Times in its log are told without their zone.
    const env = { TZ: "UTC", ...options.kubeletEnvironment };
    const started = Date.now();
    this.children.start(this.namespaces.enter({ name: "kubelet", program, args, env }));
    await eventually(`${name} is ready`, () => this.#isReadySince(started));
  }

  /** In bytes; @param containerId as the container runtime names it */
  memoryPeakOf(containerId: string): Promise<number> {
    return memoryPeak(this.#parts.controlGroup, containerId);
  }

  /** Kills the kubelet; its containers go on. */
  stopKubelet(): Promise<void> {
    return this.children.kill("kubelet");
  }

  /** Ends the node with all its pods, as by pulling the plug, and removes what is left of it. The Node object stays. */
  async stop(): Promise<void> {
    await this.children.killAll();
    await this.namespaces.end();
    for (const way of this.#parts.waysOut) await way.close();
    await removeControlGroup(this.#parts.controlGroup);
    for (const part of ["containerd", "images", "private"]) {
      await rm(path.join(this.folder, part), { recursive: true, force: true });
    }
  }

  async #isReadySince(started: number): Promise<boolean> {
    const node = await this.#parts.controlPlane.api.get<Node>(`/api/v1/nodes/${this.name}`);
    const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
    // A Node of an earlier kubelet says Ready too. Times in the API are whole seconds.
    return ready?.status === "True" && Date.parse(ready.lastHeartbeatTime ?? "") > started - 1_000;
  }
}

/**
 * Starts a node, with a kubelet that is ready. `stop` it before its control plane.
 * @throws MissingPrerequisiteError, or an Error with what did not start
 */
export async function startRealNode(controlPlane: ControlPlane, options: RealNodeOptions): Promise<RealNode> {
  await checkNodePrerequisites();
  const programs = await buildNodePrograms((line) => console.error(line));
  const folder = path.join(controlPlane.directory, options.name);
  for (const part of ["images", "volumes", "pod-logs"])
    await mkdir(path.join(folder, part), { recursive: true });
  const controlGroup = await createControlGroup();
  const outside: Record<string, string> = {
    [`${SERVICE_ADDRESS}:443`]: controlPlane.server,
    ...options.waysOut,
  };
  const addresses = new Set([NODE_ADDRESS, ...Object.keys(outside).map((address) => hostOf(address))]);
  const namespaces = await Namespaces.create(folder, [...addresses]);
  const children = new ChildPrograms(folder);
  try {
    // The same address as on the machine, so that a kubeconfig means the same.
    outside[new URL(controlPlane.server).host] = controlPlane.server;
    const standIns = await writeStandIns(path.join(folder, "images", "stand-ins"), programs.csi);
    const waysOut = await openWaysOut(path.join(folder, "ways"), outside);
    const relay = path.join(standIns, "bin", "relay");
    const args = waysOut.map(({ address, file }) => `${address}=${file}`);
    children.start(namespaces.enter({ name: "relay", program: relay, args }));
    const runtime = await ContainerRuntime.start({ folder, programs, namespaces, children });
    for (const image of [...standInImages(standIns), ...(options.images ?? [])]) {
      await runtime.load(image);
    }
    const parts = { controlPlane, options, folder, programs, controlGroup, namespaces, children, runtime };
    const node = new RealNode({ ...parts, waysOut });
    await node.startKubelet();
    return node;
  } catch (error) {
    await children.killAll();
    await namespaces.end();
    await removeControlGroup(controlGroup);
    throw error;
  }
}

function openWaysOut(folder: string, outside: Readonly<Record<string, string>>): Promise<readonly WayOut[]> {
  const opening = Object.entries(outside).map(([address, url], index) =>
    WayOut.open({ address, url, file: path.join(folder, String(index)) }),
  );
  return Promise.all(opening);
}

function podLogsOf(folder: string): string {
  return path.join(folder, "pod-logs");
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":"));
}
