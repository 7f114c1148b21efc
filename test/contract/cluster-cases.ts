/** What the cases of the cluster contract are made of. */
import type { NodeView, PodView } from "../../lib/drain/cluster.ts";
import { type FailureKind, PortError } from "../../lib/engine/errors.ts";
import type { ClusterPort, PodRef } from "../../lib/engine/ports.ts";
import type { ClusterHarness, NodeSeed, PodSeed } from "./cluster-harness.ts";

export const ANOTHER_UID = "00000000-0000-4000-8000-000000000000";

let count = 0;

/** A name that no other case uses; valid for every kind of object. */
export function freshName(stem: string): string {
  count += 1;
  return `${stem}-${count}`;
}

export async function addNode(harness: ClusterHarness, seed: Omit<NodeSeed, "name"> = {}): Promise<NodeView> {
  const name = freshName("node");
  await harness.addNode({ name, ...seed });
  return readNode(harness, name);
}

export async function readNode(harness: ClusterHarness, name: string): Promise<NodeView> {
  const node = await harness.port.getNode(name);
  if (node === undefined) throw new Error(`the harness added no Node ${name}`);
  return node;
}

export async function addPod(
  harness: ClusterHarness,
  node: NodeView,
  seed: Omit<PodSeed, "name" | "node" | "namespace"> & { readonly namespace?: string } = {},
): Promise<PodRef & { readonly node: string }> {
  const name = freshName("pod");
  const namespace = seed.namespace ?? "default";
  const { uid } = await harness.addPod({ ...seed, namespace, name, node: node.name });
  return { namespace, name, uid, node: node.name };
}

/** The pod as the port lists it, or undefined where it is gone. */
export async function findPod(
  harness: ClusterHarness,
  pod: PodRef & { readonly node: string },
): Promise<PodView | undefined> {
  const pods = await harness.port.listPodsOnNode(pod.node);
  return pods.find((candidate) => candidate.uid === pod.uid);
}

/** What a PortError says, plain so that `toMatchObject` compares it by value. */
export interface Failure {
  readonly kind: FailureKind;
  readonly operation: string;
  readonly message: string;
  readonly budget: string | undefined;
  readonly retryAfter: number | undefined;
}

/** Waits for the call to be refused. @throws Error where it succeeds or rejects with anything but a PortError */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error: unknown = await call.then(
    () => new Error("the call was not refused"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof PortError)) throw error;
  const { kind, operation, message, budget, retryAfter } = error;
  return { kind, operation, message, budget, retryAfter };
}

/** How a refused port method looks, for `toMatchObject`. */
export function refused(method: keyof ClusterPort, kind: FailureKind): Partial<Failure> {
  return { kind, operation: `kubernetes.${method}` };
}
