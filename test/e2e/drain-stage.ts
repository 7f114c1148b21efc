/** What the scenarios of one file share: a control plane, a region, the functions between them, and machines on demand. */
import { KUBERNETES_GROUP } from "../../lib/drain/names.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import type { PodRef } from "../../lib/engine/ports.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { Ec2Delays } from "../../lib/sim/ec2.ts";
import type { ApiClient } from "./api-client.ts";
import { AuditLog } from "./audit-log.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { createAll } from "./create-all.ts";
import { Timeline } from "./drain-timeline.ts";
import { Functions } from "./functions.ts";
import { grantRoles } from "./grant-roles.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import { type Machine, type MachineOptions, Machines } from "./machines.ts";
import type { Mount } from "./mount-record.ts";
import { tokenConnection } from "./quiet-control-plane.ts";
import { Region } from "./region.ts";
import { ebsStorage } from "./volume-objects.ts";

/** The drain's user, as EKS makes it of its role by the access entry: of the group, and no administrator. */
const DRAIN = { user: "drain", groups: [KUBERNETES_GROUP] };

export interface StageOptions extends Omit<ControlPlaneOptions, "ec2Url" | "tokenUsers"> {
  readonly ec2Delays?: Partial<Ec2Delays>;
  readonly policy?: Partial<Policy>;
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
  /** Happens right before an eviction of the drain's is sent. */
  beforeEviction: (pod: PodRef) => Promise<void> = async () => undefined;
  readonly #machines: Machines;
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
    this.#machines = new Machines(this.region, this.fleet);
  }

  static async start({ ec2Delays, policy = {}, ...options }: StageOptions = {}): Promise<Stage> {
    const region = await Region.start(ec2Delays);
    const audit = await AuditLog.create({ users: [DRAIN.user] });
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

  /** Mounts of volumes that EC2 has not attached to the machine: the real kubelet finds no device. */
  get mountsWithoutDevice(): readonly Mount[] {
    return this.#machines.mountsWithoutDevice;
  }

  /** A machine of the group that has joined the cluster. */
  launch(options: MachineOptions): Promise<Machine> {
    return this.#machines.launch(options);
  }

  /** Starts the machine's kubelet; from now on it lives and dies with the machine. */
  join(instance: string, options: MachineOptions): Promise<Machine> {
    return this.#machines.join(instance, options);
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
}
