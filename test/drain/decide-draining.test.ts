/** What keeps a living node's work open: pods (D7, D9), the hand-over (D10), the deadline (D13), blindness (D17), the end (D2, D15). */
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Decision } from "../../lib/drain/decision.ts";
import type { EvictionRecord, Memory } from "../../lib/drain/memory.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { formatWork, readWork } from "../../lib/drain/work-order.ts";
import { changes, find, told } from "./decision-reading.ts";
import {
  BEGAN,
  BOOT,
  type Differs,
  INSTANCE,
  NOW,
  ROOT,
  TOKEN,
  attachment,
  daemonPod,
  ec2Attachment,
  failed,
  goneTask,
  hookPod,
  inUse,
  instance,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
  spotTask,
  tokenlessTask,
  untouchedNode,
  volumes,
  work,
} from "./observation-builder.ts";

const evicted = (name: string, record: Partial<EvictionRecord>): Memory["evictions"] => ({
  [`uid-of-${name}`]: { outcome: "accepted", at: NOW - SECOND, pod: `shop/${name}`, ...record },
});
const blocked = (name: string, budget: string): Memory["evictions"] =>
  evicted(name, { outcome: "budget", budget });
const atTime = (minutes: number): Differs => ({
  task: lifecycleTask({ at: NOW - minutes * MINUTE }),
  node: read(node({ work: formatWork(work(lifecycleTask({ at: NOW - minutes * MINUTE }))) })),
});

describe("D7: evictions", () => {
  it("ask each pod by its uid, and nobody who was asked and agreed (C6)", () => {
    const pods = read([pod("web"), pod("api"), pod("ending", { deleting: true })]);
    const decision = decide(observation({ pods, memory: { evictions: evicted("web", {}) } }), policy());
    expect(find(decision, "evict")?.groups.flat()).toEqual([
      { namespace: "shop", name: "api", uid: "uid-of-api", controller: "shop/ReplicaSet/api-set" },
    ]);
    expect(decision.phase).toBe("evicting");
  });

  it("wait without a request while everybody was asked", () => {
    const pods = read([pod("web", { deleting: true })]);
    expect(changes(decide(observation({ pods }), policy()))).toEqual([]);
  });

  it("name the budget that blocks, and who waits for it", () => {
    const decision = decide(
      observation({ pods: read([pod("web")]), memory: { evictions: blocked("web", "shop/web-pdb") } }),
      policy(),
    );
    expect(decision.waitingFor).toEqual(["pod shop/web (PodDisruptionBudget shop/web-pdb)"]);
    expect(told(decision)).toEqual(["BlockedEvictions", "EvictionBlocked"]);
    expect(changes(decision)).toEqual(["evict"]);
  });

  it("tell of the same budgets once, however many pods they hold back (C15)", () => {
    const look = (names: readonly string[], budget: string, reported: readonly string[]): Decision =>
      decide(
        observation({
          pods: read(names.map((name) => pod(name))),
          memory: {
            evictions: Object.assign(
              {},
              ...names.map((name) => blocked(name, budget)),
            ) as Memory["evictions"],
            reported,
          },
        }),
        policy(),
      );
    const event = find(look(["web-1", "web-2"], "shop/a", []), "event");
    const reported = [`${event?.reason}/${event?.detail}`];
    expect(event?.detail.length).toBeLessThanOrEqual(8);
    expect(told(look(["web-2", "web-3", "web-4"], "shop/a", reported))).toEqual(["BlockedEvictions"]);
    expect(told(look(["web-2"], "shop/b", reported))).toEqual(["BlockedEvictions", "EvictionBlocked"]);
  });

  it("are not turned into deletes unless force is on and its time has come (I5)", () => {
    const look = (force: boolean, minutes: number, evictions: Memory["evictions"]): readonly string[] =>
      changes(
        decide(
          observation({ ...atTime(minutes), pods: read([pod("web")]), memory: { evictions } }),
          policy({ force, forceAfter: 30 * 60 }),
        ),
      );
    const budget = blocked("web", "shop/web-pdb");
    expect(look(false, 31, budget)).toEqual(["evict"]);
    expect(look(true, 29, budget)).toEqual(["evict"]);
    expect(look(true, 30, budget)).toEqual(["evict", "delete-pods"]);
    expect(look(true, 31, evicted("web", { outcome: "failed" }))).toEqual(["evict"]);
  });

  it("are left out where EC2 says that the machine is down: no kubelet ends a pod there (C26)", () => {
    for (const state of ["stopped", "terminated"] as const) {
      const down = observation({ pods: read([pod("web")]), instance: read(instance({ state })) });
      expect(changes(decide(down, policy()))).toEqual([]);
    }
  });
});

