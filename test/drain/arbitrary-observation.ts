/**
 * Observations of every kind, for properties: each part valid by itself, their combination left to chance. Most are of a moment in
 * which something would be done, with a few parts changed: a property that never meets its case proves nothing.
 */
import * as fc from "fast-check";
import type { AttachmentView, NodeView, PodView } from "../../lib/drain/cluster.ts";
import type { Ec2AttachmentView, InstanceView } from "../../lib/drain/machine.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER, HOOK_LABEL, OUT_OF_SERVICE_TAINT } from "../../lib/drain/names.ts";
import { type Observation, type Reading, UNREAD } from "../../lib/drain/observation.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import type { Task } from "../../lib/drain/task.ts";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import {
  BOOT,
  INSTANCE,
  LAUNCHED,
  NODE,
  NOW,
  OTHER_INSTANCE,
  ROOT,
  attachment,
  deadMachine,
  drained,
  ec2Attachment,
  failed,
  firstLook,
  goneTask,
  instance,
  lifecycleTask,
  memory,
  node,
  observation,
  pod,
  policy,
  read,
  spotTask,
  tokenlessTask,
  untouchedNode,
  work,
} from "./observation-builder.ts";

const HANDLES = ["vol-1", "vol-2", "vol-3"] as const;
const PODS = ["web", "database", "logs"] as const;

/** Mostly read: most properties say something only where most of it is. */
function reading<T>(value: fc.Arbitrary<T>): fc.Arbitrary<Reading<T>> {
  return fc.oneof(
    { weight: 8, arbitrary: value.map(read) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("network", "forbidden", "throttled").map((kind) => failed("x", kind)),
    },
    { weight: 1, arbitrary: fc.constant(UNREAD) },
  );
}

const ago = (most: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: most / SECOND }).map((seconds) => NOW - seconds * SECOND);

export const anyTask: fc.Arbitrary<Task> = ago(2 * HOUR).chain((at) =>
  fc.constantFrom<Task>(
    lifecycleTask({ at }),
    lifecycleTask({ at, by: "sweep" }),
    tokenlessTask({ at }),
    spotTask({ at, until: at + 2 * MINUTE }),
    goneTask({ at }),
  ),
);

const rarely = fc.constantFrom(false, false, false, true);

export const anyPod: fc.Arbitrary<PodView> = fc
  .record({
    name: fc.constantFrom(...PODS),
    phase: fc.constantFrom("Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"),
    deleting: rarely,
    mirror: rarely,
    owner: fc.constantFrom("ReplicaSet", "ReplicaSet", "DaemonSet", "StatefulSet"),
    createdAt: ago(2 * MINUTE),
    tolerates: fc.boolean(),
    hook: fc.boolean(),
    claims: fc.subarray(["data-1", "data-2", "data-3"]),
    inlineHandles: fc.subarray([...HANDLES]),
    critical: fc.boolean(),
    serial: fc.nat({ max: 2 }),
  })
  .map(({ name, owner, tolerates, hook, critical, serial, ...rest }) =>
    pod(name, {
      ...rest,
      uid: `uid-of-${name}-${serial}`,
      controller: { kind: owner, name: `${name}-set` },
      tolerations: tolerates ? [{ operator: "Exists" }] : [],
      labels: hook ? { [HOOK_LABEL]: "" } : {},
      ...(critical ? { priorityClass: "system-node-critical" } : {}),
    }),
  );

const anyAttachment: fc.Arbitrary<AttachmentView> = fc
  .record({
    handle: fc.constantFrom<string>(...HANDLES, "vol-unresolved", "local-ebs://x"),
    attacher: fc.constantFrom(EBS_DRIVER, EBS_DRIVER, "nfs.csi.k8s.io"),
    deleting: fc.boolean(),
  })
  .map(({ handle, ...rest }) => attachment(handle, rest));

const anyDisk: fc.Arbitrary<Ec2AttachmentView> = fc
  .record({
    handle: fc.constantFrom(...HANDLES, "vol-other"),
    state: fc.constantFrom("attaching", "attached", "detaching", "busy"),
    csi: fc.boolean(),
  })
  .map(({ handle, ...rest }) => ec2Attachment(handle, rest));

