/** Lifecycle work from its first look to its end: whose the Node is, the cordon, the beats, the two looks that agree (D2–D6, D12). */
import { describe, expect, it } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import { workId } from "../../lib/drain/task.ts";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import { changes, find, writtenWork } from "./decision-reading.ts";
import {
  BEGAN,
  BOOT,
  INSTANCE,
  LAUNCHED,
  NODE,
  NOW,
  OTHER_INSTANCE,
  ROOT,
  attachment,
  daemonPod,
  drained,
  ec2Attachment,
  failed,
  firstLook,
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
  volumes,
  work,
} from "./observation-builder.ts";

describe("D5: the cordon", () => {
  it("is the first change of all, with `work` in the same patch; then the beat, then evictions (C14)", () => {
    const decision = decide(firstLook({ pods: read([pod("web")]) }), policy());
    expect(changes(decision)).toEqual(["patch-node", "heartbeat", "evict"]);
    expect(writtenWork(decision)).toMatchObject({
      kind: "open",
      work: { id: lifecycleTask().id, bootID: BOOT, group: "workers-a", cordoned: true, ignore: [] },
    });
  });

  it("writes whose action is open, and until when", () => {
    expect(writtenWork(decide(firstLook(), policy()))).toMatchObject({
      work: { hook: "ebs-drain", deadline: BEGAN + 2 * HOUR - MINUTE },
    });
  });

  it("respects a cordon that stood before, and does not call it ours", () => {
    const cordoned = untouchedNode({ unschedulable: true });
    const decision = decide(firstLook({ node: read(cordoned) }), policy());
    expect(find(decision, "patch-node")?.patch.map(({ path }) => path)).not.toContain("/spec/unschedulable");
    expect(writtenWork(decision)).toMatchObject({ work: { cordoned: false } });
  });

  it("is asserted again when somebody removed it, and then is ours", () => {
    const theirs = work(lifecycleTask(), { cordoned: false });
    const uncordoned = node({ unschedulable: false, work: formatWork(theirs) });
    const decision = decide(observation({ node: read(uncordoned) }), policy());
    expect(find(decision, "patch-node")).toMatchObject({ purpose: "cordon" });
    expect(writtenWork(decision)).toMatchObject({ work: { cordoned: true } });
  });

  it("is written again when somebody removed `work`, without taking the cordon for ours", () => {
    const stripped = untouchedNode({ unschedulable: true });
    const decision = decide(observation({ node: read(stripped) }), policy());
    expect(writtenWork(decision)).toMatchObject({ kind: "open", work: { cordoned: false } });
  });

  it("is left alone while it stands with our work", () => {
    expect(changes(decide(observation(), policy()))).toEqual([]);
  });

  it("stays ours where a boot of the machine made the order void", () => {
    const rebooted = node({ bootId: "boot-2" });
    const decision = decide(
      observation({
        node: read(rebooted),
        csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: INSTANCE } }),
        instance: read(instance()),
      }),
      policy(),
    );
    const patch = find(decision, "patch-node")?.patch ?? [];
    expect(JSON.stringify(patch)).toContain(String.raw`\"bootID\":\"boot-2\"`);
    expect(JSON.stringify(patch)).toContain(String.raw`\"cordoned\":true`);
  });

  it("takes over a spot notice's order: the hook completes by the lifecycle action's", () => {
    const spot = node({ work: formatWork(work(spotTask())) });
    const decision = decide(observation({ node: read(spot) }), policy());
    expect(writtenWork(decision)).toMatchObject({ work: { id: lifecycleTask().id, hook: "ebs-drain" } });
  });

  it("rewrites `ignore` where what is pinned has changed (D11)", () => {
    const logs = daemonPod("logs", { inlineHandles: ["vol-1"] });
    const decision = decide(
      observation({
        pods: read([logs]),
        attachments: read([attachment("vol-1")]),
        volumes: volumes("vol-1"),
      }),
      policy(),
    );
    expect(find(decision, "patch-node")).toMatchObject({ purpose: "ignore" });
    expect(writtenWork(decision)).toMatchObject({ work: { ignore: ["csi-vol-1"] } });
  });
});