/** Pods are gone, one volume still blocks, the hook is there, nothing speaks against it. */
function handsOver(differs: Differs = {}): Observation {
  return observation({
    pods: read([hookPod()]),
    attachments: read([attachment("vol-1")]),
    volumes: volumes("vol-1"),
    ec2Volumes: read([ROOT, ec2Attachment("vol-1")]),
    ...differs,
  });
}

describe("what a look says while it waits", () => {
  it("names each pod with what holds it", () => {
    const evictions = {
      ...blocked("web", "shop/web-pdb"),
      ...evicted("api", { outcome: "failed" }),
      ...evicted("old", { outcome: "left" }),
    };
    const pods = read([pod("web"), pod("api"), pod("old"), pod("new"), pod("end", { deleting: true })]);
    expect(decide(observation({ pods, memory: { evictions } }), policy()).waitingFor).toEqual([
      "pod shop/web (PodDisruptionBudget shop/web-pdb)",
      "pod shop/api (eviction failed, asked again)",
      "pod shop/old (its namespace is terminating)",
      "pod shop/new",
      "pod shop/end (terminating)",
    ]);
  });

  it("tells waiting for volumes from waiting for both sources to agree", () => {
    const waiting = observation({ attachments: read([attachment("vol-1")]), volumes: volumes("vol-1") });
    expect(decide(waiting, policy())).toMatchObject({ phase: "detaching", rules: ["D11"] });
    expect(decide(observation(), policy())).toMatchObject({ phase: "confirming", rules: ["D12"] });
  });
});

describe("D10: the hand-over", () => {
  it("writes the CSI pod's uid and the token, and deletes that pod", () => {
    const decision = decide(handsOver(), policy());
    const action = find(decision, "hand-over");
    expect(action?.pod).toMatchObject({ name: "ebs-csi-node", uid: "uid-of-ebs-csi-node" });
    const written = action?.patch.flatMap((step) => (step.op === "add" ? [step.value] : [])) ?? [];
    expect(readWork({ work: String(written[0]), bootId: BOOT })).toMatchObject({
      work: { id: lifecycleTask().id, handedOver: "uid-of-ebs-csi-node", token: TOKEN, cordoned: true },
    });
    expect(told(decision)).toEqual(["HandedOff"]);
  });

  it.each<[string, Differs]>([
    ["a pod is left", { pods: read([hookPod(), pod("web")]) }],
    ["the cordon was confirmed 4 s ago", { memory: { cordonedAt: NOW - 4 * SECOND } }],
    ["the kubelet lists a volume in use", { node: read(node({ volumesInUse: inUse("vol-1") })) }],
    [
      "a pod that stays has a volume mounted",
      {
        pods: read([hookPod(), daemonPod("logs", { inlineHandles: ["vol-2"] })]),
        attachments: read([attachment("vol-1"), attachment("vol-2")]),
        volumes: volumes("vol-1", "vol-2"),
        ec2Volumes: read([ec2Attachment("vol-1"), ec2Attachment("vol-2")]),
      },
    ],
    ["EC2 was not asked", { ec2Volumes: UNREAD }],
    ["EC2 did not answer", { ec2Volumes: failed("ec2.listAttachedVolumes") }],
    ["EC2 says busy", { ec2Volumes: read([ec2Attachment("vol-1", { state: "busy" })]) }],
    [
      "EC2 holds a volume without its VolumeAttachment: the hook would not wait for it",
      { ec2Volumes: read([ec2Attachment("vol-1"), ec2Attachment("vol-2")]) },
    ],
    ["no volume blocks", { ec2Volumes: read([ROOT]) }],
    ["the CSI pod has no hook", { pods: read([hookPod({ labels: {} })]) }],
    ["the CSI pod is on its way out", { pods: read([hookPod({ deleting: true })]) }],
    ["it was handed over already, and this is the successor", { memory: { handedOver: "an earlier pod" } }],
    ["the token is unknown", { task: tokenlessTask() }],
    ["the Node is gone", { node: read(null) }],
    [
      "EC2 says that the machine is down: the pod may be another machine's, and nothing runs there to unmount (I9)",
      { instance: read(instance({ state: "stopped" })) },
    ],
  ])("does not come where %s", (_what, differs) => {
    expect(changes(decide(handsOver(differs), policy()))).not.toContain("hand-over");
  });

  it("is known from the Node where the memory of it was lost: the successor lives", () => {
    const handed = work(lifecycleTask(), { handedOver: "an earlier pod", token: TOKEN });
    expect(changes(decide(handsOver({ node: read(node({ work: formatWork(handed) })) }), policy()))).toEqual(
      [],
    );
  });

  it("is finished where the order was written and the pod not deleted", () => {
    const handed = work(lifecycleTask(), { handedOver: "uid-of-ebs-csi-node", token: TOKEN });
    const decision = decide(handsOver({ node: read(node({ work: formatWork(handed) })) }), policy());
    expect(changes(decision)).toEqual(["hand-over"]);
  });

  it("keeps the order's hand-over when the cordon is written again", () => {
    const handed = work(lifecycleTask(), { handedOver: "an earlier pod", token: TOKEN });
    const uncordoned = node({ unschedulable: false, work: formatWork(handed) });
    const decision = decide(handsOver({ node: read(uncordoned) }), policy());
    expect(JSON.stringify(find(decision, "patch-node"))).toContain("an earlier pod");
  });
});

