/** D14: what is done once EC2 says that the machine has ended, and everything that keeps from doing it. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Action, Decision } from "../../lib/drain/decision.ts";
import type { InstanceView } from "../../lib/drain/machine.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER, OUT_OF_SERVICE_TAINT } from "../../lib/drain/names.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import { remember } from "../../lib/drain/remember.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { formatWork, readWork } from "../../lib/drain/work-order.ts";
import { changes } from "./decision-reading.ts";
import {
  BOOT,
  DEAD_VOLUME,
  type Differs,
  INSTANCE,
  LAUNCHED,
  NODE,
  NOW,
  OTHER_INSTANCE,
  attachment,
  daemonPod,
  deadMachine,
  failed,
  goneTask,
  instance,
  lifecycleTask,
  node,
  pod,
  policy,
  read,
  untouchedNode,
  volumes,
  work,
} from "./observation-builder.ts";

function force(decision: Decision): Extract<Action, { kind: "force-off" }> | undefined {
  return decision.actions.find((action): action is Extract<Action, { kind: "force-off" }> => {
    return action.kind === "force-off";
  });
}

/** The Node with our out-of-service taint on it. */
const tainted = (value = goneTask().id): ReturnType<typeof node> =>
  node({
    work: formatWork(work(goneTask())),
    taints: [{ key: OUT_OF_SERVICE_TAINT, value, effect: "NoExecute" }],
  });
const forced = (secondsAgo: number): Partial<Memory> => ({ taintedAt: NOW - secondsAgo * SECOND });
const ec2Says = (differs: Partial<InstanceView>): Differs => ({ instance: read(instance(differs)) });
const member = (lifecycleState: string): Observation["member"] =>
  read({ instance: INSTANCE, group: "workers-a", lifecycleState });
const STOPPED: Differs = { ...ec2Says({ state: "stopped" }), member: member("Terminating:Wait") };

describe("D14: with every proof of death at hand", () => {
  it("taints the Node out of service and removes the pods that were listed, in one look", () => {
    const decision = decide(deadMachine(), policy());
    expect(changes(decision)).toEqual(["force-off"]);
    expect(force(decision)).toMatchObject({
      pods: [{ namespace: "shop", name: "database", uid: "uid-of-database", finished: false }],
      notAfter: NOW + 3 * SECOND,
    });
    const patch = force(decision)?.patch ?? [];
    expect(patch.map(({ path }) => path)).toEqual([
      "/metadata/uid",
      "/metadata/resourceVersion",
      "/spec/unschedulable",
      "/spec/taints",
      "/metadata/annotations/ebs-drain.dev~1work",
    ]);
    expect(JSON.stringify(patch)).toContain(`"value":"${goneTask().id}"`);
  });

  it("says so: an Event, a metric", () => {
    expect(decide(deadMachine(), policy()).actions.slice(1)).toMatchObject([
      { kind: "event", reason: "OutOfService", type: "Warning" },
      { kind: "metric", name: "OutOfService" },
    ]);
  });

  it("leaves mirror and DaemonSet pods alone, and what is finished, unless its end was asked for", () => {
    const pods = [
      pod("proxy", { mirror: true }),
      daemonPod("logs"),
      pod("done", { phase: "Succeeded" }),
      pod("ending", { phase: "Failed", deleting: true }),
      pod("terminating", { deleting: true }),
    ];
    const doomed = force(decide(deadMachine({ pods: read(pods) }), policy()))?.pods;
    expect(doomed?.map(({ name, finished }) => `${name} ${finished}`)).toEqual([
      "terminating false",
      "ending true",
    ]);
  });

  it("keeps an open order of the machine as it is: its hook may still hold by it", () => {
    const order = work(lifecycleTask(), {
      handedOver: "uid",
      token: "t",
      cordoned: false,
      ignore: ["csi-x"],
    });
    const ordered = node({ work: formatWork(order) });
    const patch = force(decide(deadMachine({ node: read(ordered) }), policy()))?.patch ?? [];
    const written = patch.flatMap((step) =>
      step.path.endsWith("~1work") && "value" in step ? [step.value] : [],
    );
    expect(readWork({ work: String(written[0]), bootId: BOOT })).toMatchObject({ work: order });
  });

  it("does not taint twice, and goes on with pods that were not there before", () => {
    const again = deadMachine({ node: read(tainted()), memory: forced(5) });
    expect(force(decide(again, policy()))?.patch).toBeUndefined();
    expect(force(decide(again, policy()))?.pods).toHaveLength(1);
  });

  it("works for a machine that is stopped and not hibernated", () => {
    expect(changes(decide(deadMachine(STOPPED), policy()))).toEqual(["force-off"]);
  });
});