describe("D5: whose the Node is", () => {
  const driverOf = (instanceId: string): Observation["csiNode"] =>
    read({ name: NODE, nodeIds: { [EBS_DRIVER]: instanceId } });
  const busy = { pods: read([pod("web")]) };

  it.each<[string, Parameters<typeof firstLook>[0]]>([
    ["its provider id is not set yet", { node: read(withoutProviderId()) }],
    ["the CSINode could not be read", { csiNode: failed("kubernetes.getCsiNode") }],
    ["EC2 could not be asked", { instance: failed("ec2.describeInstance", "throttled") }],
    ["EC2 does not show the machine, so LaunchTime agrees with nothing", { instance: read(null) }],
    [
      "the instance was stopped and started in its hook",
      { instance: read(instance({ launchTime: NOW - MINUTE })) },
    ],
    ["the CSINode names another instance", { csiNode: driverOf(OTHER_INSTANCE) }],
    ["EC2 shows another machine under the id", { instance: read(instance({ launchTime: LAUNCHED + HOUR })) }],
    [
      "the provider id is another machine's",
      { node: read(untouchedNode({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` })) },
    ],
  ])("changes nothing of it where %s", (_what, differs) => {
    const decision = decide(firstLook({ ...busy, ...differs }), policy());
    expect(changes(decision)).toEqual(["heartbeat"]);
    expect(decision.next.kind).toBe("again");
  });

  it("is this machine's where the driver has not registered yet", () => {
    expect(changes(decide(firstLook({ ...busy, csiNode: read(null) }), policy()))[0]).toBe("patch-node");
    const other = read({ name: NODE, nodeIds: { "efs.csi.aws.com": OTHER_INSTANCE } });
    expect(changes(decide(firstLook({ ...busy, csiNode: other }), policy()))[0]).toBe("patch-node");
  });

  it("knows a HyperPod node id, which ends in the instance's", () => {
    const decision = decide(firstLook({ ...busy, csiNode: driverOf(`hyperpod-blue-${INSTANCE}`) }), policy());
    expect(changes(decision)[0]).toBe("patch-node");
  });

  it("is another machine's where a boot came although EC2 says that the machine is down (I9)", () => {
    const decision = decide(
      observation({
        ...busy,
        node: read(node({ bootId: "boot-2" })),
        csiNode: read(null),
        instance: read(instance({ state: "terminated" })),
      }),
      policy(),
    );
    expect(changes(decision)).toEqual([]);
    expect(decision.actions).toContainEqual(
      expect.objectContaining({ kind: "event", reason: "NodeAdopted", type: "Warning" }),
    );
  });

  function withoutProviderId(): ReturnType<typeof untouchedNode> {
    const { providerId: _unset, ...rest } = untouchedNode();
    return rest;
  }
});

describe("a Node that another machine has adopted", () => {
  const adopted = (differs: Parameters<typeof observation>[0] = {}, remembered: Partial<Memory> = {}) =>
    observation({
      node: read(node({ bootId: "boot-2", work: formatWork(work(lifecycleTask())) })),
      csiNode: read({ name: NODE, nodeIds: { [EBS_DRIVER]: OTHER_INSTANCE } }),
      instance: read(instance({ state: "shutting-down" })),
      pods: read([pod("web")]),
      ...differs,
      memory: { lists: { count: 0, at: 0, foundNew: false }, reported: ["NodeAdopted"], ...remembered },
    });

  it("does not keep the action open once EC2 shows no volume of the instance, in two looks", () => {
    const empty = { ec2Volumes: read([ROOT]) };
    const first = decide(adopted(empty), policy());
    expect(first).toMatchObject({ agrees: "D14", next: { kind: "again" } });
    const second = decide(adopted(empty, { agreed: "D14" }), policy());
    expect(find(second, "complete")).toEqual({ kind: "complete", result: "CONTINUE" });
  });

  it("waits for EC2's attachments that are ours to wait for, and for no others", () => {
    const csi = decide(
      adopted({ ec2Volumes: read([ROOT, ec2Attachment("vol-1")]) }, { agreed: "D14" }),
      policy(),
    );
    expect(changes(csi)).toEqual([]);
    const scratch = ec2Attachment("vol-scratch", { csi: false, device: "/dev/xvdb" });
    const own = decide(adopted({ ec2Volumes: read([ROOT, scratch]) }, { agreed: "D14" }), policy());
    expect(changes(own)).toEqual(["complete"]);
  });
});

describe("D6: heartbeats", () => {
  const beaten = (secondsAgo: number, ok = true): Partial<Memory> => ({
    beat: { at: NOW - secondsAgo * SECOND, ok },
  });

  it.each<[string, Partial<Memory>, boolean]>([
    ["just beaten", beaten(0), false],
    ["a little before half of the time-out", beaten(140), false],
    ["at half of it, less the second that looks come apart", beaten(149), true],
    ["long after", beaten(200), true],
    ["a beat that failed is sent again at the next look (C19)", beaten(2, false), true],
  ])("%s", (_what, remembered, beats) => {
    const decision = decide(observation({ memory: remembered }), policy());
    expect(changes(decision).includes("heartbeat")).toBe(beats);
  });

  it("begin with the first look", () => {
    expect(changes(decide(firstLook(), policy()))).toContain("heartbeat");
  });

  it.each<[string, Partial<Observation>]>([
    ["the Node cannot be read", { node: failed("kubernetes.getNode") }],
    ["the pods cannot be read", { pods: failed("kubernetes.listPodsOnNode", "forbidden") }],
  ])("go on while %s (D17)", (_what, differs) => {
    expect(changes(decide(observation({ ...differs, memory: beaten(150) }), policy()))).toContain(
      "heartbeat",
    );
  });

  it("end with the action (I10)", () => {
    const over = { action: "over", ...beaten(200) } as const;
    const member = read({ instance: INSTANCE, group: "workers-a", lifecycleState: "Terminating:Proceed" });
    expect(changes(decide(observation({ member, memory: over }), policy()))).not.toContain("heartbeat");
    const completed = { action: "completed", ...beaten(200) } as const;
    expect(decide(observation({ memory: completed }), policy()).actions).toEqual([]);
  });

  it("leave looks at most a quarter of the time-out apart", () => {
    for (const heartbeatTimeout of [60, 300, 7_200]) {
      const quiet = { progress: { mark: "", at: NOW - HOUR }, beat: { at: NOW, ok: true }, looks: 300 };
      const { next } = decide(
        observation({ pods: read([pod("web", { deleting: true })]), memory: quiet }),
        policy({ heartbeatTimeout }),
      );
      expect(next).toMatchObject({ kind: "again" });
      expect(next.kind === "again" && next.inSeconds).toBeLessThanOrEqual(heartbeatTimeout / 4);
    }
  });
});

describe("D12: two looks that agree", () => {
  it("completes with CONTINUE and says so once", () => {
    const decision = decide(drained(), policy());
    expect(decision).toMatchObject({ next: { kind: "done", outcome: "completed" }, rules: ["D12"] });
    expect(changes(decision)).toEqual(["complete"]);
    expect(find(decision, "complete")?.result).toBe("CONTINUE");
  });

  it("does not complete in the first look that finds nothing, but says that it agrees", () => {
    const decision = decide(drained({ memory: { agreed: "" } }), policy());
    expect(decision).toMatchObject({ agrees: "D12", next: { kind: "again" } });
    expect(changes(decision)).toEqual([]);
  });

  it.each<[string, Parameters<typeof drained>[0]]>([
    ["a pod is there", { pods: read([pod("web")]) }],
    ["an evicted pod is still ending (C3)", { pods: read([pod("web", { deleting: true })]) }],
    [
      "an attachment is there (C1)",
      {
        attachments: read([attachment("vol-1")]),
        volumes: volumes("vol-1"),
        ec2Volumes: read([ec2Attachment("vol-1")]),
      },
    ],
    ["EC2 still holds what Kubernetes has let go", { ec2Volumes: read([ROOT, ec2Attachment("vol-1")]) }],
    ["EC2 was not asked in this look", { ec2Volumes: UNREAD }],
    ["EC2 did not answer", { ec2Volumes: failed("ec2.listAttachedVolumes", "throttled") }],
    ["the pods were not read", { pods: UNREAD }],
    ["the attachments were not read", { attachments: UNREAD }],
    ["the cordon was confirmed less than 5 s ago", { memory: { cordonedAt: NOW - 4.9 * SECOND } }],
    [
      "somebody has removed the cordon: the scheduler may bind a pod right now",
      { node: read(node({ unschedulable: false })) },
    ],
    [
      "the confirming list of attachments is missing",
      { rows: UNREAD, memory: { lists: { count: 1, at: NOW - 5 * SECOND, foundNew: false } } },
    ],
    [
      "the last list found a new attachment and none was made since",
      { rows: UNREAD, memory: { lists: { count: 2, at: NOW - 5 * SECOND, foundNew: true } } },
    ],
    [
      "that list failed",
      {
        rows: failed("kubernetes.listAttachmentRows"),
        memory: { lists: { count: 1, at: NOW - 5 * SECOND, foundNew: false } },
      },
    ],
    ["the look before agreed with another rule", { memory: { agreed: "D17" } }],
  ])("does not complete where %s (I1)", (_what, differs) => {
    const decision = decide(drained(differs), policy());
    expect(changes(decision)).not.toContain("complete");
    expect(decision.next.kind).toBe("again");
  });

  it("needs no further list where two were made and the second found nothing new", () => {
    expect(changes(decide(drained({ rows: UNREAD }), policy()))).toEqual(["complete"]);
  });

  it("completes although volumes are left that do not block, and names them", () => {
    const decision = decide(
      drained({
        attachments: read([attachment("vol-nfs", { attacher: "nfs.csi.k8s.io" }), attachment("vol-1")]),
        volumes: volumes("vol-1", "vol-nfs"),
      }),
      policy(),
    );
    expect(changes(decision)).toEqual(["complete"]);
    expect(decision.reason).toContain("vol-nfs (foreign)");
    expect(decision.reason).toContain("vol-1 (leaked)");
  });

  it("names pods that came back and stay (D8)", () => {
    const agent = pod("agent", {
      createdAt: NOW - 5 * SECOND,
      tolerations: [{ operator: "Exists" }],
      controller: { kind: "ReplicaSet", name: "agents" },
    });
    const decision = decide(
      drained({ pods: read([agent]), memory: { evictedControllers: ["shop/ReplicaSet/agents"] } }),
      policy(),
    );
    expect(changes(decision)).toEqual(["complete"]);
    expect(decision.reason).toContain("shop/agent");
  });

  it.each(["WarmPool", "AutoScalingGroup"] as const)("completes a drain to %s like any other (D15)", (to) => {
    const task = lifecycleTask({ destination: to, replacesRootVolume: to === "AutoScalingGroup" });
    expect(changes(decide(drained({ task }), policy()))).toEqual(["complete"]);
  });

  it("completes the sweep's own work, which knows no token (D2)", () => {
    expect(changes(decide(drained({ task: tokenlessTask() }), policy()))).toEqual(["complete"]);
  });

  it("completes where the Node vanished while it was drained (C8)", () => {
    expect(changes(decide(drained({ node: read(null) }), policy()))).toEqual(["complete"]);
  });
});

describe("D4: a machine that never joined", () => {
  const missing = (differs: Parameters<typeof firstLook>[0] = {}, remembered: Partial<Memory> = {}) =>
    firstLook({
      node: read(null),
      csiNode: UNREAD,
      ...differs,
      memory: { looks: 4, lookups: 2, nodesListed: true, beat: { at: NOW, ok: true }, ...remembered },
    });

  it("is let go after joinGrace, once looked up twice and listed (C7)", () => {
    const decision = decide(missing(), policy());
    expect(decision).toMatchObject({ rules: ["D4"], next: { kind: "done", outcome: "never-joined" } });
    expect(changes(decision)).toEqual(["complete"]);
  });

  it.each<[string, Parameters<typeof missing>[0], Partial<Memory>]>([
    [
      "it was launched less than joinGrace ago",
      { instance: read(instance({ launchTime: NOW - 89 * SECOND })) },
      {},
    ],
    ["it was looked up once only", {}, { lookups: 0 }],
    ["the Nodes were not listed", {}, { nodesListed: false }],
    ["EC2's volumes were not read", { ec2Volumes: UNREAD }, {}],
    ["it holds a volume", { ec2Volumes: read([ROOT, ec2Attachment("vol-1")]) }, {}],
    ["Kubernetes cannot be read", { node: failed("kubernetes.getNode") }, {}],
  ])("is not let go where %s", (_what, differs, remembered) => {
    const decision = decide(missing(differs, remembered), policy());
    expect(changes(decision)).not.toContain("complete");
    expect(decision.next.kind).toBe("again");
  });

  it("is drained by D12 where it holds only volumes that are nobody's to wait for", () => {
    const scratch = ec2Attachment("vol-scratch", { csi: false, device: "/dev/xvdb" });
    const differs = { ec2Volumes: read([ROOT, scratch]), rows: read([]) };
    const settled = { cordonedAt: NOW - 6 * SECOND, agreed: "D12" };
    expect(changes(decide(missing(differs, settled), policy()))).toEqual(["complete"]);
  });
});

describe("an order of an earlier action of the same machine", () => {
  const earlier = lifecycleTask({
    id: workId({ kind: "lifecycle", instance: INSTANCE, launchTime: LAUNCHED, token: "an earlier token" }),
  });
  const left = work(earlier, { deadline: NOW - HOUR, handedOver: "uid-of-ebs-csi-node", token: "earlier" });
  const leftOver = (remembered: Partial<Memory> = {}): Observation =>
    observation({
      node: read(node({ work: formatWork(left) })),
      pods: read([pod("web")]),
      memory: remembered,
    });
  const begun = (): Observation => {
    const { cordonedAt: _not, ...rest } = memory();
    return { ...leftOver(), memory: rest };
  };

  it("passes on neither its deadline nor its hand-over (a machine back from the warm pool)", () => {
    const decision = decide(begun(), policy());
    expect(decision.deadline).toBe(BEGAN + 2 * HOUR - MINUTE);
    expect(changes(decision)).toEqual(["patch-node", "evict"]);
    expect(writtenWork(decision)).toMatchObject({ work: { id: lifecycleTask().id, cordoned: true } });
    expect(JSON.stringify(find(decision, "patch-node"))).not.toContain("handedOver");
  });

  it("is not fought over by work that wrote its own once", () => {
    expect(changes(decide(leftOver(), policy()))).toEqual(["evict"]);
  });

  it("passes its deadline on to the sweep's own work, which cannot tell actions apart (D13)", () => {
    const decision = decide({ ...leftOver(), task: tokenlessTask() }, policy());
    expect(decision.deadline).toBe(NOW - HOUR);
  });
});

describe("an instance that was stopped and started while it waits in the hook", () => {
  const restarted = read(instance({ launchTime: NOW - MINUTE }));

  it("is not completed although neither source holds anything of the machine before (I1, D12)", () => {
    const decision = decide(drained({ instance: restarted, memory: { agreed: "D12" } }), policy());
    expect(decision.next.kind).toBe("again");
    expect(changes(decision)).not.toContain("complete");
  });

  it("gets the policy's result at the deadline (D13)", () => {
    const task = lifecycleTask({ at: NOW - 3 * HOUR });
    const decision = decide(drained({ task, instance: restarted }), policy());
    expect(find(decision, "complete")?.result).toBe("CONTINUE");
  });
});
