/**
 * Observed state for tests of the domain. Each builder answers something ordinary, and a test says only what differs:
 * `observation()` is a look at a living machine whose cordon has stood for ten seconds and on which nothing is left;
 * `deadMachine()` is one that EC2 has terminated with one volume left, every proof of its death at hand.
 */
import type { AttachmentRow, AttachmentView, NodeView, PodView } from "../../lib/drain/cluster.ts";
import type { Ec2AttachmentView, InstanceView } from "../../lib/drain/machine.ts";
import { type Memory, initialMemory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER, HOOK_LABEL } from "../../lib/drain/names.ts";
import { type Observation, type Reading, UNREAD } from "../../lib/drain/observation.ts";
import { DEFAULT_POLICY, type Policy } from "../../lib/drain/policy.ts";
import { type GoneTask, type LifecycleTask, type SpotTask, type Task, workId } from "../../lib/drain/task.ts";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { type Work, formatWork } from "../../lib/drain/work-order.ts";

export const NOW = Date.parse("2026-11-02T09:30:00Z");
export const LAUNCHED = NOW - 24 * HOUR;
export const INSTANCE = "i-0a1b2c3d4e5f60718";
export const OTHER_INSTANCE = "i-0fedcba9876543210";
export const NODE = "ip-10-0-0-1.eu-west-1.compute.internal";
export const BOOT = "boot-1";
export const TOKEN = "token-1";
/** When the work began: a minute ago. */
export const BEGAN = NOW - MINUTE;

export function read<T>(value: T): { readonly kind: "read"; readonly value: T } {
  return { kind: "read", value };
}

export function failed(operation: string, cause = "network"): Extract<Reading<never>, { kind: "failed" }> {
  return { kind: "failed", failure: { operation, cause, message: `${operation}: ${cause}` } };
}

export function policy(differs: Partial<Policy> = {}): Policy {
  return { ...DEFAULT_POLICY, ...differs };
}

const MACHINE = { cluster: "blue", group: "workers-a", instance: INSTANCE, launchTime: LAUNCHED } as const;

export function lifecycleTask(differs: Partial<LifecycleTask> = {}): LifecycleTask {
  return {
    kind: "lifecycle",
    id: workId({ kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCHED, token: TOKEN }),
    ...MACHINE,
    at: BEGAN,
    by: "event",
    hook: DEFAULT_POLICY.hookName,
    token: TOKEN,
    destination: "EC2",
    replacesRootVolume: false,
    ...differs,
  };
}

/** The sweep's own work: it knows no token. */
export function tokenlessTask(differs: Partial<LifecycleTask> = {}): LifecycleTask {
  const { token: _unknown, ...task } = lifecycleTask();
  const id = workId({ kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCHED });
  return { ...task, id, by: "sweep", ...differs };
}

export function spotTask(differs: Partial<SpotTask> = {}): SpotTask {
  return {
    kind: "spot",
    id: workId({ kind: "spot", instance: INSTANCE, launchTime: LAUNCHED }),
    ...MACHINE,
    at: BEGAN,
    by: "event",
    action: "terminate",
    until: BEGAN + 2 * MINUTE,
    ...differs,
  };
}

export function goneTask(differs: Partial<GoneTask> = {}): GoneTask {
  return {
    kind: "gone",
    id: workId({ kind: "gone", instance: INSTANCE, launchTime: LAUNCHED }),
    ...MACHINE,
    at: BEGAN,
    by: "event",
    state: "terminated",
    ...differs,
  };
}

/** The order that this task's work wrote with its cordon. */
export function work(task: Task, differs: Partial<Work> = {}): Work {
  return {
    id: task.id,
    bootID: BOOT,
    group: task.group,
    deadline: task.at + 119 * MINUTE,
    cordoned: true,
    ignore: [],
    ...(task.kind === "lifecycle" ? { hook: task.hook } : {}),
    ...differs,
  };
}

/** Three looks in: Node found and verified, cordon confirmed ten seconds ago, both lists of attachments made. */
export function memory(differs: Partial<Memory> = {}): Memory {
  return {
    ...initialMemory(BEGAN),
    looks: 3,
    node: { name: NODE, uid: "node-uid" },
    verifiedBoot: BOOT,
    machineSeen: true,
    rootDevice: "/dev/xvda",
    cordonedAt: NOW - 10 * SECOND,
    lists: { count: 2, at: NOW - 5 * SECOND, foundNew: false },
    beat: { at: NOW - 10 * SECOND, ok: true },
    progress: { mark: "", at: NOW - 5 * SECOND },
    ...differs,
  };
}

export function node(differs: Partial<NodeView> = {}): NodeView {
  return {
    name: NODE,
    uid: "node-uid",
    resourceVersion: "41",
    providerId: `aws:///eu-west-1a/${INSTANCE}`,
    bootId: BOOT,
    unschedulable: true,
    taints: [],
    work: formatWork(work(lifecycleTask())),
    hasAnnotations: true,
    ready: { status: "True", reason: "KubeletReady", message: "", since: LAUNCHED },
    volumesInUse: [],
    deleting: false,
    ...differs,
  };
}

/** As it is before anything of ours is written: schedulable, without `work`. */
export function untouchedNode(differs: Partial<NodeView> = {}): NodeView {
  const { work: _none, ...rest } = node();
  return { ...rest, unschedulable: false, ...differs };
}