export const anyNode: fc.Arbitrary<NodeView> = fc
  .record({
    unschedulable: fc.boolean(),
    provider: fc.constantFrom(INSTANCE, INSTANCE, INSTANCE, OTHER_INSTANCE, undefined),
    bootId: fc.constantFrom(BOOT, BOOT, "boot-2"),
    order: fc.constantFrom("none", "lifecycle", "spot", "gone", "tokenless", "other", "broken"),
    deadline: fc.integer({ min: -60, max: 120 }).map((minutes) => NOW + minutes * MINUTE),
    handedOver: fc.constantFrom(undefined, "uid-of-logs-0", "an earlier pod"),
    cordoned: fc.boolean(),
    ready: fc.constantFrom("True", "False", "Unknown"),
    since: ago(10 * MINUTE),
    taint: fc.constantFrom(undefined, goneTask().id, "an operator's"),
    inUse: fc.subarray([...HANDLES]),
  })
  .map(({ provider, order, deadline, handedOver, cordoned, ready, since, taint, inUse, ...rest }) => {
    const { providerId: _unset, ...base } = untouchedNode();
    const orders: Readonly<Record<string, Task>> = {
      lifecycle: lifecycleTask(),
      spot: spotTask(),
      gone: goneTask(),
      tokenless: tokenlessTask(),
      other: lifecycleTask({ id: "lifecycle-i-0-0-0" }),
    };
    const task = orders[order];
    const text =
      task === undefined
        ? "{"
        : formatWork(work(task, { deadline, cordoned, ...(handedOver === undefined ? {} : { handedOver }) }));
    return {
      ...base,
      ...rest,
      ready: { ...node().ready, status: ready, since },
      taints:
        taint === undefined
          ? []
          : [{ key: OUT_OF_SERVICE_TAINT, value: taint, effect: "NoExecute" as const }],
      volumesInUse: inUse.map((handle) => `kubernetes.io/csi/${EBS_DRIVER}^${handle}`),
      ...(provider === undefined ? {} : { providerId: `aws:///eu-west-1a/${provider}` }),
      ...(order === "none" ? {} : { work: text }),
    };
  });

const anyInstance: fc.Arbitrary<InstanceView> = fc
  .record({
    state: fc.constantFrom("pending", "running", "stopping", "stopped", "shutting-down", "terminated"),
    launchTime: fc.constantFrom(LAUNCHED, LAUNCHED, LAUNCHED, LAUNCHED + HOUR),
    reason: fc.constantFrom(undefined, "Client.UserInitiatedShutdown", "Client.UserInitiatedHibernate"),
  })
  .map(({ reason, ...rest }) =>
    instance({ ...rest, ...(reason === undefined ? {} : { stateReason: reason }) }),
  );

const anyMemory: fc.Arbitrary<Memory> = fc
  .record(
    {
      looks: fc.integer({ min: 0, max: 199 }),
      lookups: fc.nat({ max: 3 }),
      nodesListed: fc.boolean(),
      known: fc.boolean(),
      verified: fc.boolean(),
      cordonedAt: fc.option(ago(MINUTE), { nil: undefined }),
      outcome: fc.constantFrom("accepted", "budget", "failed", "gone", "left", undefined),
      evictedControllers: fc.subarray(["shop/ReplicaSet/web-set"]),
      handles: fc.subarray([...HANDLES]),
      lists: fc.record({ count: fc.nat({ max: 3 }), at: ago(2 * MINUTE), foundNew: fc.boolean() }),
      beat: fc.option(fc.record({ at: ago(10 * MINUTE), ok: fc.boolean() }), { nil: undefined }),
      agreed: fc.constantFrom("", "D12", "D14", "D17"),
      handedOver: fc.constantFrom(undefined, "an earlier pod"),
      action: fc.constantFrom("open", "open", "open", "completed", "over"),
      completion: fc.constantFrom("none", "lost", "refused"),
      machineDown: fc.boolean(),
      emptied: fc.boolean(),
      lease: fc.option(fc.record({ renewTime: fc.constantFrom("a", "b"), at: ago(MINUTE) }), {
        nil: undefined,
      }),
      renewalsWhileDown: fc.nat({ max: 3 }),
      taintedAt: fc.option(ago(10 * MINUTE), { nil: undefined }),
      progressAt: ago(HOUR),
    },
    { noNullPrototype: true },
  )
  .map(({ known, verified, outcome, progressAt, ...rest }) => {
    const { node: name, verifiedBoot, cordonedAt: _at, beat: _beat, ...base } = memory();
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
    const evictions =
      outcome === undefined ? {} : { "uid-of-web-0": { outcome, at: NOW - MINUTE, pod: "shop/web" } };
    return {
      ...base,
      ...(known && name !== undefined ? { node: name } : {}),
      ...(verified && verifiedBoot !== undefined ? { verifiedBoot } : {}),
      ...given,
      evictions,
      progress: { mark: "", at: progressAt },
    };
  });

