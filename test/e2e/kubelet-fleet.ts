/** All stand-in kubelets of a test: they share three watches, one client and the mount record. */
import type { ApiClient } from "./api-client.ts";
import type { Node, Pod, VolumeAttachment } from "./api-objects.ts";
import { MountRecord } from "./mount-record.ts";
import { ObjectCache } from "./object-cache.ts";
import { StandInKubelet, type KubeletOptions } from "./stand-in-kubelet.ts";

export class KubeletFleet {
  readonly mounts = new MountRecord();
  /** What the API server has, for looks that cost nothing. */
  readonly pods: ObjectCache<Pod>;
  readonly nodes: ObjectCache<Node>;
  readonly attachments: ObjectCache<VolumeAttachment>;
  readonly #client: ApiClient;
  readonly #kubelets = new Map<string, StandInKubelet>();
  readonly #errors: unknown[] = [];

  private constructor(client: ApiClient) {
    this.#client = client;
    const kubelet = (name: string | undefined) => this.#kubelets.get(name ?? "");
    this.pods = new ObjectCache<Pod>(client, "/api/v1/pods", (pod) =>
      kubelet(pod.spec.nodeName)?.noticed(pod),
    );
    this.nodes = new ObjectCache<Node>(client, "/api/v1/nodes", (node) =>
      kubelet(node.metadata.name)?.noticed(),
    );
    this.attachments = new ObjectCache<VolumeAttachment>(
      client,
      "/apis/storage.k8s.io/v1/volumeattachments",
      (attachment) => kubelet(attachment.spec.nodeName)?.noticed(),
    );
  }

  static async create(client: ApiClient): Promise<KubeletFleet> {
    const fleet = new KubeletFleet(client);
    await Promise.all([fleet.pods.start(), fleet.nodes.start(), fleet.attachments.start()]);
    return fleet;
  }

  /**
   * Starts a machine with its kubelet. A dead one of the same name is replaced: its Node, where it is still there, is
   * adopted by the new machine.
   */
  async start(options: KubeletOptions): Promise<StandInKubelet> {
    if (this.#kubelets.get(options.name)?.isAlive) {
      throw new Error(`${options.name} has a living kubelet`);
    }
    const kubelet = new StandInKubelet(options, {
      client: this.#client,
      mounts: this.mounts,
      pods: this.pods,
      nodes: this.nodes,
      attachments: this.attachments,
      failed: (error) => this.#errors.push(error),
    });
    this.#kubelets.set(options.name, kubelet);
    await kubelet.start();
    return kubelet;
  }

  /** The kubelet that was started last under a name. @throws where there was none */
  kubelet(name: string): StandInKubelet {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) throw new Error(`no kubelet was started under the name ${name}`);
    return kubelet;
  }

  /** One for each name, dead or alive. */
  kubelets(): readonly StandInKubelet[] {
    return [...this.#kubelets.values()];
  }

  /** Powers all machines off. @throws what went wrong in a kubelet meanwhile, and no test asked for */
  async stop(): Promise<void> {
    await Promise.all(this.kubelets().map((kubelet) => kubelet.kill()));
    await Promise.all([this.pods.stop(), this.nodes.stop(), this.attachments.stop()]);
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, "a stand-in kubelet failed");
  }
}
