/** What the scenarios of one file share: a control plane, a region, the functions between them, and machines on demand. */
import { readFile } from "node:fs/promises";
import { parseAllDocuments } from "yaml";
import { KUBERNETES_GROUP } from "../../lib/drain/names.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import type { PodRef } from "../../lib/engine/ports.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { Ec2Delays } from "../../lib/sim/ec2.ts";
import type { ApiClient } from "./api-client.ts";
import type { ApiObject } from "./api-objects.ts";
import { AuditLog } from "./audit-log.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { createAll } from "./create-all.ts";
import { Timeline } from "./drain-timeline.ts";
import { Functions } from "./functions.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import type { Mount } from "./mount-record.ts";
import { tokenConnection } from "./quiet-control-plane.ts";
import { GROUP, Region, ZONE } from "./region.ts";
import type { StandInKubelet } from "./stand-in-kubelet.ts";
import { ebsStorage } from "./volume-objects.ts";

/** The drain's user, as EKS makes it of its role by the access entry: of the group, and no administrator. */
const DRAIN = { user: "drain", groups: [KUBERNETES_GROUP] };

export interface StageOptions extends Omit<ControlPlaneOptions, "ec2Url" | "tokenUsers"> {
  readonly ec2Delays?: Partial<Ec2Delays>;
  readonly policy?: Partial<Policy>;
}

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

interface Parts {
  readonly controlPlane: ControlPlane;
  readonly region: Region;
  readonly audit: AuditLog;
  readonly fleet: KubeletFleet;
  readonly timeline: Timeline;
  readonly port: ReturnType<typeof createClusterPort>;
}

export class Stage {
  readonly controlPlane: ControlPlane;
  readonly region: Region;
  /** Every request of the drain's user, as the API server saw it. */
  readonly audit: AuditLog;
  readonly fleet: KubeletFleet;
  readonly functions: Functions;
  readonly timeline: Timeline;
  /** Mounts of volumes that EC2 has not attached to the machine: the real kubelet finds no device. */
  readonly mountsWithoutDevice: Mount[] = [];
  /** Happens right before an eviction of the drain's is sent. */
  beforeEviction: (pod: PodRef) => Promise<void> = async () => undefined;
  readonly #kubelets = new Map<
    string,
    { readonly options: MachineOptions; readonly kubelet: StandInKubelet }
  >();
  readonly #port: Parts["port"];

  private constructor(parts: Parts, policy: Partial<Policy>) {
    this.controlPlane = parts.controlPlane;
    this.region = parts.region;
    this.audit = parts.audit;
    this.fleet = parts.fleet;
    this.timeline = parts.timeline;
    this.#port = parts.port;
    const cluster = {
      ...this.#port,
      evictPod: async (pod: PodRef, graceSeconds?: number) => {
        await this.beforeEviction(pod);
        await this.#port.evictPod(pod, graceSeconds);
      },
    };
    this.functions = new Functions(this.region, cluster, policy);
    this.fleet.mounts.changed = (mount) => this.#tellGuest(mount);
    this.region.ec2.onStateChange((instance, state) => void this.#follow(instance, state));
  }

  static async start({ ec2Delays, policy = {}, ...options }: StageOptions = {}): Promise<Stage> {
    const region = await Region.start(ec2Delays);
    const audit = await AuditLog.create(DRAIN.user);
    const controlPlane = await startControlPlane({
      ...options,
      ec2Url: region.url,
      tokenUsers: [DRAIN],
      apiServerArgs: audit.flags,
    });
    const { api } = controlPlane;
    await grantRoles(api);
    await createAll(api, ebsStorage());
    const fleet = await KubeletFleet.create(api);
    const timeline = await Timeline.start(api, region);
    const connection = await tokenConnection(controlPlane, async () => controlPlane.tokenFor(DRAIN.user));
    const port = createClusterPort(connection);
    return new Stage({ controlPlane, region, audit, fleet, timeline, port }, policy);
  }

  get api(): ApiClient {
    return this.controlPlane.api;
  }

  /** A machine of the group that has joined the cluster. */
  async launch(options: MachineOptions): Promise<Machine> {
    const { group = GROUP, privateAddress } = options;
    return this.join(await this.region.launch(group, privateAddress), options);
  }

  /** Starts the machine's kubelet; from now on it lives and dies with the machine. */
  async join(instance: string, options: MachineOptions): Promise<Machine> {
    const name = options.node ?? this.region.ec2.instance(instance)?.privateDnsName ?? "";
    const labels = { scenario: options.scenario };
    const kubelet = await this.fleet.start({ name, instanceId: instance, zone: ZONE, labels });
    this.#kubelets.set(instance, { options, kubelet });
    return { instance, node: name };
  }

  /** What should be empty at the end: requests that the API server refused us, and what nobody would try again. */
  async troubles(): Promise<readonly unknown[]> {
    const requests = await this.audit.requestsSince(0);
    const refused = requests.filter(({ status }) => status === 401 || status === 403);
    return [...refused, ...this.functions.failures, ...this.functions.backend.deadLetters()];
  }

  /** @throws what went wrong in a kubelet meanwhile */
  async close(): Promise<void> {
    this.functions.close();
    await this.region.close();
    await this.timeline.stop();
    await this.#port.close();
    try {
      await this.fleet.stop();
    } finally {
      await this.controlPlane.stop();
      await this.audit.remove();
    }
  }

  /** A machine on its way down has no kubelet any more, but keeps its mounts until EC2 has let go of it. */
  async #follow(instance: string, state: string): Promise<void> {
    const known = this.#kubelets.get(instance);
    if (known === undefined) return;
    const { kubelet, options } = known;
    if (state === "shutting-down" || state === "stopping") await kubelet.killKubelet();
    if (state === "terminated" || state === "stopped") await kubelet.kill();
    if (state === "running") await this.join(instance, options);
  }

  #tellGuest(mount: Mount): void {
    const { volume, instance, until, endedBy } = mount;
    const { ec2 } = this.region;
    if (until === undefined && ec2.volumeState(volume, instance) === "none") {
      this.mountsWithoutDevice.push(mount);
    } else if (endedBy !== "power off") {
      // EC2 knows by itself when a machine's power is off.
      ec2.setMounted(volume, instance, until === undefined);
    }
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
