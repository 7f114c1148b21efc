/**
 * One observation. Independent reads run at once; later ones depend on what earlier ones showed (lib/drain/needs.ts). For a machine
 * that may be dead the order is part of the proof: pods first, then EC2, then Node, CSINode and Lease (D14).
 */
import {
  knownNodeName,
  mayAskEc2,
  needsCsiNode,
  needsEc2Volumes,
  needsInstance,
  needsMember,
  needsOthers,
  unexplainedHandles,
} from "../drain/needs.ts";
import type { Memory } from "../drain/memory.ts";
import { type Observation, UNREAD, valueOf } from "../drain/observation.ts";
import type { Policy } from "../drain/policy.ts";
import type { Task } from "../drain/task.ts";
import { findNode } from "./locate.ts";
import type { Ports } from "./ports.ts";
import { Reader } from "./reading.ts";
import { listAttachments, resolveVolumes } from "./volumes-of-node.ts";

/** What the stages below share. */
export interface Looking {
  readonly ports: Ports;
  readonly policy: Policy;
  readonly reader: Reader;
}

export async function observe(
  task: Task,
  memory: Memory,
  policy: Policy,
  ports: Ports,
): Promise<Observation> {
  const looking: Looking = { ports, policy, reader: new Reader() };
  const start = nothingYet(task, memory, ports.now());
  const machine =
    task.kind === "gone" ? await observeDead(looking, start) : await observeLiving(looking, start);
  const finished = await observeEc2Volumes(looking, machine);
  return { ...finished, calls: looking.reader.calls };
}

/** A look that has read nothing yet. */
export function nothingYet(task: Task, memory: Memory, at: number): Observation {
  return {
    at,
    task,
    memory,
    instance: UNREAD,
    ec2At: 0,
    member: UNREAD,
    node: UNREAD,
    csiNode: UNREAD,
    lease: UNREAD,
    pods: UNREAD,
    attachments: UNREAD,
    rows: UNREAD,
    ec2Volumes: UNREAD,
    elsewhere: UNREAD,
    others: UNREAD,
    claims: memory.claims,
    volumes: memory.volumes,
    calls: {},
  };
}

async function observeLiving(looking: Looking, start: Observation): Promise<Observation> {
  const [asked, located] = await Promise.all([
    observeInstance(looking, start),
    knownNodeName(start) === undefined ? undefined : observeNode(looking, start),
  ]);
  const { instance, ec2At, member } = asked;
  const seen = { ...(located ?? start), instance, ec2At, member };
  const found = located === undefined ? await observeNode(looking, seen) : seen;
  const verified = await observeBoot(looking, found);
  const volumes = await resolveVolumes(looking, verified);
  return observeOthers(looking, await listAttachments(looking, volumes));
}

/** The pods are listed before EC2 is asked, and the Node is read after it answered. */
async function observeDead(looking: Looking, start: Observation): Promise<Observation> {
  const listed = await listAttachments(looking, start);
  const named = nodeNameOf(listed);
  const pods = await resolveVolumes(looking, await observePods(looking, listed, named));
  const machine = await observeInstance(looking, pods);
  if (named === undefined) return { ...machine, node: { kind: "read", value: null } };
  const { cluster } = looking.ports;
  const [node, csiNode, [lease, leaseAt]] = await Promise.all([
    looking.reader.read("kubernetes.getNode", () => cluster.getNode(named)),
    looking.reader.read("kubernetes.getCsiNode", () => cluster.getCsiNode(named)),
    looking.reader
      .read("kubernetes.getLease", () => cluster.getLease(named))
      .then((reading) => [reading, looking.ports.now()] as const),
  ]);
  return { ...machine, node, csiNode, lease, leaseAt };
}

/** The name kept from an earlier look, or the one that this machine's attachments carry. */
function nodeNameOf(observation: Observation): string | undefined {
  return observation.memory.node?.name ?? valueOf(observation.rows)?.[0]?.nodeName;
}

async function observeInstance({ ports, reader }: Looking, before: Observation): Promise<Observation> {
  const { instance: id } = before.task;
  const asked = needsInstance(before)
    ? {
        ...before,
        // Before the question: an answer that took its time is as old as that.
        ec2At: ports.now(),
        instance: await reader.read("ec2.describeInstance", () => ports.ec2.describeInstance(id)),
      }
    : before;
  return needsMember(asked)
    ? {
        ...asked,
        member: await reader.read("autoScaling.describeMember", () => ports.autoScaling.describeMember(id)),
      }
    : asked;
}

/** Node and pods at once where the name is known, else the name first. */
async function observeNode(looking: Looking, before: Observation): Promise<Observation> {
  const known = knownNodeName(before);
  if (known === undefined) {
    const node = await findNode(looking, before);
    return observePods(looking, { ...before, node }, valueOf(node)?.name);
  }
  const [node, pods] = await Promise.all([
    looking.reader.read("kubernetes.getNode", () => looking.ports.cluster.getNode(known)),
    observePods(looking, before, known),
  ]);
  return { ...pods, node };
}

/** A machine without a Node has no pods: that much is known without asking. */
async function observePods(
  { ports, reader }: Looking,
  before: Observation,
  name: string | undefined,
): Promise<Observation> {
  const pods =
    name === undefined
      ? ({ kind: "read", value: [] } as const)
      : await reader.readAll("kubernetes.listPodsOnNode", () => ports.cluster.listPodsOnNode(name));
  return { ...before, pods };
}

/**
 * What the Node asks for once it is read: CSINode and EC2 where its boot is not verified (D5), EC2 where it is silent or has
 * vanished.
 */
async function observeBoot({ ports, reader }: Looking, before: Observation): Promise<Observation> {
  const name = valueOf(before.node)?.name;
  const verifies = name !== undefined && needsCsiNode(before);
  const asks =
    before.instance.kind === "unread" && mayAskEc2(before.task) && (verifies || needsInstance(before));
  const [csiNode, instance] = await Promise.all([
    verifies ? reader.read("kubernetes.getCsiNode", () => ports.cluster.getCsiNode(name)) : before.csiNode,
    asks
      ? reader.read("ec2.describeInstance", () => ports.ec2.describeInstance(before.task.instance))
      : before.instance,
  ]);
  return { ...before, csiNode, instance };
}

async function observeOthers({ ports, reader, policy }: Looking, before: Observation): Promise<Observation> {
  if (!needsOthers(before, policy)) return before;
  const name = valueOf(before.node)?.name;
  const nodes = await reader.readAll("kubernetes.listNodes", () => ports.cluster.listNodes());
  if (nodes.kind !== "read") return { ...before, others: nodes };
  const others = nodes.value.filter((node) => node.name !== name);
  const unknown = others.filter((node) => node.ready.status === "Unknown").length;
  return { ...before, others: { kind: "read", value: { total: others.length, unknown } } };
}

async function observeEc2Volumes(
  { ports, reader, policy }: Looking,
  before: Observation,
): Promise<Observation> {
  if (!needsEc2Volumes(before, policy)) return before;
  const seen: Observation = {
    ...before,
    ec2Volumes: await reader.readAll("ec2.listAttachedVolumes", () =>
      ports.ec2.listAttachedVolumes(before.task.instance),
    ),
  };
  const unexplained = unexplainedHandles(seen, policy);
  if (unexplained.length === 0) return seen;
  const elsewhere = await reader.readAll("ec2.describeVolumes", () => ports.ec2.describeVolumes(unexplained));
  return { ...seen, elsewhere };
}