export function pod(name: string, differs: Partial<PodView> = {}): PodView {
  return {
    namespace: "shop",
    name,
    uid: `uid-of-${name}`,
    nodeName: NODE,
    phase: "Running",
    createdAt: NOW - HOUR,
    deleting: false,
    controller: { kind: "ReplicaSet", name: `${name}-set` },
    mirror: false,
    tolerations: [],
    labels: {},
    containers: ["main"],
    claims: [],
    inlineHandles: [],
    ...differs,
  };
}

export function daemonPod(name: string, differs: Partial<PodView> = {}): PodView {
  return pod(name, { controller: { kind: "DaemonSet", name: `${name}-set` }, ...differs });
}

/** The CSI node pod with the hook in it. */
export function hookPod(differs: Partial<PodView> = {}): PodView {
  return daemonPod("ebs-csi-node", {
    namespace: "kube-system",
    labels: { [HOOK_LABEL]: "true" },
    ...differs,
  });
}

export function attachment(handle: string, differs: Partial<AttachmentView> = {}): AttachmentView {
  return {
    name: `csi-${handle}`,
    attacher: EBS_DRIVER,
    nodeName: NODE,
    volumeName: `pv-of-${handle}`,
    deleting: false,
    ...differs,
  };
}

export function row(handle: string, differs: Partial<AttachmentRow> = {}): AttachmentRow {
  return {
    name: `csi-${handle}`,
    attacher: EBS_DRIVER,
    nodeName: NODE,
    volumeName: `pv-of-${handle}`,
    ...differs,
  };
}

/** PersistentVolumes behind `attachment(handle)`, as a look has resolved them. */
export function volumes(...handles: readonly string[]): Observation["volumes"] {
  return Object.fromEntries(
    handles.map((handle) => [
      `pv-of-${handle}`,
      { volumeName: `pv-of-${handle}`, driver: EBS_DRIVER, handle },
    ]),
  );
}

/** The claim `shop/<name>` bound to the volume of this handle. */
export function claim(name: string, handle: string): Observation["claims"] {
  return { [`shop/${name}`]: { volumeName: `pv-of-${handle}`, driver: EBS_DRIVER, handle } };
}

export function inUse(...handles: readonly string[]): readonly string[] {
  return handles.map((handle) => `kubernetes.io/csi/${EBS_DRIVER}^${handle}`);
}

export function instance(differs: Partial<InstanceView> = {}): InstanceView {
  return {
    id: INSTANCE,
    launchTime: LAUNCHED,
    state: "running",
    privateDnsName: NODE,
    rootDevice: "/dev/xvda",
    group: "workers-a",
    ...differs,
  };
}

export function ec2Attachment(volumeId: string, differs: Partial<Ec2AttachmentView> = {}): Ec2AttachmentView {
  return { volumeId, state: "attached", device: "/dev/xvdba", csi: true, ...differs };
}

export const ROOT: Ec2AttachmentView = {
  volumeId: "vol-root",
  state: "attached",
  device: "/dev/xvda",
  csi: false,
};

/** What a test states of an observation; of its memory, too, only what differs. */
export type Differs = Omit<Partial<Observation>, "memory"> & { readonly memory?: Partial<Memory> };

export function observation(differs: Differs = {}): Observation {
  return {
    at: NOW,
    task: lifecycleTask(),
    instance: UNREAD,
    ec2At: 0,
    member: UNREAD,
    node: read(node()),
    csiNode: UNREAD,
    lease: UNREAD,
    pods: read([]),
    attachments: read([]),
    rows: UNREAD,
    ec2Volumes: UNREAD,
    elsewhere: UNREAD,
    others: UNREAD,
    claims: {},
    volumes: {},
    calls: {},
    ...differs,
    memory: memory(differs.memory),
  };
}

/** The very first look: nothing is known, the Node is untouched, EC2 shows the machine running. */
export function firstLook(differs: Differs = {}): Observation {
  return {
    ...observation({
      instance: read(instance()),
      ec2At: NOW,
      node: read(untouchedNode()),
      csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: INSTANCE } }),
      ec2Volumes: read([ROOT]),
      ...differs,
    }),
    memory: { ...initialMemory(NOW), ...differs.memory },
  };
}

/** Nothing is left, both sources were read, and the look before found the same: the look that completes. */
export function drained(differs: Differs = {}): Observation {
  return observation({
    ec2Volumes: read([ROOT]),
    rows: read([]),
    ...differs,
    memory: { agreed: "D12", ...differs.memory },
  });
}

export const DEAD_VOLUME = "vol-dead";

export function deadMachine(differs: Differs = {}): Observation {
  const { cordonedAt: _none, beat: _never, ...begun } = memory();
  return {
    ...observation({
      task: goneTask(),
      instance: read(instance({ state: "terminated", privateDnsName: "" })),
      ec2At: NOW,
      node: read(untouchedNode({ ready: { status: "Unknown", reason: "", message: "", since: BEGAN } })),
      csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: INSTANCE } }),
      lease: read({ name: NODE, renewTime: "09:29:00" }),
      pods: read([pod("database", { claims: ["data"] })]),
      attachments: read([attachment(DEAD_VOLUME)]),
      claims: claim("data", DEAD_VOLUME),
      volumes: volumes(DEAD_VOLUME),
      ...differs,
    }),
    memory: {
      ...begun,
      attachments: [`csi-${DEAD_VOLUME}`],
      lists: { count: 1, at: BEGAN, foundNew: true },
      lease: { renewTime: "09:29:00", at: NOW - 13 * SECOND },
      ...differs.memory,
    },
  };
}