export const anyPolicyOf: fc.Arbitrary<Policy> = fc
  .record({
    heartbeatTimeout: fc.constantFrom(60, 300, 7_200),
    maxDuration: fc.constantFrom(1_800, 6_000),
    onDeadline: fc.constantFrom("CONTINUE", "ABANDON"),
    force: fc.boolean(),
    forceAfter: fc.constantFrom(0, 1_800),
    outOfService: fc.boolean(),
  })
  .map((choices) => policy(choices));

/** The claims and PersistentVolumes that resolve; `vol-unresolved` never does. */
const RESOLVED = Object.fromEntries(
  [...HANDLES, "local-ebs://x"].map((handle) => [
    `pv-of-${handle}`,
    { volumeName: `pv-of-${handle}`, driver: EBS_DRIVER, handle },
  ]),
);
const CLAIMS = Object.fromEntries(
  HANDLES.map((handle, index) => [`shop/data-${index + 1}`, RESOLVED[`pv-of-${handle}`] ?? {}]),
);

const PARTS: readonly Exclude<
  keyof Observation,
  "at" | "memory" | "claims" | "volumes" | "calls" | "leaseAt"
>[] = [
  "task",
  "instance",
  "ec2At",
  "member",
  "node",
  "csiNode",
  "lease",
  "pods",
  "attachments",
  "rows",
  "ec2Volumes",
  "elsewhere",
  "others",
];
const REMEMBERED: readonly (keyof Memory)[] = [
  "node",
  "verifiedBoot",
  "cordonedAt",
  "evictions",
  "handles",
  "lists",
  "beat",
  "agreed",
  "handedOver",
  "action",
  "emptied",
  "lease",
  "taintedAt",
  "progress",
];

/** Everything by chance: mostly something that cannot be read, or another machine's. */
const chaos: fc.Arbitrary<Observation> = fc
  .record({
    task: anyTask,
    memory: anyMemory,
    instance: reading(fc.option(anyInstance, { freq: 6 })),
    ec2At: fc.constantFrom(0, NOW),
    member: reading(
      fc.option(
        fc
          .constantFrom(
            "Terminating:Wait",
            "Terminating:Proceed",
            "InService",
            "Warmed:Hibernated",
            "Warmed:Stopped",
          )
          .map((lifecycleState) => ({ instance: INSTANCE, group: "workers-a", lifecycleState })),
        { freq: 6 },
      ),
    ),
    node: reading(fc.option(anyNode, { freq: 6 })),
    csiNode: reading(
      fc.option(
        fc
          .constantFrom(INSTANCE, INSTANCE, OTHER_INSTANCE)
          .map((id) => ({ name: NODE, nodeIds: { [EBS_DRIVER]: id } })),
        { freq: 6 },
      ),
    ),
    lease: reading(
      fc.option(
        fc.constantFrom("a", "b").map((renewTime) => ({ name: NODE, renewTime })),
        { freq: 6 },
      ),
    ),
    pods: reading(fc.uniqueArray(anyPod, { selector: ({ uid }) => uid, maxLength: 4 })),
    attachments: reading(fc.uniqueArray(anyAttachment, { selector: ({ name }) => name, maxLength: 3 })),
    rows: reading(fc.constant([])),
    ec2Volumes: reading(
      fc
        .uniqueArray(anyDisk, { selector: ({ volumeId }) => volumeId, maxLength: 3 })
        .map((disks) => [ROOT, ...disks]),
    ),
    elsewhere: reading(fc.constant([])),
    others: reading(fc.record({ total: fc.nat({ max: 9 }), unknown: fc.nat({ max: 9 }) })),
  })
  .map(({ memory: remembered, ...rest }) => ({
    ...observation({ ...rest, claims: CLAIMS, volumes: RESOLVED }),
    memory: remembered,
  }));

