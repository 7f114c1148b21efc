/**
 * What the scenarios of one file share: a control plane, a region, a real node in it, and a spare machine whose kubelet is stood
 * in for: where the volumes go when the real node goes away.
 */
import type { ApiObject } from "../api-objects.ts";
import type { DaemonSet } from "../csi-chart.ts";
import { Stage, type StageOptions } from "../drain-stage.ts";
import { eventually } from "../eventually.ts";
import type { Machine } from "../machines.ts";
import { GROUP, ZONE } from "../region.ts";
import { type CsiNodePodOptions, csiNodePods } from "./csi-node-pods.ts";
import { type HookImage, writeHookImage } from "./hook-image.ts";
import { HookInstalls } from "./hook-installs.ts";
import { NodeTimeline } from "./node-timeline.ts";
import { type RealNode, type RealNodeOptions, startRealNode } from "./real-node.ts";

/** As slow as EC2 often is, and the kubelet's status as rare as EKS has it; or as fast as tests like it where it does not matter. */
const paces = {
  real: { ec2Delays: { attach: [2_000, 2_000], detach: [2_000, 2_000] }, nodeStatusUpdateFrequency: "10s" },
  fast: { ec2Delays: { attach: [500, 500], detach: [500, 500] }, nodeStatusUpdateFrequency: "1s" },
} as const;
const account = "ebs-csi-node-sa";

export interface NodeStageOptions extends StageOptions {
  /** Without the times that EC2 and kubelet have by nature; else with them. */
  readonly isFast?: boolean;
  readonly node?: Pick<RealNodeOptions, "kubeletConfig" | "kubeletEnvironment">;
}

export interface CsiPod extends ApiObject {
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status?: { readonly containerStatuses?: readonly ContainerStatus[] };
}

export interface ContainerStatus {
  readonly name: string;
  /** `containerd://<id>`; none on a node that is stood in for. */
  readonly containerID?: string;
  readonly state?: { readonly running?: object };
  readonly ready: boolean;
  readonly restartCount: number;
  readonly lastState?: { readonly terminated?: { readonly reason?: string } };
}

interface DaemonSetStatus extends DaemonSet {
  readonly metadata: DaemonSet["metadata"] & { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
  };
}

export class NodeStage {
  readonly stage: Stage;
  readonly node: RealNode;
  /** The real node's instance and name. */
  readonly machine: Machine;
  readonly spare: Machine;
  readonly timeline: NodeTimeline;
  readonly install: HookInstalls;
  readonly #image: HookImage;
  #versions = 0;

  private constructor(parts: {
    readonly stage: Stage;
    readonly node: RealNode;
    readonly spare: Machine;
    readonly timeline: NodeTimeline;
    readonly install: HookInstalls;
    readonly image: HookImage;
  }) {
    this.stage = parts.stage;
    this.node = parts.node;
    this.machine = { instance: parts.node.instanceId, node: parts.node.name };
    this.spare = parts.spare;
    this.timeline = parts.timeline;
    this.install = parts.install;
    this.#image = parts.image;
  }

  static async start(wanted: NodeStageOptions = {}): Promise<NodeStage> {
    const { node: nodeOptions = {}, isFast = false, ...options } = wanted;
    const { ec2Delays, nodeStatusUpdateFrequency } = paces[isFast ? "fast" : "real"];
    const stage = await Stage.start({ ec2Delays, ...options });
    const { controlPlane, region } = stage;
    const image = await writeHookImage();
    const instance = await region.launch(GROUP);
    const spare = await stage.launch({ scenario: "spare" });
    const node = await startRealNode(controlPlane, {
      ...nodeOptions,
      kubeletConfig: { nodeStatusUpdateFrequency, ...nodeOptions.kubeletConfig },
      name: region.ec2.instance(instance)?.privateDnsName ?? "",
      instanceId: instance,
      zone: ZONE,
      images: [image],
      waysOut: { [AWS_ADDRESS]: region.url },
    });
    // A machine that shuts down is without power here at once: its node has stopped its pods before, or never does.
    region.ec2.onStateChange((changed, state) => {
      if (changed === instance && state === "shutting-down") void node.stop();
    });
    const install = await HookInstalls.create(controlPlane);
    await install.apply(chartAccount);
    const timeline = await NodeTimeline.start(controlPlane, region, node);
    return new NodeStage({ stage, node, spare, timeline, install, image });
  }

