/** What a kubelet says about a pod's containers. */
import type { Condition, Container, Pod } from "./api-objects.ts";
import { podAddress } from "./pod-containers.ts";

export function runningStatus(pod: Pod): object {
  const state = { running: { startedAt: timestamp() } };
  return {
    phase: "Running",
    conditions: ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"].map((type) =>
      condition(type, "True"),
    ),
    hostIP: podAddress,
    podIP: podAddress,
    podIPs: [{ ip: podAddress }],
    startTime: timestamp(),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, true, state)),
  };
}

/**
 * @param isClean no container had to be killed
 * @param isShutdown the machine shuts down: failed then, however the containers ended
 */
export function endedStatus(pod: Pod, isClean: boolean, isShutdown: boolean): object {
  const exit = isClean ? { exitCode: 0, reason: "Completed" } : { exitCode: 137, reason: "Error" };
  const state = { terminated: { ...exit, finishedAt: timestamp() } };
  return {
    phase: isClean && !isShutdown ? "Succeeded" : "Failed",
    conditions: [
      ...["ContainersReady", "Ready"].map((type) => condition(type, "False")),
      ...(isShutdown
        ? [{ ...condition("DisruptionTarget", "True"), reason: "TerminationByKubelet", message: "shutdown" }]
        : []),
    ],
    ...(isShutdown
      ? { reason: "Terminated", message: "Pod was terminated in response to imminent node shutdown." }
      : {}),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, false, state)),
  };
}

/** A pod that was bound to a machine which shuts down: never started. */
export function rejectedStatus(): object {
  return {
    phase: "Failed",
    reason: "NodeShutdown",
    message: "Pod was rejected as the node is shutting down.",
  };
}

function containerStatus(container: Container, ready: boolean, state: object): object {
  const image = container.image ?? "stand-in";
  return { name: container.name, image, imageID: image, restartCount: 0, ready, started: ready, state };
}

function condition(type: string, status: string): Condition {
  return { type, status, lastTransitionTime: timestamp() };
}

/** Kubernetes' times have no fractions of a second. */
export function timestamp(): string {
  return new Date().toISOString().replace(/\.\d+/, "");
}