describe("D13: the deadline", () => {
  const waiting = (minutes: number, differs: Differs = {}): Observation =>
    observation({ ...atTime(minutes), pods: read([pod("web", { deleting: true })]), ...differs });

  it.each(["CONTINUE", "ABANDON"] as const)(
    "gives the policy's result, %s, and names each blocker (C16)",
    (result) => {
      const decision = decide(waiting(119), policy({ onDeadline: result }));
      expect(find(decision, "complete")?.result).toBe(result);
      expect(decision).toMatchObject({ rules: ["D13"], next: { kind: "done", outcome: "deadline" } });
      expect(find(decision, "event")?.message).toContain("pod shop/web (terminating)");
      expect(told(decision)).toEqual(["DrainDeadline", "DrainDeadlines"]);
    },
  );

  it("comes a margin before the limit, and not before", () => {
    expect(changes(decide({ ...waiting(119), at: NOW - SECOND }, policy()))).not.toContain("complete");
  });

  it("comes although nothing can be read (D17)", () => {
    const blindly = waiting(119, { node: failed("kubernetes.getNode"), pods: failed("x") });
    expect(changes(decide(blindly, policy()))).toEqual(["complete"]);
  });

  it("is at most 100 heartbeat time-outs, and 48 h", () => {
    const limit = (heartbeatTimeout: number, maxDuration: number): number =>
      decide(observation({ node: read(untouchedNode()) }), policy({ heartbeatTimeout, maxDuration }))
        .deadline - BEGAN;
    expect(limit(60, 7_200)).toBe(6_000 * SECOND - MINUTE);
    expect(limit(7_200, 200 * 3_600)).toBe(48 * HOUR - MINUTE);
  });

  it("is an earlier one that `work` promises, never a later one", () => {
    const promised = (at: number): number =>
      decide(
        observation({ node: read(node({ work: formatWork(work(lifecycleTask(), { deadline: at })) })) }),
        policy(),
      ).deadline;
    expect(promised(NOW + HOUR)).toBe(NOW + HOUR);
    expect(promised(NOW + 40 * HOUR)).toBe(BEGAN + 2 * HOUR - MINUTE);
  });

  it.each<[string, Parameters<typeof node>[0]]>([
    ["another boot's", { bootId: "boot-0" }],
    ["a spot notice's", { work: formatWork(work(spotTask(), { deadline: NOW - HOUR })) }],
    ["the gone work's", { work: formatWork(work(goneTask(), { deadline: NOW - HOUR })) }],
    ["unreadable", { work: "{}" }],
  ])("does not come early because of an order that is %s", (_what, differs) => {
    const early = node({ work: formatWork(work(lifecycleTask(), { deadline: NOW - HOUR })), ...differs });
    const decision = decide(observation({ node: read(early), csiNode: read(null) }), policy());
    expect(decision.deadline).toBe(BEGAN + 2 * HOUR - MINUTE);
  });

  it.each<[number, readonly string[], readonly string[]]>([
    [59, [], []],
    [60, [], ["DrainDeadlineNear", "DeadlinesNear"]],
    [59.5, [], ["DrainDeadlineNear", "DeadlinesNear"]],
    [61, ["DrainDeadlineNear/50"], []],
    [108, ["DrainDeadlineNear/50"], ["DrainDeadlineNear", "DeadlinesNear"]],
    [110, ["DrainDeadlineNear/50", "DrainDeadlineNear/90"], []],
  ])("is announced at 50 and at 90 per cent: after %i minutes", (minutes, reported, expected) => {
    const recently = { mark: "", at: NOW - SECOND };
    const decision = decide(waiting(minutes, { memory: { reported, progress: recently } }), policy());
    expect(told(decision)).toEqual(expected);
  });
});

