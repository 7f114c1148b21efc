/** A CSI node pod with the hook on a real API server: its Node, the pod's objects, its attachments, and the hook's process. */
import { mkdtemp, copyFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { attachmentName } from "../../lib/engine/attachment-name.ts";
import { hookRbacManifests, type RbacObject } from "../../lib/kubernetes/rbac-manifests.ts";
import type { ClusterHarness, NodeSeed } from "../contract/cluster-harness.ts";
import { freshName } from "../contract/cluster-cases.ts";
import { type HookProcess, POD_ENVIRONMENT, startHook } from "../hook/hook-process.ts";
import type { ApiObject } from "./api-objects.ts";
import type { ControlPlane } from "./control-plane.ts";
import { eventually } from "./eventually.ts";

export const DRIVER = "ebs.csi.aws.com";
export const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";
const NAMESPACE = "kube-system";
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const ACCOUNTS = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`;
export const ACCOUNT = "ebs-csi-node-sa";
const CONTAINERS = ["ebs-plugin", "node-driver-registrar", "ebs-drain-hook"];

/** The service account of the CSI node pods with the hook's roles, and nothing else. */
export async function installAccount({ api }: ControlPlane): Promise<void> {
  await api.create(ACCOUNTS, object("v1", "ServiceAccount", ACCOUNT));
  for (const manifest of hookRbacManifests()) {
    await api.create(collectionOf(manifest), manifest);
  }
}

function collectionOf({ kind, metadata }: RbacObject): string {
  const scope = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return `/apis/rbac.authorization.k8s.io/v1${scope}/${kind.toLowerCase()}s`;
}

/** A token as the kubelet gets it for the pod. */
export async function requestToken({ api }: ControlPlane, account = ACCOUNT): Promise<string> {
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 600 },
  };
  const { status, body } = await api.request("POST", `${ACCOUNTS}/${account}/token`, request);
  if (status !== 201) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
  return (body as { readonly status: { readonly token: string } }).status.token;
}

/** A folder with the files `token` and `ca.crt`, as the kubelet mounts it. */
export async function writeCredentials(controlPlane: ControlPlane): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-hook-"));
  await copyFile(controlPlane.caFile, path.join(folder, "ca.crt"));
  await writeFile(path.join(folder, "token"), await requestToken(controlPlane));
  return folder;
}

export interface HookPodOptions {
  readonly node?: Partial<NodeSeed>;
  /** Handles of the node's volumes, attached and listed in use. */
  readonly handles?: readonly string[];
  /** Of the pod; the newest of its DaemonSet is `rev-2`. */
  readonly revision?: string;
  readonly graceSeconds?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export class HookPod {
  readonly node: string;
  readonly uid: string;
  readonly process: HookProcess;
  readonly #controlPlane: ControlPlane;
  readonly #name: string;
  /** Folder with the files `token` and `ca.crt`. */
  readonly credentials: string;

  private constructor(
    controlPlane: ControlPlane,
    node: string,
    pod: { name: string; uid: string },
    folder: string,
    process: HookProcess,
  ) {
    this.#controlPlane = controlPlane;
    this.node = node;
    this.#name = pod.name;
    this.uid = pod.uid;
    this.credentials = folder;
    this.process = process;
  }

  static async start(
    controlPlane: ControlPlane,
    harness: ClusterHarness,
    options: HookPodOptions = {},
  ): Promise<HookPod> {
    const { handles = [], environment = {}, graceSeconds = 60 } = options;
    const node = freshName("node");
    await harness.addNode({
      name: node,
      volumesInUse: handles.map((handle) => `kubernetes.io/csi/${DRIVER}^${handle}`),
      ...options.node,
    });
    await harness.addAttachments(
      handles.map((handle) => ({
        name: attachmentName(handle, DRIVER, node),
        attacher: DRIVER,
        nodeName: node,
        source: { volumeName: `pv-${handle}` },
      })),
    );
    const pod = await addPod(controlPlane, node, options.revision ?? "rev-2", graceSeconds);
    const folder = await writeCredentials(controlPlane);
    const server = new URL(controlPlane.server);
    const process = await startHook({
      ...POD_ENVIRONMENT,
      NODE_NAME: node,
      POD_NAME: pod.name,
      POD_UID: pod.uid,
      KUBERNETES_SERVICE_HOST: server.hostname,
      KUBERNETES_SERVICE_PORT: server.port,
      EBS_DRAIN_HOOK_SERVICE_ACCOUNT: folder,
      ...environment,
    });
    return new HookPod(controlPlane, node, pod, folder, process);
  }

  /** Deletes the pod; all its containers' hooks are asked. Resolves with what they were answered. */
  async end(): Promise<string> {
    await this.#controlPlane.api.delete(`${PODS}/${this.#name}`);
    return this.ask();
  }

  /** All containers' hooks are asked, as by a kubelet. */
  async ask(): Promise<string> {
    const answers = await Promise.all(
      CONTAINERS.map((name) => this.process.get(`/pre-stop?container=${name}`)),
    );
    const texts = new Set(answers.map(({ text }) => text));
    if (texts.size !== 1)
      throw new Error(`the containers were answered differently: ${[...texts].join(" | ")}`);
    return [...texts][0] ?? "";
  }

  async untilHolding(rule = "H5"): Promise<void> {
    await eventually("the hook holds", () =>
      this.process.log().some((line) => line["message"] === "holding" && line["rule"] === rule),
    );
  }

  /** As attach/detach controller and attacher do it together. */
  async detach(handle: string): Promise<void> {
    const where = `${ATTACHMENTS}/${attachmentName(handle, DRIVER, this.node)}`;
    await this.#controlPlane.api.delete(where);
    await this.#controlPlane.api.patch("merge", where, { metadata: { finalizers: null } });
  }

  async patchNode(patch: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#controlPlane.api.patch("merge", `/api/v1/nodes/${this.node}`, patch);
  }

  writeToken(token: string): Promise<void> {
    return writeFile(path.join(this.credentials, "token"), token);
  }

  async stop(): Promise<void> {
    await this.process.stop();
    await rm(this.credentials, { recursive: true });
  }
}

async function addPod({ api }: ControlPlane, node: string, revision: string, graceSeconds: number) {
  const owner = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: "ebs-csi-node",
    uid: "ds-1",
    controller: true,
  };
  const name = freshName("ebs-csi-node");
  const { metadata } = await api.create(PODS, {
    ...object("v1", "Pod", name),
    metadata: { name, labels: { "controller-revision-hash": revision }, ownerReferences: [owner] },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: graceSeconds,
      containers: [{ name: "ebs-plugin", image: "example.com/driver" }],
    },
  } as ApiObject);
  return { name, uid: metadata.uid ?? "" };
}

/** Two revisions of the pods' DaemonSet. */
export async function addRevisions({ api }: ControlPlane): Promise<void> {
  const owner = {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    name: "ebs-csi-node",
    uid: "ds-1",
    controller: true,
  };
  for (const [index, hash] of ["rev-1", "rev-2"].entries()) {
    const name = `ebs-csi-node-${hash}`;
    await api.create(`/apis/apps/v1/namespaces/${NAMESPACE}/controllerrevisions`, {
      ...object("apps/v1", "ControllerRevision", name),
      metadata: { name, labels: { "controller-revision-hash": hash }, ownerReferences: [owner] },
      revision: index + 1,
      data: {},
    } as ApiObject);
  }
}

function object(apiVersion: string, kind: string, name: string) {
  return { apiVersion, kind, metadata: { name } };
}
