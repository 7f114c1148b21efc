/** The real API server under a bench, its attachments, and one node with its CSI pod after the other. */
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, copyFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ClusterHarness } from "../contract/cluster-harness.ts";
import type { ApiObject } from "../e2e/api-objects.ts";
import { CertificateAuthority } from "../e2e/certificates.ts";
import type { ControlPlane } from "../e2e/control-plane.ts";
import { DRIVER, addRevisions, installAccount, requestToken } from "../e2e/hook-pod.ts";
import { startQuietControlPlane, tokenConnection } from "../e2e/quiet-control-plane.ts";
import { stateRootVariable } from "../e2e/run-settings.ts";
import { realClusterHarness } from "../e2e/real-cluster-harness.ts";
import {
  type LoadedAttachment,
  addAttachment,
  attachmentTo,
  detach,
  loadAttachments,
  nodeName,
} from "./attachment-load.ts";
import { CountingProxy } from "./counting-proxy.ts";

/** Of the node that goes away; the upstream driver's hook was measured with as many. */
const ATTACHMENTS_OF_NODE = 3;
const PODS = "/api/v1/namespaces/kube-system/pods";

export interface BenchNode {
  readonly attachments: readonly LoadedAttachment[];
  /** What the hook of this node is started with. */
  readonly environment: Readonly<Record<string, string>>;
  /** It is cordoned where it goes away, and its CSI pod is being deleted: whoever reads them sees so. */
  readonly endPod: () => Promise<void>;
}

export interface NodeOptions {
  /** With attachments, and cordoned before its pod ends; else it stays. */
  readonly isGoingAway: boolean;
  /** Where its hook finds the API server: a counting proxy. */
  readonly proxy?: CountingProxy;
}

export class BenchCluster {
  readonly folder: string;
  readonly #controlPlane: ControlPlane;
  readonly #harness: ClusterHarness;
  readonly #authority: CertificateAuthority;
  readonly #say: (line: string) => void;
  #loaded = 0;
  #nodes = 0;

  private constructor(
    folder: string,
    controlPlane: ControlPlane,
    harness: ClusterHarness,
    authority: CertificateAuthority,
    say: (line: string) => void,
  ) {
    this.folder = folder;
    this.#controlPlane = controlPlane;
    this.#harness = harness;
    this.#authority = authority;
    this.#say = say;
  }

  static async start(say: (line: string) => void): Promise<BenchCluster> {
    const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-bench-"));
    // Everything in one folder, so that whoever is interrupted can remove it.
    process.env[stateRootVariable] = folder;
    const controlPlane = await startQuietControlPlane();
    const admin = async () => controlPlane.tokenFor("admin");
    const harness = await realClusterHarness(controlPlane.api, await tokenConnection(controlPlane, admin));
    await installAccount(controlPlane);
    await addRevisions(controlPlane);
    const authority = await CertificateAuthority.create(path.join(folder, "proxy"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
    return new BenchCluster(folder, controlPlane, harness, authority, say);
  }

  /** Adds attachments of other nodes until there are this many. */
  async grow(attachments: number): Promise<void> {
    const { api } = this.#controlPlane;
    await loadAttachments(api, this.#loaded, attachments, this.#say);
    this.#loaded = attachments;
  }

  async startProxy(): Promise<CountingProxy> {
    const { server, caFile } = this.#controlPlane;
    return CountingProxy.start(server, await this.#authority.server(), caFile);
  }

  async addNode({ isGoingAway, proxy }: NodeOptions): Promise<BenchNode> {
    const name = nodeName(172, this.#nodes++);
    const numbers = Array.from({ length: isGoingAway ? ATTACHMENTS_OF_NODE : 0 }, (_, index) => index);
    const attachments = numbers.map((number) => attachmentTo(name, number));
    await this.#harness.addNode({
      name,
      volumesInUse: attachments.map(({ handle }) => `kubernetes.io/csi/${DRIVER}^${handle}`),
    });
    for (const attachment of attachments) await addAttachment(this.#controlPlane.api, attachment);
    const pod = await this.#addPod(name);
    return {
      attachments,
      environment: await this.#environmentOf(name, pod, proxy),
      endPod: async () => {
        const cordon = { spec: { unschedulable: true } };
        if (isGoingAway) await this.#controlPlane.api.patch("merge", `/api/v1/nodes/${name}`, cordon);
        await this.#controlPlane.api.delete(`${PODS}/${pod.name}`);
      },
    };
  }

  detach(attachment: LoadedAttachment): Promise<void> {
    return detach(this.#controlPlane.api, attachment);
  }

  async stop(): Promise<void> {
    await this.#harness.close();
    await this.#controlPlane.stop();
  }

  async #environmentOf(
    node: string,
    pod: { readonly name: string; readonly uid: string },
    proxy: CountingProxy | undefined,
  ): Promise<Readonly<Record<string, string>>> {
    const serviceAccount = path.join(this.folder, node);
    await mkdir(serviceAccount);
    const caFile = proxy === undefined ? this.#controlPlane.caFile : this.#authority.caFile;
    await copyFile(caFile, path.join(serviceAccount, "ca.crt"));
    await writeFile(path.join(serviceAccount, "token"), await requestToken(this.#controlPlane));
    const server = new URL(proxy?.url ?? this.#controlPlane.server);
    return {
      NODE_NAME: node,
      POD_NAME: pod.name,
      POD_UID: pod.uid,
      KUBERNETES_SERVICE_HOST: server.hostname,
      KUBERNETES_SERVICE_PORT: server.port,
      EBS_DRAIN_HOOK_SERVICE_ACCOUNT: serviceAccount,
    };
  }

  async #addPod(node: string): Promise<{ readonly name: string; readonly uid: string }> {
    const name = `ebs-csi-node-of-${node.split(".")[0]}`;
    const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "ebs-csi-node", uid: "ds-1" };
    const { metadata } = await this.#controlPlane.api.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        labels: { "controller-revision-hash": "rev-2" },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: {
        nodeName: node,
        // Longer than any list takes: a hold must not end by its own deadline.
        terminationGracePeriodSeconds: 600,
        containers: [{ name: "ebs-plugin", image: "example.com/driver" }],
      },
    } as ApiObject);
    return { name, uid: metadata.uid ?? "" };
  }
}