const hook = (): PodView =>
  pod("ebs-csi-node", { controller: { kind: "DaemonSet", name: "ebs" }, labels: { [HOOK_LABEL]: "" } });

/** Moments in which something is about to be done. */
const MOMENTS: readonly Observation[] = [
  firstLook({ pods: read([pod("web", { uid: "uid-of-web-0" })]) }),
  firstLook({ task: spotTask(), pods: read([pod("web")]) }),
  observation({ pods: read([pod("web", { uid: "uid-of-web-0" }), pod("database", { claims: ["data-1"] })]) }),
  observation({
    task: tokenlessTask({ at: NOW - 40 * MINUTE }),
    pods: read([pod("web"), pod("database", { claims: ["data-2"] })]),
    memory: { evictions: { "uid-of-web": { outcome: "budget", at: NOW, pod: "shop/web" } } },
  }),
  observation({
    task: lifecycleTask({ at: NOW - HOUR }),
    pods: read([pod("web")]),
    memory: { evictions: { "uid-of-web": { outcome: "budget", at: NOW, pod: "shop/web" } } },
  }),
  observation({
    pods: read([hook()]),
    attachments: read([attachment("vol-1")]),
    ec2Volumes: read([ROOT, ec2Attachment("vol-1")]),
  }),
  drained(),
  drained({ task: tokenlessTask() }),
  drained({ task: spotTask() }),
  drained({ attachments: read([attachment("vol-1")]), elsewhere: read([]) }),
  firstLook({ node: read(null), csiNode: UNREAD, memory: { looks: 4, lookups: 2, nodesListed: true } }),
  observation({
    pods: failed("kubernetes.listPodsOnNode"),
    ec2Volumes: read([ROOT]),
    memory: { emptied: true, agreed: "D17" },
  }),
  observation({
    member: read({ instance: INSTANCE, group: "workers-a", lifecycleState: "InService" }),
    instance: read(instance()),
    memory: { action: "over" },
  }),
  deadMachine(),
  deadMachine({ instance: read(instance({ state: "stopped" })), member: read(null) }),
  deadMachine({ memory: { taintedAt: NOW - MINUTE } }),
].map((moment) => ({ ...moment, claims: CLAIMS, volumes: { ...RESOLVED, ...moment.volumes } }));

/** One of them with some parts, and some of its memory, taken from chaos. */
const shaken: fc.Arbitrary<Observation> = fc
  .record({
    moment: fc.constantFrom(...MOMENTS),
    other: chaos,
    parts: fc.subarray([...PARTS], { maxLength: 3 }),
    remembered: fc.subarray([...REMEMBERED], { maxLength: 2 }),
  })
  .map(({ moment, other, parts, remembered }) => ({
    ...moment,
    ...Object.fromEntries(parts.map((part) => [part, other[part]])),
    memory: {
      ...moment.memory,
      ...Object.fromEntries(
        remembered.flatMap((key) => (key in other.memory ? [[key, other.memory[key]]] : [])),
      ),
    },
  }));

export const anyObservation: fc.Arbitrary<Observation> = fc.oneof(
  { weight: 3, arbitrary: shaken },
  { weight: 1, arbitrary: chaos },
);
