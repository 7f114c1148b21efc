/** The machine that a command's argument means: its Node, its instance, and what EC2 says of it. */
import type { NodeView } from "../drain/cluster.ts";
import type { InstanceView } from "../drain/machine.ts";
import { nearest } from "../drain/near-miss.ts";
import { isOfInstance } from "../drain/situation.ts";
import type { ManualTask } from "../drain/task.ts";
import { workId } from "../drain/task.ts";
import { SECOND } from "../drain/time.ts";
import { PortError } from "../engine/errors.ts";
import type { Operator } from "./operator.ts";
import { UsageError } from "./running.ts";

export interface Target {
  readonly node: NodeView;
  /** `i-…`; of a Node outside EC2 the last part of its provider id, or its name. */
  readonly instance: string;
  /** What EC2 says; absent where it is not asked. */
  readonly view?: InstanceView;
}

const INSTANCE_ID = /^i-[0-9a-f]{8,17}$/;

/** @throws UsageError for a name that is no Node, or an instance that EC2 does not show to this account */
export async function findTarget(name: string, operator: Operator): Promise<Target> {
  const node = await findNode(name, operator);
  return targetOf(node, operator);
}

export async function targetOf(node: NodeView, operator: Operator): Promise<Target> {
  const instance = instanceOf(node);
  const { aws } = operator;
  if (aws.kind === "none" || !INSTANCE_ID.test(instance)) return { node, instance };
  const view = await aws.ec2.describeInstance(instance).catch((error: unknown) => {
    if (!(error instanceof PortError)) throw error;
    throw new UsageError(`${error.message}. With --kubernetes-only AWS is not asked`);
  });
  if (view === undefined) {
    throw new UsageError(
      `EC2 in ${aws.region} does not show ${instance}: these credentials are of another account, or the region is. ` +
        "Choose with --profile and --region; with --kubernetes-only AWS is not asked",
    );
  }
  return { node, instance, view };
}

export function instanceOf({ providerId, name }: NodeView): string {
  return providerId === undefined ? name : providerId.slice(providerId.lastIndexOf("/") + 1);
}

async function findNode(name: string, { cluster, clusterName }: Operator): Promise<NodeView> {
  if (!INSTANCE_ID.test(name)) {
    const node = await cluster.getNode(name);
    if (node !== undefined) return node;
  }
  const nodes = await cluster.listNodes();
  const node = nodes.find(({ providerId }) => providerId !== undefined && isOfInstance(providerId, name));
  if (node !== undefined) return node;
  const near = nearest(
    name,
    nodes.map((each) => each.name),
  );
  throw new UsageError(
    `no Node of cluster ${clusterName} is named ${name} or is of an instance of that id` +
      (near === undefined ? ": `kubectl get nodes -o wide` lists them" : `; did you mean ${near}?`),
  );
}

/** D19. `seconds` is the operator's patience. */
export function manualTask(
  { node, instance, view }: Target,
  operator: Operator,
  seconds: number,
): ManualTask {
  const at = operator.now();
  const launchTime = view?.launchTime;
  return {
    kind: "manual",
    id: workId({ kind: "manual", instance, launchTime }),
    cluster: operator.clusterName,
    group: view?.group ?? "",
    instance,
    at,
    by: "operator",
    node: { name: node.name, uid: node.uid },
    until: at + seconds * SECOND,
    sources: view === undefined ? "kubernetes" : "both",
    ...(launchTime === undefined ? {} : { launchTime }),
  };
}

/** What this command cannot know; undefined where both sources are asked. */
export function unverified({ view }: Target, { aws }: Operator): string | undefined {
  if (view !== undefined) return undefined;
  const why = aws.kind === "none" ? aws.why : "the Node is not of an EC2 instance";
  return (
    `AWS is not asked: ${why}. Kubernetes' word alone counts: a volume that EC2 still holds after its VolumeAttachment is gone ` +
    "is not seen, nor whether the machine runs at all"
  );
}