/** Each leaves out one proof, and what the report has to name. */
const UNPROVED: readonly (readonly [string, Differs, string])[] = [
  ["EC2 says shutting-down", ec2Says({ state: "shutting-down" }), "EC2 says shutting-down"],
  ["EC2 says stopping", { ...STOPPED, ...ec2Says({ state: "stopping" }) }, "EC2 says stopping"],
  ["EC2 does not show it", { instance: read(null) }, "EC2 does not show the instance"],
  [
    "nobody knows which machine it was",
    { task: withoutLaunchTime() },
    "the machine's LaunchTime is not known",
  ],
  [
    "it was hibernated by a user",
    { ...STOPPED, ...ec2Says({ state: "stopped", stateReason: "Client.UserInitiatedHibernate" }) },
    "hibernated",
  ],
  ["it is hibernated in a warm pool", { ...STOPPED, member: member("Warmed:Hibernated") }, "hibernated"],
  [
    "a spot interruption stopped it, perhaps by hibernation: EC2 does not say",
    { ...STOPPED, ...ec2Says({ state: "stopped", stateReason: "Server.SpotInstanceShutdown" }) },
    "hibernated",
  ],
  [
    "the group could not be asked whether it hibernates",
    { ...STOPPED, member: failed("autoScaling.describeMember") },
    "hibernates",
  ],
  [
    "the provider id is another machine's",
    { node: read(untouchedNode({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` })) },
    "provider id",
  ],
  ["the Node has no provider id", { node: read(withoutProviderId()) }, "provider id"],
  [
    "the CSINode names another instance: its kubelet adopted the Node",
    { csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: OTHER_INSTANCE } }) },
    "CSINode",
  ],
  ["the CSINode was not read", { csiNode: failed("kubernetes.getCsiNode") }, "CSINode"],
  ["the Lease was not read", { lease: failed("kubernetes.getLease") }, "Lease"],
  ["the Lease was renewed", { lease: read({ name: NODE, renewTime: "09:29:59" }) }, "renews the Lease"],
  [
    "the Lease has been silent for less than 12 s",
    { memory: { lease: { renewTime: "09:29:00", at: NOW - 11.9 * SECOND } } },
    "12 s",
  ],
];

function withoutLaunchTime(): ReturnType<typeof goneTask> {
  const { launchTime: _unknown, ...task } = goneTask();
  return task;
}

function withoutProviderId(): ReturnType<typeof untouchedNode> {
  const { providerId: _unset, ...rest } = untouchedNode();
  return rest;
}

describe("D14: with one proof missing, nothing is touched", () => {
  it.each(UNPROVED)("%s", (_what, differs, named) => {
    const decision = decide(deadMachine(differs), policy());
    expect(changes(decision)).toEqual([]);
    expect(decision.next.kind).toBe("again");
    expect(decision.reason).toContain(named);
  });

  it.each<[string, Differs]>([
    ["the Node", { node: failed("kubernetes.getNode") }],
    ["the pods", { pods: failed("kubernetes.listPodsOnNode") }],
    ["the attachments", { attachments: failed("kubernetes.getAttachment") }],
    ["EC2", { instance: failed("ec2.describeInstance", "throttled") }],
  ])("%s could not be read (D17)", (_what, differs) => {
    const decision = decide(deadMachine(differs), policy());
    expect(changes(decision)).toEqual([]);
    expect(decision.phase).toBe("blind");
  });

  it("the Lease was read once only: one look proves no silence", () => {
    const dead = deadMachine();
    const { lease: _once, ...rest } = dead.memory;
    expect(decide({ ...dead, memory: rest }, policy()).reason).toContain("once only");
  });

  it("the operator has switched it off", () => {
    expect(changes(decide(deadMachine(), policy({ outOfService: false })))).toEqual([]);
  });

  it("whichever proofs are missing together", () => {
    const subsets = fc.subarray([...UNPROVED], { minLength: 1 });
    fc.assert(
      fc.property(subsets, (missing) => {
        const differs = Object.assign({}, ...missing.map(([, each]) => each)) as Differs;
        const seen = deadMachine(differs);
        expect(changes(decide(seen, policy()))).toEqual([]);
      }),
    );
  });
});

describe("looks at a dying machine", () => {
  const phase = (differs: Differs): string => decide(deadMachine(differs), policy()).phase;

  it.each(["shutting-down", "stopping"] as const)(
    "are closer while EC2's last word is all that is missing: %s",
    (state) => {
      expect(phase({ ...STOPPED, ...ec2Says({ state }) })).toBe("awaiting-ec2");
    },
  );

  it("are not, where another proof is missing, too, or EC2 has said its last word", () => {
    const renewed = { lease: read({ name: NODE, renewTime: "09:29:59" }) };
    expect(phase({ ...ec2Says({ state: "shutting-down" }), ...renewed })).toBe("proving-death");
    expect(phase(renewed)).toBe("proving-death");
  });
});

describe("the taint's time", () => {
  it("counts from the first time that it was set, however often its pods are removed", () => {
    const seen = deadMachine({ node: read(tainted()), memory: forced(30) });
    const decision = decide(seen, policy());
    const results = decision.actions.map((action) => ({ action }));
    expect(remember(seen, decision, results, policy()).memory.taintedAt).toBe(NOW - 30 * SECOND);
  });

  it("does not begin where the taint could not be set", () => {
    const seen = deadMachine();
    const decision = decide(seen, policy());
    const failure = { operation: "x", cause: "conflict", message: "x" };
    const results = decision.actions.map((action) => ({ action, failure }));
    expect(remember(seen, decision, results, policy()).memory.taintedAt).toBeUndefined();
  });
});

describe("the Lease's silence", () => {
  it("counts from when its answer was there, not from the look's beginning", () => {
    const dead = deadMachine({ leaseAt: NOW + 8 * SECOND });
    const { lease: _none, ...rest } = dead.memory;
    const first = { ...dead, memory: rest };
    const { memory } = remember(first, decide(first, policy()), [], policy());
    expect(memory.lease).toEqual({ renewTime: "09:29:00", at: NOW + 8 * SECOND });
    const early = { ...dead, at: NOW + 19 * SECOND, memory };
    expect(changes(decide(early, policy()))).toEqual([]);
    const late = { ...early, at: NOW + 20 * SECOND };
    expect(changes(decide(late, policy()))).toEqual(["force-off"]);
  });

  it("broken twice after the machine's end is another kubelet's: reported, and our taint comes off (I9)", () => {
    const alive = deadMachine({
      node: read(tainted()),
      lease: read({ name: NODE, renewTime: "09:29:59" }),
      memory: { ...forced(20), renewalsWhileDown: 2 },
    });
    const decision = decide(alive, policy());
    expect(decision.actions).toMatchObject([
      { kind: "patch-node", purpose: "untaint" },
      { kind: "event", reason: "NodeAdopted" },
      { kind: "metric", name: "NodesAdopted" },
    ]);
  });
});

describe("D14: when our taint comes off", () => {
  const on = (differs: Differs = {}): Observation =>
    deadMachine({ node: read(tainted()), memory: forced(10), ...differs });

  it.each<[string, Observation]>([
    ["no attachment is left", on({ attachments: read([]) })],
    ["it had its five minutes", on({ memory: forced(300) })],
    ["a kubelet renews the Lease", on({ lease: read({ name: NODE, renewTime: "09:29:59" }) })],
    ["the stopped machine runs again", on(ec2Says({ state: "running" }))],
    ["the stopped machine is pending", on(ec2Says({ state: "pending" }))],
    ["the id is another machine's by now", on(ec2Says({ launchTime: LAUNCHED + MINUTE }))],
    ["EC2 takes its word back", on(ec2Says({ state: "shutting-down" }))],
    ["the 15 minutes are over", on({ task: goneTask({ at: NOW - 15 * MINUTE }) })],
  ])("%s", (_what, seen) => {
    const patches = decide(seen, policy()).actions.filter((action) => action.kind === "patch-node");
    expect(patches).toMatchObject([{ purpose: "untaint" }]);
  });

  it("stays while it is only unknown what EC2 or the Lease would say", () => {
    for (const unknown of [{ lease: failed("kubernetes.getLease") }, { csiNode: failed("x") }]) {
      expect(changes(decide(on(unknown), policy()))).toEqual([]);
    }
  });

  it("is somebody else's where the value is: that one is never taken off", () => {
    const others = on({ node: read(tainted("an operator's")), attachments: read([]) });
    expect(changes(decide(others, policy()))).toEqual([]);
  });

  it("waits for a Node that cannot be read before the work ends: the taint may be on it", () => {
    const seen = on({
      ...ec2Says({ state: "running" }),
      node: failed("kubernetes.getNode"),
      task: goneTask({ at: NOW - 5 * MINUTE }),
    });
    expect(decide(seen, policy()).next.kind).toBe("again");
  });
});

describe("D14: how the work ends", () => {
  it("at once where nothing of the machine is left (D3)", () => {
    const decision = decide(deadMachine({ attachments: read([]) }), policy());
    expect(decision.next).toMatchObject({ kind: "done", outcome: "freed" });
  });

  it("tells of volumes that it freed, and of none where nothing was forced", () => {
    const told = (remembered: Partial<Memory>): readonly string[] =>
      decide(
        deadMachine({ attachments: read([]), node: read(tainted()), memory: remembered }),
        policy(),
      ).actions.flatMap((action) => (action.kind === "event" ? [action.reason] : []));
    expect(told(forced(10))).toEqual(["VolumesDetached"]);
    expect(told({})).toEqual([]);
  });

  it.each<[string, Differs]>([
    ["pinned by a DaemonSet's pod", { pods: read([daemonPod("logs", { inlineHandles: [DEAD_VOLUME] })]) }],
    ["without its PersistentVolume", { volumes: {}, claims: {}, ec2Volumes: read([]) }],
    ["of another driver (C25)", { attachments: read([attachment("x", { attacher: "nfs.csi.k8s.io" })]) }],
    [
      "leaked: the taint had its minute, EC2 shows nothing, and the attachment is still there",
      { node: read(tainted()), ec2Volumes: read([]), memory: forced(60) },
    ],
  ])("although an attachment is left that nobody would remove: %s (D3)", (_what, differs) => {
    expect(decide(deadMachine(differs), policy()).next).toMatchObject({ kind: "done", outcome: "freed" });
  });

  it.each<[string, Differs]>([
    ["before the taint, for EC2 itself detaches what terminates", { ec2Volumes: read([]) }],
    ["in the taint's first minute", { node: read(tainted()), ec2Volumes: read([]), memory: forced(59) }],
    [
      "while EC2 has it attached elsewhere and the attachment stands",
      {
        ec2Volumes: read([]),
        elsewhere: read([{ volumeId: DEAD_VOLUME, instances: [OTHER_INSTANCE] }]),
      },
    ],
  ])("not where EC2 shows no attachment %s", (_what, differs) => {
    expect(decide(deadMachine(differs), policy()).next.kind).toBe("again");
  });

  it("reports a Node that is gone already, and lets Kubernetes' own timer run", () => {
    const decision = decide(
      deadMachine({ node: read(null), csiNode: read(null), lease: read(null) }),
      policy(),
    );
    expect(changes(decision)).toEqual([]);
    expect(decision.reason).toContain("gone already");
    expect(decision.next.kind).toBe("again");
  });

  it("after 15 minutes with an Event and a metric that name what is left", () => {
    const decision = decide(deadMachine({ task: goneTask({ at: NOW - 15 * MINUTE }) }), policy());
    expect(decision.next).toMatchObject({ kind: "done", outcome: "deadline" });
    expect(decision.reason).toContain(DEAD_VOLUME);
    expect(decision.actions).toMatchObject([
      { kind: "event", reason: "DrainDeadline", type: "Warning" },
      { kind: "metric", name: "DrainDeadlines" },
    ]);
  });

  it("not because EC2 still says running in the first minute: its answers lag behind its events", () => {
    const early = deadMachine({
      ...ec2Says({ state: "running" }),
      task: goneTask({ at: NOW - 10 * SECOND }),
    });
    expect(decide(early, policy())).toMatchObject({ phase: "proving-death", next: { kind: "again" } });
    const later = deadMachine({ ...ec2Says({ state: "running" }), task: goneTask({ at: NOW - MINUTE }) });
    expect(decide(later, policy()).next).toMatchObject({ kind: "done", outcome: "called-off" });
  });

  it("where another machine has the id, at once", () => {
    const seen = deadMachine({
      ...ec2Says({ launchTime: LAUNCHED + MINUTE }),
      task: goneTask({ at: NOW - 10 * SECOND }),
    });
    expect(decide(seen, policy()).next).toMatchObject({ kind: "done", outcome: "called-off" });
  });
});

it("names the attachments that the machine holds, whichever Kubernetes has resolved", () => {
  const two = deadMachine({
    attachments: read([attachment(DEAD_VOLUME), attachment("vol-2", { deleting: true })]),
    volumes: volumes(DEAD_VOLUME, "vol-2"),
    ec2Volumes: UNREAD,
  });
  expect(decide(two, policy()).reason).toContain(`${DEAD_VOLUME}, vol-2`);
});