describe("D13: a kubelet that has fallen silent", () => {
  const silent = (seconds: number): ReturnType<typeof node> =>
    node({
      ready: { status: "Unknown", reason: "NodeStatusUnknown", message: "", since: NOW - seconds * SECOND },
    });
  const lost = (differs: Differs = {}): Observation =>
    observation({
      node: read(silent(181)),
      pods: read([pod("web", { deleting: true })]),
      others: read({ total: 9, unknown: 3 }),
      ...differs,
    });

  it("can unmount nothing: the deadline is then", () => {
    expect(find(decide(lost(), policy()), "complete")?.result).toBe("CONTINUE");
  });

  it.each<[string, Differs]>([
    ["not longer than kubeletGrace", { node: read(silent(180)) }],
    ["together with more than a third of the others", { others: read({ total: 9, unknown: 4 }) }],
    ["and nobody knows about the others", { others: failed("kubernetes.listNodes") }],
    ["and nothing is left to wait for", { pods: read([]) }],
  ])("keeps the work going where it is silent %s", (_what, differs) => {
    expect(changes(decide(lost(differs), policy()))).not.toContain("complete");
  });

  it("is judged by the others as they were a minute ago at most", () => {
    const others = { total: 9, unknown: 0, at: NOW - 30 * SECOND };
    expect(changes(decide(lost({ others: UNREAD, memory: { others } }), policy()))).toContain("complete");
  });

  it("is not the same as a Node that says NotReady", () => {
    const notReady = node({ ready: { status: "False", reason: "", message: "", since: NOW - HOUR } });
    expect(changes(decide(lost({ node: read(notReady) }), policy()))).not.toContain("complete");
  });
});

describe("D17: blind", () => {
  const emptied = { emptied: true, agreed: "D17" };
  const blind = (differs: Differs = {}): Observation =>
    observation({ pods: failed("kubernetes.listPodsOnNode"), ec2Volumes: read([ROOT]), ...differs });

  it("completes a machine that it has seen empty and that EC2 shows with its root volume only, in two looks", () => {
    const first = decide(blind({ memory: { emptied: true } }), policy());
    expect(first).toMatchObject({ agrees: "D17", next: { kind: "again" } });
    expect(changes(first)).toEqual([]);
    expect(changes(decide(blind({ memory: emptied }), policy()))).toEqual(["complete"]);
  });

  it.each<[string, Differs]>([
    ["it was never seen empty", { memory: { agreed: "D17" } }],
    [
      "EC2 shows any other volume, the driver's or not",
      { ec2Volumes: read([ec2Attachment("v", { csi: false })]), memory: emptied },
    ],
    ["EC2 was not asked", { ec2Volumes: UNREAD, memory: emptied }],
    ["EC2 did not answer either", { ec2Volumes: failed("ec2.listAttachedVolumes"), memory: emptied }],
    ["only D12 had agreed", { memory: { emptied: true, agreed: "D12" } }],
  ])("completes nothing where %s", (_what, differs) => {
    expect(changes(decide(blind(differs), policy()))).not.toContain("complete");
  });

  it.each([
    ["network", "network"],
    ["throttled", "network"],
    ["server", "network"],
    ["unauthenticated", "authentication"],
    ["forbidden", "authorization"],
  ])("raises the alarm with its cause: %s is %s (C35)", (failure, cause) => {
    const decision = decide(blind({ pods: failed("kubernetes.listPodsOnNode", failure) }), policy());
    expect(decision.actions).toContainEqual({
      kind: "metric",
      name: "ClusterUnreachable",
      value: 1,
      dimensions: { cause },
    });
  });

  it("does not blame the cluster where it is EC2 that does not say which Node to read", () => {
    const decision = decide(blind({ node: failed("ec2.describeInstance", "forbidden") }), policy());
    expect(told(decision)).not.toContain("ClusterUnreachable");
    expect(decision.reason).toContain("EC2");
  });
});

