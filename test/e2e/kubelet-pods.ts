/** The pods of one stand-in kubelet: each is taken up once, and lives until it or the kubelet ends. */
import type { ApiClient } from "./api-client.ts";
import type { Node, Pod, VolumeAttachment } from "./api-objects.ts";
import type { Changes } from "./changes.ts";
import type { MountRecord } from "./mount-record.ts";
import type { NodeShutdown } from "./node-shutdown.ts";
import type { NodeVolumes } from "./node-volumes.ts";
import type { ObjectCache } from "./object-cache.ts";
import { livePod, type PodHost } from "./pod-life.ts";
import type { RunningPods } from "./running-pods.ts";

/** What all kubelets of a test share. */
export interface KubeletContext {
  readonly client: ApiClient;
  readonly mounts: MountRecord;
  readonly pods: ObjectCache<Pod>;
  readonly nodes: ObjectCache<Node>;
  readonly attachments: ObjectCache<VolumeAttachment>;
  /** An error that no test asked for. */
  failed(error: unknown): void;
}

export interface KubeletPodsParts {
  readonly context: KubeletContext;
  readonly node: string;
  readonly stopMs: number;
  readonly volumes: NodeVolumes;
  readonly running: RunningPods;
  readonly changes: Changes;
  shutdown(): NodeShutdown | undefined;
}

export class KubeletPods {
  readonly #parts: KubeletPodsParts;
  readonly #living = new Map<string, Promise<void>>();

  constructor(parts: KubeletPodsParts) {
    this.#parts = parts;
  }

  /** Begins to run a pod, where it is bound to this node and does not run yet. `signal` ends the kubelet. */
  takeUp(pod: Pod, signal: AbortSignal): void {
    const uid = pod.metadata.uid ?? "";
    if (pod.spec.nodeName !== this.#parts.node || this.#living.has(uid)) return;
    const host = this.#hostOf(pod, signal);
    if (host.current() === undefined) return; // this was the news that it is gone
    const life = unlessEnded(livePod(host, pod), signal, this.#parts.context);
    this.#living.set(
      uid,
      life.finally(() => this.#living.delete(uid)),
    );
  }

  async settled(): Promise<void> {
    await Promise.all(this.#living.values());
  }

  /** As the real one sees a group of pods: their containers and their own mounts are gone, maybe not the volumes. */
  haveEnded(isMeant: (pod: Pod) => boolean): boolean {
    const { context, running, volumes } = this.#parts;
    const pods = context.pods.values().filter(isMeant);
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    return !running.values().some(isMeant) && !volumes.isPublishedTo((uid) => uids.has(uid));
  }

  #hostOf(pod: Pod, signal: AbortSignal): PodHost {
    const { name, namespace, uid } = pod.metadata;
    const { context, volumes, running, changes, stopMs } = this.#parts;
    return {
      client: context.client,
      volumes,
      signal,
      stopMs,
      current: () => {
        const present = context.pods.get(name, namespace);
        return present?.metadata.uid === uid ? present : undefined;
      },
      until: (isTrue, limitMs) => changes.until(isTrue, signal, limitMs),
      shutdownMs: () => this.#parts.shutdown()?.graceMs(pod),
      containersStarted: () => running.started(pod),
      containerSignalled: (container) => running.signalled(pod, container),
      containersEnded: () => running.ended(pod),
    };
  }
}

/** The end of a kubelet ends all that it was doing; any other error is one that no test asked for. */
export async function unlessEnded(
  work: Promise<void>,
  signal: AbortSignal,
  context: Pick<KubeletContext, "failed">,
): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!signal.aborted) context.failed(error);
  }
}
