/** What the scenarios of one file share: a control plane, a region, the functions between them, and machines on demand. */
import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { KUBERNETES_GROUP } from "../../lib/drain/names.ts";
import type { PodRef } from "../../lib/engine/ports.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { ApiClient } from "./api-client.ts";
import type { ApiObject, Pod } from "./api-objects.ts";
import type { ControlPlane, ControlPlaneOptions } from "./control-plane.ts";
import { startControlPlane } from "./control-plane.ts";
import { createAll, object } from "./create-all.ts";
import { Timeline } from "./drain-timeline.ts";
import { eventually } from "./eventually.ts";
import { Functions } from "./functions.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import { tokenConnection } from "./quiet-control-plane.ts";
import { GROUP, Region, ZONE } from "./region.ts";
import type { StandInKubelet } from "./stand-in-kubelet.ts";
import { ebsStorage } from "./volume-objects.ts";

/** The drain's user, as EKS makes it of its role by the access entry: of the group, and no administrator. */
const DRAIN = { user: "drain", groups: [KUBERNETES_GROUP] };

export interface Machine {
  readonly instance: string;
  /** Of its Node. */
  readonly node: string;
}

export interface MachineOptions {
  /** Value of the Node's label `scenario`: pods of a scenario stay among its machines. */
  readonly scenario: string;
  readonly group?: string;
  readonly privateAddress?: string;
  /** The Node's name where it is not EC2's private DNS name (C10). */
  readonly node?: string;
}

export class Stage {
  readonly controlPlane: ControlPlane;
  readonly region: Region;
  readonly fleet: KubeletFleet;
  readonly functions: Functions;
  readonly timeline: Timeline;
  /** Happens right before an eviction of the drain's is sent. */
  beforeEviction: (pod: PodRef) => Promise<void> = async () => undefined;
  readonly #kubelets = new Map<
    string,
    { readonly options: MachineOptions; readonly kubelet: StandInKubelet }
  >();
  readonly #closing: (() => Promise<void>)[];

  private constructor(parts: {
    readonly controlPlane: ControlPlane;
    readonly region: Region;
    readonly fleet: KubeletFleet;
    readonly timeline: Timeline;
    readonly port: ReturnType<typeof createClusterPort>;
  }) {
    const { port } = parts;
    this.controlPlane = parts.controlPlane;
    this.region = parts.region;
    this.fleet = parts.fleet;
    this.timeline = parts.timeline;
    this.functions = new Functions(this.region, {
      ...port,
      evictPod: async (pod, graceSeconds) => {
        await this.beforeEviction(pod);
        await port.evictPod(pod, graceSeconds);
      },
    });
    this.#closing = [() => this.fleet.stop(), () => this.timeline.stop(), () => port.close()];
    this.region.ec2.onStateChange((instance, state) => void this.#follow(instance, state));
  }

  static async start(options: Omit<ControlPlaneOptions, "ec2Url" | "tokenUsers"> = {}): Promise<Stage> {
    const region = await Region.start();
    const controlPlane = await startControlPlane({ ...options, ec2Url: region.url, tokenUsers: [DRAIN] });
    const { api } = controlPlane;
    await grantRoles(api);
    await createAll(api, ebsStorage());
    const connection = await tokenConnection(controlPlane, async () => controlPlane.tokenFor(DRAIN.user));
    return new Stage({
      controlPlane,
      region,
      fleet: await KubeletFleet.create(api),
      timeline: await Timeline.start(api, region),
      port: createClusterPort(connection),
    });
  }

  get api(): ApiClient {
    return this.controlPlane.api;
  }

  /** A machine of the group that has joined the cluster. */
  async launch(options: MachineOptions): Promise<Machine> {
    const instance = await this.runInstance(options);
    return this.join(instance, options);
  }

  /** A machine of the group that EC2 runs and whose kubelet has not started. */
  async runInstance({ group = GROUP, privateAddress }: MachineOptions): Promise<string> {
    const { autoScaling } = this.region;
    const instance = autoScaling.launch(group, {
      zone: ZONE,
      ...(privateAddress === undefined ? {} : { privateAddress }),
    });
    const isInService = () => autoScaling.member(instance)?.lifecycleState === "InService";
    await eventually(`${instance} is in service`, isInService);
    return instance;
  }

  /** Starts the machine's kubelet; from now on it lives and dies with the machine. */
  async join(instance: string, options: MachineOptions): Promise<Machine> {
    const name = options.node ?? this.region.ec2.instance(instance)?.privateDnsName ?? "";
    const labels = { scenario: options.scenario };
    const kubelet = await this.fleet.start({ name, instanceId: instance, zone: ZONE, labels });
    this.#kubelets.set(instance, { options, kubelet });
    return { instance, node: name };
  }

  /** An EBS volume as the CSI driver makes them; its id. */
  createVolume(): string {
    return this.region.ec2.createVolume({ zone: ZONE });
  }

  /** A namespace in which pods are admitted. */
  async createNamespace(name: string): Promise<void> {
    await createAll(this.api, [object("Namespace", { metadata: { name } })]);
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await eventually(`${account} is there`, () => this.api.get(account));
  }

  getPod(namespace: string, name: string): Promise<Pod | undefined> {
    return this.api.get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  /** Waits until the pod runs there. */
  runningOn(node: string, namespace: string, name: string, limitSeconds?: number): Promise<Pod> {
    return eventually(
      `${namespace}/${name} runs on ${node}`,
      async () => {
        const pod = await this.getPod(namespace, name);
        return pod?.spec.nodeName === node && pod.status?.phase === "Running" ? pod : undefined;
      },
      limitSeconds,
    );
  }

  async close(): Promise<void> {
    this.functions.close();
    await this.region.close();
    for (const close of this.#closing) await close();
    await this.controlPlane.stop();
  }

  /** A machine on its way down has no kubelet any more but keeps its mounts until EC2 has let go of it. */
  async #follow(instance: string, state: string): Promise<void> {
    const known = this.#kubelets.get(instance);
    if (known === undefined) return;
    const { kubelet, options } = known;
    if (state === "shutting-down" || state === "stopping") await kubelet.killKubelet();
    if (state === "terminated" || state === "stopped") await kubelet.kill();
    if (state === "running") await this.join(instance, options);
  }
}

/** Exactly the roles that the product installs. */
async function grantRoles(api: ApiClient): Promise<void> {
  const file = new URL("../../manifests/rbac.yaml", import.meta.url);
  for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
    const role = document.toJS() as ApiObject;
    const { namespace } = role.metadata;
    const scope = namespace === undefined ? "" : `/namespaces/${namespace}`;
    await api.create(`/apis/rbac.authorization.k8s.io/v1${scope}/${role.kind.toLowerCase()}s`, role);
  }
}