describe("D2, D3, D15: the action is over", () => {
  const over = (lifecycleState: string | undefined, differs: Differs = {}): Observation =>
    observation({
      member: read(
        lifecycleState === undefined ? null : { instance: INSTANCE, group: "workers-a", lifecycleState },
      ),
      instance: read(instance()),
      ...differs,
      memory: { action: "over", ...differs.memory },
    });

  it("by somebody else: an Event, a metric, and no change of anything", () => {
    for (const state of ["Terminating:Wait", "Terminating:Proceed", undefined]) {
      const decision = decide(over(state, { pods: read([pod("web")]) }), policy());
      expect(decision.next).toMatchObject({ kind: "done", outcome: "completed-by-other" });
      expect(changes(decision)).toEqual([]);
      expect(told(decision)).toEqual(["CompletedByOther", "CompletedByOther"]);
    }
  });

  it("by the hook after a hand-over: no alarm", () => {
    const decision = decide(over("Terminating:Proceed", { memory: { handedOver: "uid" } }), policy());
    expect(decision.next).toMatchObject({ kind: "done", outcome: "completed-by-hook" });
    expect(told(decision)).not.toContain("CompletedByOther");
  });

  it("by ourselves, where only the answer was lost: no alarm (C20)", () => {
    const decision = decide(over("Terminating:Proceed", { memory: { completion: "lost" } }), policy());
    expect(decision.next).toMatchObject({ kind: "done", outcome: "completed" });
    expect(told(decision)).toEqual([]);
  });

  it("waits for Auto Scaling's word on where the instance stands (C18)", () => {
    const decision = decide(
      over("x", { member: failed("autoScaling.describeMember", "throttled") }),
      policy(),
    );
    expect(decision).toMatchObject({ phase: "ending", next: { kind: "again" } });
    expect(changes(decision)).toEqual([]);
  });

  it.each(["InService", "Standby"])(
    "and the machine is %s: `work` and our cordon go in one patch",
    (state) => {
      const decision = decide(over(state), policy());
      expect(decision.next).toMatchObject({ kind: "done", outcome: "called-off" });
      expect(find(decision, "patch-node")).toMatchObject({
        purpose: "withdraw",
        patch: expect.arrayContaining([
          { op: "replace", path: "/spec/unschedulable", value: false },
          { op: "remove", path: "/metadata/annotations/ebs-drain.dev~1work" },
        ]) as unknown,
      });
      expect(told(decision)).toEqual(["DrainCalledOff", "DrainsCalledOff"]);
    },
  );

  it("and the machine is in service, cordoned by somebody else: that cordon stays", () => {
    const theirs = node({ work: formatWork(work(lifecycleTask(), { cordoned: false })) });
    const patch = find(decide(over("InService", { node: read(theirs) }), policy()), "patch-node")?.patch;
    expect(patch?.map(({ path }) => path)).not.toContain("/spec/unschedulable");
  });

  it("and the machine is in service: `work` of an earlier boot goes, too", () => {
    const earlier = node({ work: formatWork(work(lifecycleTask(), { bootID: "boot-0" })) });
    expect(changes(decide(over("InService", { node: read(earlier) }), policy()))).toEqual(["patch-node"]);
  });

  it("and the machine is in service, but its Node cannot be read: the work goes on until it can", () => {
    const unread = over("InService", { node: failed("kubernetes.getNode") });
    expect(decide(unread, policy()).next.kind).toBe("again");
  });

  it.each<[string, Differs]>([
    ["its pods cannot be read", { pods: failed("kubernetes.listPodsOnNode") }],
    ["its boot cannot be verified", { node: read(node({ bootId: "boot-2" })), csiNode: failed("x") }],
  ])("and the machine is in service, but %s: nothing is taken back yet", (_what, differs) => {
    const decision = decide(over("InService", differs), policy());
    expect(decision.next.kind).toBe("again");
    expect(changes(decision)).toEqual([]);
  });

  it("and the machine is in service without anything of ours: nothing is written", () => {
    expect(changes(decide(over("InService", { node: read(untouchedNode()) }), policy()))).toEqual([]);
  });
});

describe("C37: work in which nothing moves", () => {
  const still = (minutes: number): Decision =>
    decide(
      observation({
        pods: read([pod("web", { deleting: true })]),
        memory: { progress: { mark: "", at: NOW - minutes * MINUTE } },
      }),
      policy(),
    );

  it("says so after ten minutes, in each look", () => {
    expect(told(still(9))).toEqual([]);
    expect(told(still(10))).toEqual(["NoProgress"]);
  });
});
