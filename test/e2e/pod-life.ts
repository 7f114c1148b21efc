/** One pod on a stand-in kubelet, from its binding to its end. */
import { ApiRequestError, type ApiClient } from "./api-client.ts";
import type { Pod } from "./api-objects.ts";
import type { NodeVolumes } from "./node-volumes.ts";
import { stopContainers } from "./pod-containers.ts";
import { persist } from "./persist.ts";
import { endedStatus, rejectedStatus, runningStatus } from "./pod-status.ts";
import { ebsDriver, volumesOf, type NodeVolume } from "./pod-volumes.ts";

/** Annotations of a pod that say how it behaves; see `pod-template.ts`. */
export const stopSecondsAnnotation = "test.ebs-drain.dev/stop-seconds";
export const finishSecondsAnnotation = "test.ebs-drain.dev/finish-seconds";

/** What a pod needs of its kubelet. */
export interface PodHost {
  readonly client: ApiClient;
  readonly volumes: NodeVolumes;
  readonly stopMs: number;
  readonly signal: AbortSignal;
  /** The pod as the API server has it; undefined once it is gone, or another of its name is there. */
  current(): Pod | undefined;
  /** True once the condition holds, false after the limit; throws when the kubelet ends. */
  until(isTrue: () => boolean, limitMs?: number): Promise<boolean>;
  /** What the pod gets to end because its machine shuts down; undefined while it does not. */
  shutdownMs(): number | undefined;
  containersStarted(): Promise<void>;
  containerSignalled(container: string): void;
  containersEnded(): Promise<void>;
}

const bindingPollMs = 250;
/** What the kubelet gives a pod that vanished from the API while it was running. */
const orphanGraceMs = 1_000;

/** Runs the pod until it is gone from the API and its volumes are unmounted. @throws when the kubelet ends */
export async function livePod(host: PodHost, pod: Pod): Promise<void> {
  const isDeleted = () => host.current()?.metadata.deletionTimestamp !== undefined || isGone(host);
  const isEnding = () => isDeleted() || host.shutdownMs() !== undefined;
  const volumes = isFinal(pod) ? [] : await startPod(host, pod, isEnding);
  if (volumes !== undefined) {
    const isEnded = await host.until(isEnding, finishMs(pod));
    if (!isFinal(pod)) await endContainers(host, pod, isEnded);
    for (const volume of volumes) await host.volumes.unpublish(volume, uid(pod));
  }
  const unstaged = Promise.all((volumes ?? []).map((volume) => host.volumes.unstage(volume)));
  await host.until(isDeleted);
  await deletePod(host, pod);
  await unstaged;
}

/** @returns the pod's volumes once its containers run; undefined where it was deleted before that */
async function startPod(
  host: PodHost,
  pod: Pod,
  isEnding: () => boolean,
): Promise<readonly NodeVolume[] | undefined> {
  const volumes = await boundVolumes(host, pod, isEnding);
  for (const volume of volumes) host.volumes.want(volume, uid(pod));
  const isMountable = (volume: NodeVolume) =>
    host.volumes.isMounted(volume) || host.volumes.isMountable(volume);
  await host.until(() => isEnding() || volumes.every(isMountable));
  if (!volumes.every(isMountable)) {
    for (const volume of volumes) await host.volumes.unpublish(volume, uid(pod));
    for (const volume of volumes) await host.volumes.unstage(volume);
    if (host.shutdownMs() !== undefined) await patchStatus(host, pod, rejectedStatus());
    return undefined;
  }
  for (const volume of volumes) host.volumes.mount(volume);
  await host.containersStarted();
  await patchStatus(host, pod, runningStatus(pod));
  return volumes;
}

async function boundVolumes(
  host: PodHost,
  pod: Pod,
  isEnding: () => boolean,
): Promise<readonly NodeVolume[]> {
  for (;;) {
    const volumes = await persist(host, () => volumesOf(host.client, pod));
    // Other drivers' volumes need no attachment here: they are there at once and harm nobody.
    if (volumes !== undefined) return volumes.filter(({ driver }) => driver === ebsDriver);
    if (await host.until(isEnding, bindingPollMs)) return [];
  }
}

/** @param isEnded by somebody; otherwise the pod finished by itself */
async function endContainers(host: PodHost, pod: Pod, isEnded: boolean): Promise<void> {
  const isUnwanted = () => isGone(host);
  const containers = {
    signalled: (name: string) => host.containerSignalled(name),
    wait: async (ms: number) => {
      await host.until(isUnwanted, ms);
    },
  };
  const isShutdown = host.shutdownMs() !== undefined;
  const isClean = isEnded
    ? await stopContainers(containers, pod, graceMs(host, pod), stopMs(host, pod))
    : true;
  for (const { name } of pod.spec.containers) host.containerSignalled(name);
  await host.containersEnded();
  // Final before anything is unmounted: the attach/detach controller stops wanting the volume from here on.
  await patchStatus(host, pod, endedStatus(pod, isClean, isShutdown));
}

/** The kubelet removes the object only when the containers have ended and the pod's mounts are gone. */
async function deletePod(host: PodHost, pod: Pod): Promise<void> {
  const path = podPath(pod);
  await persist(host, () =>
    host.client
      .delete(path, { gracePeriodSeconds: 0, preconditions: { uid: uid(pod) } })
      .catch(unlessGone(host)),
  );
}

async function patchStatus(host: PodHost, pod: Pod, status: object): Promise<void> {
  const path = `${podPath(pod)}/status`;
  // The uid makes a patch of another pod of the same name a conflict instead of a lie.
  const patch = { metadata: { uid: uid(pod) }, status };
  await persist(host, () => host.client.patch("strategic", path, patch).catch(unlessGone(host)));
}

/** 409 or 422 is another pod of the same name, or 409 somebody else's write at the same moment: the cache tells which. */
function unlessGone(host: PodHost): (error: unknown) => void {
  return (error) => {
    const status = error instanceof ApiRequestError ? error.status : undefined;
    const mayBeNamesake = status === 409 || status === 422;
    if (status !== 404 && !(mayBeNamesake && isGone(host))) throw error;
  };
}

function isGone(host: PodHost): boolean {
  return host.current() === undefined;
}

function isFinal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

function graceMs(host: PodHost, pod: Pod): number {
  const shutdownMs = host.shutdownMs();
  if (shutdownMs !== undefined) return shutdownMs;
  const current = host.current();
  if (current === undefined) return orphanGraceMs;
  const seconds = current.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  return seconds * 1000;
}

function stopMs(host: PodHost, pod: Pod): number {
  return annotatedMs(pod, stopSecondsAnnotation) ?? host.stopMs;
}

function finishMs(pod: Pod): number | undefined {
  return annotatedMs(pod, finishSecondsAnnotation);
}

function annotatedMs(pod: Pod, annotation: string): number | undefined {
  const value = pod.metadata.annotations?.[annotation];
  return value === undefined ? undefined : Number(value) * 1000;
}

function podPath(pod: Pod): string {
  return `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
}

function uid(pod: Pod): string {
  return pod.metadata.uid ?? "";
}