  /** The driver's DaemonSet, each time another revision. */
  nextCsiPods(options: CsiNodePodOptions = {}): DaemonSet {
    const version = String((this.#versions += 1));
    return csiNodePods(this.node, { version, ...options });
  }

  /** Rolls the driver out; the new pod once it is ready and registered. */
  async rollOut(options: CsiNodePodOptions = {}): Promise<CsiPod> {
    await this.install.apply([this.nextCsiPods(options)]);
    return this.rolledOut();
  }

  async rolledOut(): Promise<CsiPod> {
    const path = "/apis/apps/v1/namespaces/kube-system/daemonsets/ebs-csi-node";
    await eventually("the driver's node pods are rolled out", async () => {
      const { metadata, status = {} } = (await this.stage.api.get<DaemonSetStatus>(path)) ?? {};
      const isSeen = metadata !== undefined && status.observedGeneration === metadata.generation;
      return isSeen && status.updatedNumberScheduled === 1 && status.numberAvailable === 1;
    });
    await eventually("the driver is registered", async () => {
      const csiNode = await this.stage.api.get<CsiNodeView>(
        `/apis/storage.k8s.io/v1/csinodes/${this.node.name}`,
      );
      return csiNode?.spec.drivers?.some(({ name }) => name === "ebs.csi.aws.com");
    });
    return this.csiPod();
  }

  /** The driver's pod on the real node that nobody has deleted. */
  csiPod(): Promise<CsiPod> {
    const selector = encodeURIComponent("app=ebs-csi-node");
    return eventually("the driver has a pod", async () => {
      const pods = `/api/v1/namespaces/kube-system/pods?labelSelector=${selector}`;
      const { items } = await this.stage.api.list<CsiPod>(pods);
      return items.find(({ metadata }) => metadata.deletionTimestamp === undefined);
    });
  }

  async containersOf(pod: string, namespace = "kube-system"): Promise<readonly ContainerStatus[]> {
    const found = await this.stage.api.get<CsiPod>(`/api/v1/namespaces/${namespace}/pods/${pod}`);
    return found?.status?.containerStatuses ?? [];
  }

  /** Signals a container's first process, behind the kubelet's back. */
  async signalContainer(pod: string, name: string, signal: string): Promise<void> {
    await this.node.runtime.signal(await this.containerId(pod, name), signal);
  }

  /** As the container runtime names it. */
  async containerId(pod: string, name: string): Promise<string> {
    const container = (await this.containersOf(pod)).find((candidate) => candidate.name === name);
    const id = runtimeId(container);
    if (id === undefined) throw new Error(`pod ${pod} has no container ${name}`);
    return id;
  }

  async cordon(): Promise<void> {
    await this.#setUnschedulable(true);
  }

  async uncordon(): Promise<void> {
    await this.#setUnschedulable(null);
  }

  async close(): Promise<void> {
    await this.timeline.stop();
    await this.node.stop();
    await this.#image.remove();
    await this.stage.close();
  }

  async #setUnschedulable(unschedulable: true | null): Promise<void> {
    await this.stage.api.patch("merge", `/api/v1/nodes/${this.node.name}`, { spec: { unschedulable } });
  }
}

/** The container runtime's name of a container. */
export function runtimeId(container: ContainerStatus | undefined): string | undefined {
  return container?.containerID?.replace("containerd://", "");
}

/** On the node, the region's EC2 and Auto Scaling. */
export const AWS_ADDRESS = "10.96.0.2:80";

interface CsiNodeView extends ApiObject {
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
}

/** What the driver's chart makes besides the pods, as far as they need it. */
export const chartAccount = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: "kube-system" } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "ebs-csi-node-role" },
    rules: [
      { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
      { apiGroups: ["storage.k8s.io"], resources: ["volumeattachments"], verbs: ["get", "list", "watch"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "ebs-csi-node-getter-binding" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: "kube-system" }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "ebs-csi-node-role" },
  },
];
