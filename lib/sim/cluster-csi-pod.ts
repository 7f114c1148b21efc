/** The EBS driver's node pod, whose end takes the driver with it, and the hook that may hold it. */
import type { Span } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";

/** A CSI node pod was asked to end and its preStop hooks run: its containers stay until the release or the end of the grace. */
export interface CsiPodStopping {
  readonly node: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly why: "deleted" | "shutdown";
  readonly graceSeconds: number;
  /** The hook answers. */
  readonly release: () => void;
  /** The registrar ends although the pod stays, as with a hook that protects only the driver's container. */
  readonly deregister: () => void;
  /** Tells when the containers are gone, by release, end of grace or the machine's end: a process in them runs no further. */
  readonly onEnded: (listener: () => void) => void;
}

/** The registrar in it makes it the EBS driver's node pod. */
export function isDriverPod(pod: PodObject): boolean {
  return pod.spec.containers.includes("node-driver-registrar");
}

export function refOf({ metadata }: PodObject): Pick<CsiPodStopping, "namespace" | "pod" | "uid"> {
  return { namespace: metadata.namespace ?? "", pod: metadata.name, uid: metadata.uid };
}

/** Milliseconds from the hook's answer to the containers' end. */
export const AFTER_RELEASE: Span = [10, 60];
