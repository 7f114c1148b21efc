/** What a stand-in kubelet tells the API server about its machine, again and again. */
import { ApiRequestError, type ApiClient } from "./api-client.ts";
import type { Node } from "./api-objects.ts";
import {
  nodePath,
  nodeStatus,
  registerDriver,
  registerNode,
  renewLease,
  unregisterDriver,
  type Machine,
} from "./node-registration.ts";
import { timestamp } from "./pod-status.ts";
import { ebsDriver } from "./pod-volumes.ts";

export interface ReportedNode {
  readonly client: ApiClient;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  machine(): Machine;
  /** The Node as the API server has it. */
  node(): Node | undefined;
  volumesInUse(): readonly string[];
  isDriverRegistered(): boolean;
  isShuttingDown(): boolean;
}

/** The real kubelet's words: the drain and its hook read them. */
const living = { status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
const shuttingDown = { status: "False", reason: "KubeletNotReady", message: "node is shutting down" };

export class NodeReports {
  readonly #of: ReportedNode;

  constructor(of: ReportedNode) {
    this.#of = of;
  }

  register(): Promise<void> {
    const { client, name, labels } = this.#of;
    return registerNode(client, name, this.#of.machine(), labels);
  }

  /** Like the real one it writes only what differs, and never makes a Node again that somebody deleted. */
  async syncStatus(): Promise<void> {
    const node = this.#of.node();
    if (node === undefined || this.#isReported(node)) return;
    const ready = {
      type: "Ready",
      ...(this.#of.isShuttingDown() ? shuttingDown : living),
      lastHeartbeatTime: timestamp(),
      lastTransitionTime: timestamp(),
    };
    const status = nodeStatus(this.#of.machine(), ready, this.#of.volumesInUse());
    const path = `${nodePath(this.#of.name)}/status`;
    await this.#of.client.patch("strategic", path, status).catch(unlessDeleted);
  }

  async syncDriver(): Promise<void> {
    const { client, name } = this.#of;
    const node = this.#of.node();
    if (node === undefined) return;
    if (!this.#of.isDriverRegistered()) return unregisterDriver(client, name, ebsDriver);
    await registerDriver(client, node, ebsDriver, this.#of.machine().instanceId);
  }

  async renewLease(): Promise<void> {
    const node = this.#of.node();
    if (node !== undefined) await renewLease(this.#of.client, node);
  }

  #isReported({ status }: Node): boolean {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    const inUse = status?.volumesInUse ?? [];
    const wanted = this.#of.volumesInUse();
    return (
      ready?.status === (this.#of.isShuttingDown() ? shuttingDown : living).status &&
      status?.nodeInfo?.bootID === this.#of.machine().bootId &&
      inUse.length === wanted.length &&
      wanted.every((name) => inUse.includes(name))
    );
  }
}

function unlessDeleted(error: unknown): void {
  if (!(error instanceof ApiRequestError && error.status === 404)) throw error;
}
