import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeView } from "../../lib/drain/cluster.ts";
import { DRAIN_TAINTS } from "../../lib/drain/going-away.ts";
import type { OwnPod } from "../../lib/drain/hold-memory.ts";
import { NOTHING_HELD } from "../../lib/drain/hold-memory.ts";
import type { HeldAttachment, HoldObservation, HoldVerdict } from "../../lib/drain/hold.ts";
import { hold, holdDeadline, rememberHold } from "../../lib/drain/hold.ts";
import type { Reading } from "../../lib/drain/observation.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { Work } from "../../lib/drain/work-order.ts";
import { formatWork } from "../../lib/drain/work-order.ts";

type HeldNode = NonNullable<Extract<HoldObservation["node"], { kind: "read" }>["value"]>;

const START = 1_800_000_000_000;
const IN_USE = "kubernetes.io/csi/ebs.csi.aws.com^vol-1";
const FAILED = {
  kind: "failed",
  failure: { operation: "get", cause: "network", message: "connection refused" },
} as const;
const UNREAD = { kind: "unread" } as const;

const NODE: HeldNode = {
  bootId: "boot-1",
  deleting: false,
  unschedulable: false,
  taints: [],
  ready: { status: "True", reason: "KubeletReady", message: "", since: 0 },
  volumesInUse: [],
};
const CORDONED: HeldNode = { ...NODE, unschedulable: true };
const SHUTTING_DOWN: HeldNode = {
  ...NODE,
  ready: { status: "False", reason: "KubeletNotReady", message: "node is shutting down", since: START },
};
const WORK: Work = {
  id: "lifecycle-i-0f3a9c1d2b4e5f607-t3kq2w-0a1b2c3d",
  bootID: "boot-1",
  group: "workers-a",
  deadline: START + 3_600_000,
  cordoned: true,
  ignore: [],
};
const WORKED: HeldNode = { ...CORDONED, work: formatWork(WORK) };
const DELETED: OwnPod = { deleting: true, graceSeconds: 60, revision: "rev-2" };
const ATTACHED: HeldAttachment = { name: "csi-1", attacher: "ebs.csi.aws.com", local: false };

function read<T>(value: T): { readonly kind: "read"; readonly value: T } {
  return { kind: "read", value };
}

/** A deleted pod on a node with open work and one volume, two seconds into the hold; a test states what differs. */
function look(change: Partial<HoldObservation> = {}): HoldObservation {
  return {
    at: START + 2_000,
    startedAt: START,
    policy: DEFAULT_POLICY,
    drainTaints: DRAIN_TAINTS,
    hooks: { arrived: 2, expected: 2 },
    configuredGrace: 60,
    pod: read(DELETED),
    newestRevision: read("rev-2"),
    node: read(WORKED),
    attachments: read([ATTACHED]),
    listed: true,
    memory: NOTHING_HELD,
    ...change,
  };
}

function inBrief(verdict: HoldVerdict): string {
  return `${verdict.kind} ${verdict.rule}`;
}

/** Looks of one hold, one after the other, each with the memory of those before. */
function holdThrough(looks: readonly Partial<HoldObservation>[]): readonly string[] {
  let memory = NOTHING_HELD;
  return looks.map((change) => {
    const observation = look({ ...change, memory });
    const verdict = hold(observation);
    memory = rememberHold(observation, verdict);
    return inBrief(verdict);
  });
}

describe("H1: on a node that stays, the hook answers at once", () => {
  it.each<[string, HeldNode]>([
    ["a healthy node", NODE],
    [
      "C29, an ordinary rolling update: `work` is another boot's",
      { ...NODE, work: formatWork({ ...WORK, bootID: "b" }) },
    ],
    [
      "a node that is not ready",
      { ...NODE, ready: { ...NODE.ready, status: "False", message: "runtime down" } },
    ],
  ])("%s", (_, node) => {
    const verdict = hold(look({ at: START, node: read(node) }));
    expect(verdict).toMatchObject({ kind: "release", rule: "H1", detached: false, left: ["csi-1"] });
  });
});

describe("H2: on a node that goes away, the hook holds while a volume is attached", () => {
  it.each<[string, HeldNode | null]>([
    ["open work", WORKED],
    ["a plain cordon of the pod's own revision", CORDONED],
    ["a drain taint", { ...NODE, taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] }],
    ["a Node being deleted", { ...NODE, deleting: true }],
    ["H7: a Node that is not there any more", null],
  ])("%s", (_, node) => {
    expect(inBrief(hold(look({ node: read(node) })))).toBe("hold H5");
    expect(inBrief(hold(look({ node: read(node), attachments: read([]) })))).toBe("release H5");
  });
});

describe("H3: a rollout on a cordoned node is a rollout", () => {
  const old = read({ ...DELETED, revision: "rev-1" });

  it("C29: answers at once where the pod's revision is not the newest", () => {
    const verdict = hold(look({ at: START, node: read(CORDONED), pod: old }));
    expect(inBrief(verdict)).toBe("release H3");
  });

  it.each<[string, Partial<HoldObservation>]>([
    ["the revision is the newest", { pod: read(DELETED) }],
    ["there is no right to list revisions", { pod: old, newestRevision: UNREAD }],
    ["the revisions cannot be read", { pod: old, newestRevision: FAILED }],
    ["the pod's revision is unknown", { pod: read({ deleting: true }) }],
    ["there is open work too", { pod: old, node: read(WORKED) }],
    [
      "there is a drain taint too",
      {
        pod: old,
        node: read({ ...CORDONED, taints: [{ key: "karpenter.sh/disrupted", effect: "NoSchedule" }] }),
      },
    ],
    ["the Node is being deleted too", { pod: old, node: read({ ...CORDONED, deleting: true }) }],
  ])("holds where %s", (_, change) => {
    expect(inBrief(hold(look({ node: read(CORDONED), ...change })))).toBe("hold H5");
  });
});

describe("H4: where the pod is not deleted, the kubelet itself is stopping something", () => {
  const living = read({ deleting: false, revision: "rev-2" });

  it.each<[string, Reading<OwnPod | null>]>([
    ["has no deletionTimestamp", living],
    ["cannot be read", FAILED],
  ])("looks for a second what it is when the pod %s, even on a node that goes away", (_, pod) => {
    const early = { pod, hooks: { arrived: 1, expected: 2 } };
    expect(hold(look({ ...early, at: START + 999 }))).toMatchObject({
      kind: "hold",
      rule: "H4",
      againSeconds: 0.1,
    });
    expect(inBrief(hold(look({ ...early, at: START + 1_000 })))).toBe("release H4");
  });

  it("leaves it to H1 to H3 once all hooks have arrived", () => {
    const at = START + 1_000;
    expect(inBrief(hold(look({ pod: living, at })))).toBe("hold H5");
    expect(inBrief(hold(look({ pod: living, at, node: read(NODE) })))).toBe("release H1");
    const outdated = read({ deleting: false, revision: "rev-1" });
    expect(inBrief(hold(look({ pod: outdated, at, node: read(CORDONED) })))).toBe("release H3");
  });

  it("holds at once where the node shuts down, also for a hook alone", () => {
    const node = read({ ...SHUTTING_DOWN, volumesInUse: [IN_USE] });
    const verdict = hold(look({ at: START, pod: living, node, hooks: { arrived: 1, expected: 2 } }));
    expect(inBrief(verdict)).toBe("hold H5");
  });

  it("sees a shutdown that the Node says only after the first look", () => {
    const node = read({ ...SHUTTING_DOWN, volumesInUse: [IN_USE] });
    const looks = [
      { at: START, pod: living, node: read(NODE) },
      { at: START + 100, pod: living, node },
      { at: START + 1_500, pod: living, node },
    ];
    expect(holdThrough(looks)).toEqual(["hold H4", "hold H5", "hold H5"]);
  });

  it.each<[string, Reading<OwnPod | null>]>([
    ["a deleted pod", read(DELETED)],
    ["a pod that is gone already", read(null)],
  ])("never delays the rollout of %s, however few hooks have arrived", (_, pod) => {
    const change = { at: START, pod, node: read(NODE), hooks: { arrived: 1, expected: 2 } };
    expect(inBrief(hold(look(change)))).toBe("release H1");
  });

  it("does not take a drain for a restart because the pod cannot be read later", () => {
    const hooks = { arrived: 1, expected: 2 };
    expect(holdThrough([{ hooks }, { hooks, pod: FAILED }])).toEqual(["hold H5", "hold H5"]);
  });
});

describe("H5: the hook holds until no attachment that counts is left", () => {
  it.each<[string, readonly HeldAttachment[], string]>([
    ["a volume", [ATTACHED], "hold H5"],
    ["C25, only another driver's volume", [{ ...ATTACHED, attacher: "nfs.csi.example.com" }], "release H5"],
    ["only a node-local volume", [{ ...ATTACHED, local: true }], "release H5"],
    ["only a volume that `work` ignores", [{ ...ATTACHED, name: "csi-pinned" }], "release H5"],
    ["an ignored volume and another one", [{ ...ATTACHED, name: "csi-pinned" }, ATTACHED], "hold H5"],
    ["nothing", [], "release H5"],
  ])("%s", (_, attachments, expected) => {
    const node = read({ ...CORDONED, work: formatWork({ ...WORK, ignore: ["csi-pinned"] }) });
    expect(inBrief(hold(look({ node, attachments: read(attachments) })))).toBe(expected);
  });

  it("C1: says so, and that H5 was met, when the last one is gone", () => {
    expect(hold(look({ attachments: read([]) }))).toEqual({
      kind: "release",
      rule: "H5",
      reason: "no attachment of the node is left",
      detached: true,
      left: [],
    });
  });

  it("does not believe an empty watch before a list was read to its end", () => {
    expect(inBrief(hold(look({ attachments: read([]), listed: false })))).toBe("hold H5");
  });

  it("names what it waits for, five at most", () => {
    const many = Array.from({ length: 7 }, (_, index) => ({ ...ATTACHED, name: `csi-${index}` }));
    expect(hold(look({ attachments: read(many) }))).toMatchObject({
      reason: "attached: csi-0, csi-1, csi-2, csi-3, csi-4 and 2 more",
    });
  });

  it("goes on ignoring what `work` named when the Node is gone or cannot be read", () => {
    const node = read({ ...CORDONED, work: formatWork({ ...WORK, ignore: ["csi-1"] }) });
    const first = { node, attachments: read([ATTACHED, { ...ATTACHED, name: "csi-2" }]) };
    expect(holdThrough([first, { node: FAILED }])).toEqual(["hold H5", "release H5"]);
    expect(holdThrough([first, { node: read(null) }])).toEqual(["hold H5", "release H5"]);
  });

  it("ignores nothing any more once `work` ignores nothing any more", () => {
    const node = read({ ...CORDONED, work: formatWork({ ...WORK, ignore: ["csi-1"] }) });
    const first = { node, attachments: read([ATTACHED, { ...ATTACHED, name: "csi-2" }]) };
    expect(holdThrough([first, { node: read(WORKED) }])).toEqual(["hold H5", "hold H5"]);
    expect(holdThrough([first, { node: read({ ...NODE, deleting: true }) }])).toEqual(["hold H5", "hold H5"]);
  });
});

describe("H5 in a kubelet shutdown has two phases", () => {
  const mounted = read({ ...SHUTTING_DOWN, volumesInUse: [IN_USE] });
  const unmounted = read(SHUTTING_DOWN);

  it("first never lets go by choice while volumesInUse lists a managed volume, attached or not", () => {
    for (const attachments of [read([ATTACHED]), read([]), FAILED]) {
      expect(inBrief(hold(look({ node: mounted, attachments })))).toBe("hold H5");
    }
  });

  it("then leaves the detach to the control plane and says so", () => {
    expect(hold(look({ node: unmounted }))).toMatchObject({
      kind: "release",
      rule: "H5",
      detached: false,
      left: ["csi-1"],
      reason: expect.stringContaining("to the control plane is left: attached: csi-1") as string,
    });
    expect(hold(look({ node: unmounted, attachments: FAILED }))).toMatchObject({
      kind: "release",
      detached: false,
      reason: expect.stringContaining("attachments that cannot be read") as string,
    });
  });

  it("is met in full where nothing is attached either", () => {
    expect(hold(look({ node: unmounted, attachments: read([]) }))).toMatchObject({
      kind: "release",
      detached: true,
      reason: "the node shuts down and no volume is in use any more",
    });
    expect(hold(look({ node: unmounted, attachments: read([]), listed: false }))).toMatchObject({
      kind: "release",
      detached: false,
    });
  });

  it.each([
    "kubernetes.io/csi/nfs.csi.example.com^share",
    "kubernetes.io/csi/ebs.csi.aws.com^local-ebs://x",
    "odd",
  ])("does not wait for %s, which is no EBS volume of ours", (name) => {
    const node = read({ ...SHUTTING_DOWN, volumesInUse: [name] });
    expect(inBrief(hold(look({ node })))).toBe("release H5");
  });

  it("waits for the attachments where the Node, and with it volumesInUse, is gone", () => {
    expect(holdThrough([{ node: mounted }, { node: read(null) }])).toEqual(["hold H5", "hold H5"]);
    expect(holdThrough([{ node: mounted }, { node: read(null), attachments: read([]) }])).toEqual([
      "hold H5",
      "release H5",
    ]);
  });

  it("holds while the Node cannot be read, although nothing seems attached", () => {
    expect(holdThrough([{ node: mounted }, { node: FAILED, attachments: read([]) }])).toEqual([
      "hold H5",
      "hold H7",
    ]);
  });

  it.each<[string, HeldNode, OwnPod]>([
    ["H1, a node that looks healthy again", { ...NODE, volumesInUse: [IN_USE] }, DELETED],
    ["H3, a rollout", { ...CORDONED, volumesInUse: [IN_USE] }, { ...DELETED, revision: "rev-1" }],
    ["H6, `work` withdrawn", { ...CORDONED, volumesInUse: [IN_USE] }, DELETED],
  ])("outweighs %s, for the rest of this hold", (_, node, pod) => {
    const first = { node: read({ ...WORKED, ready: SHUTTING_DOWN.ready, volumesInUse: [IN_USE] }) };
    const later = { node: read(node), pod: read(pod) };
    expect(holdThrough([first, later, later])).toEqual(["hold H5", "hold H5", "hold H5"]);
  });
});

describe("H6: called off while holding", () => {
  it.each<[string, HeldNode, HeldNode, string]>([
    ["`work` and its cordon are withdrawn", WORKED, NODE, "release H6"],
    ["`work` is withdrawn from a cordon that somebody else set", WORKED, CORDONED, "release H6"],
    ["a node that never had `work` is uncordoned", CORDONED, NODE, "release H6"],
    [
      "`work` stays though somebody uncordons the node (D5 asserts it again)",
      WORKED,
      { ...WORKED, unschedulable: false },
      "hold H5",
    ],
    ["`work` is withdrawn, but the Node is being deleted", WORKED, { ...NODE, deleting: true }, "hold H5"],
    [
      "`work` is withdrawn, but an autoscaler has tainted the node",
      WORKED,
      { ...CORDONED, taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] },
      "hold H5",
    ],
  ])("%s", (_, before, after, expected) => {
    expect(holdThrough([{ node: read(before) }, { node: read(after) }])).toEqual(["hold H5", expected]);
  });

  it("is told from H1 by what was held before, over looks that could not read the Node too", () => {
    expect(holdThrough([{ node: read(CORDONED) }, { node: FAILED }, { node: read(NODE) }])).toEqual([
      "hold H5",
      "hold H7",
      "release H6",
    ]);
    expect(holdThrough([{ node: FAILED }, { node: read(NODE) }])).toEqual(["hold H7", "release H1"]);
  });
});

describe("H7: trouble is not the end", () => {
  it.each<[string, Partial<HoldObservation>, string]>([
    ["the Node cannot be read", { node: FAILED }, "hold H7"],
    ["the attachments cannot be read", { attachments: FAILED }, "hold H7"],
    ["nothing can be read", { node: FAILED, attachments: FAILED, pod: FAILED }, "hold H7"],
    [
      "C35: the Node is forbidden, and a complete list shows nothing",
      { node: FAILED, attachments: read([]) },
      "release H5",
    ],
  ])("%s", (_, change, expected) => {
    expect(inBrief(hold(look(change)))).toBe(expected);
  });
});

describe("H8: the hook's own deadline", () => {
  const base = { startedAt: START, configuredGrace: 40, criticalBudget: 30, shuttingDown: false };

  it.each([
    ["the pod's own grace less 3 s", { ...base, podGrace: 90 }, 87],
    ["the configured grace less 3 s where the pod cannot be read", base, 37],
    ["the critical pods' budget less 3 s in a shutdown", { ...base, podGrace: 90, shuttingDown: true }, 27],
    [
      "the grace less 3 s in a shutdown where that is shorter",
      { ...base, podGrace: 20, shuttingDown: true },
      17,
    ],
    ["at once where there are no 3 s", { ...base, podGrace: 2 }, 0],
  ])("is %s", (_, of, seconds) => {
    expect(holdDeadline(of)).toBe(START + seconds * 1_000);
  });

  it("releases at the deadline and reports what remains", () => {
    expect(inBrief(hold(look({ at: START + 56_999 })))).toBe("hold H5");
    expect(hold(look({ at: START + 57_000 }))).toMatchObject({
      kind: "release",
      rule: "H8",
      detached: false,
      left: ["csi-1"],
      reason: expect.stringContaining("csi-1") as string,
    });
  });

  it("looks again no later than the deadline", () => {
    expect(hold(look({ at: START + 56_500 }))).toMatchObject({ kind: "hold", againSeconds: 0.5 });
  });

  it("comes earlier in a shutdown, from the look that sees it", () => {
    const node = read({ ...SHUTTING_DOWN, volumesInUse: [IN_USE] });
    const at = START + 27_000;
    expect(holdThrough([{ at }, { at, node }, { at, node: FAILED }])).toEqual([
      "hold H5",
      "release H8",
      "release H8",
    ]);
  });

  it("is not H5 in a shutdown that still lists a mount, though nothing is attached any more", () => {
    const node = read({ ...SHUTTING_DOWN, volumesInUse: [IN_USE] });
    expect(hold(look({ at: START + 27_000, node, attachments: read([]) }))).toMatchObject({
      rule: "H8",
      detached: false,
    });
  });

  it("keeps the pod's grace when the pod cannot be read any more", () => {
    const at = START + 70_000;
    const pod = read({ ...DELETED, graceSeconds: 90 });
    expect(holdThrough([{ pod }, { at, pod: FAILED }])).toEqual(["hold H5", "hold H5"]);
  });

  it("prefers a better reason where there is one", () => {
    const at = START + 57_000;
    expect(inBrief(hold(look({ at, attachments: read([]) })))).toBe("release H5");
    expect(inBrief(hold(look({ at, node: read(NODE) })))).toBe("release H1");
  });
});

describe("any course of a hold", () => {
  const nodes: readonly (HeldNode | null)[] = [
    null,
    NODE,
    CORDONED,
    WORKED,
    { ...WORKED, volumesInUse: [IN_USE] },
    { ...SHUTTING_DOWN, volumesInUse: [IN_USE] },
    { ...NODE, deleting: true },
    { ...NODE, volumesInUse: [IN_USE] },
    SHUTTING_DOWN,
  ];
  const lookChange = fc.record({
    at: fc.integer({ min: START, max: START + 120_000 }),
    node: fc.oneof(fc.constantFrom(...nodes).map(read), fc.constantFrom(FAILED, UNREAD)),
    pod: fc.constantFrom<Reading<OwnPod | null>>(
      FAILED,
      read(null),
      read(DELETED),
      read({ deleting: false, revision: "rev-1" }),
      read({ deleting: true, graceSeconds: 10 }),
    ),
    newestRevision: fc.constantFrom<Reading<string>>(read("rev-2"), UNREAD, FAILED),
    hooks: fc.record({ arrived: fc.integer({ min: 1, max: 2 }), expected: fc.constant(2) }),
    attachments: fc.constantFrom<Reading<readonly HeldAttachment[]>>(
      FAILED,
      UNREAD,
      read([]),
      read([ATTACHED]),
      read([{ ...ATTACHED, local: true }]),
    ),
    listed: fc.boolean(),
  });
  const course = fc
    .array(lookChange, { minLength: 1, maxLength: 8 })
    .map((looks) => looks.sort((one, other) => one.at - other.at));

  interface Step {
    readonly observation: HoldObservation;
    readonly verdict: HoldVerdict;
  }

  /** The course up to its first release. */
  function follow(looks: readonly Partial<HoldObservation>[]): readonly Step[] {
    const steps: Step[] = [];
    let memory = NOTHING_HELD;
    for (const change of looks) {
      const observation = look({ ...change, memory });
      const verdict = hold(observation);
      steps.push({ observation, verdict });
      if (verdict.kind === "release") break;
      memory = rememberHold(observation, verdict);
    }
    return steps;
  }

  function isInShutdown({ observation, verdict }: Step): boolean {
    return rememberHold(observation, verdict).shuttingDown;
  }

  it("remembers a shutdown for good, and then releases by H5 or H8 alone", () => {
    fc.assert(
      fc.property(course, (looks) => {
        const steps = follow(looks);
        const first = steps.findIndex(isInShutdown);
        const shutdown = first === -1 ? [] : steps.slice(first);
        expect(shutdown.every(isInShutdown)).toBe(true);
        for (const { verdict } of shutdown) {
          expect(["hold H5", "hold H7", "release H5", "release H8"]).toContain(inBrief(verdict));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("never lets go by choice while a shutdown's volumesInUse lists a managed volume", () => {
    fc.assert(
      fc.property(course, (looks) => {
        const risky = follow(looks).filter(
          (step) =>
            isInShutdown(step) &&
            step.observation.node.kind === "read" &&
            step.observation.node.value?.volumesInUse.includes(IN_USE) === true,
        );
        for (const { verdict } of risky) expect(["hold H5", "release H8"]).toContain(inBrief(verdict));
      }),
      { numRuns: 2_000 },
    );
  });

  it("never hangs: a hold looks again, at its deadline at the latest, and there it always releases", () => {
    fc.assert(
      fc.property(course, (looks) => {
        for (const { observation, verdict } of follow(looks)) {
          const wait = verdict.kind === "hold" ? verdict.againSeconds : 0;
          expect(verdict.kind === "release" || wait > 0).toBe(true);
          // No grace in these courses is longer than 60 s, 3 s of which are kept.
          expect(observation.at + wait * 1_000).toBeLessThanOrEqual(Math.max(observation.at, START + 57_000));
          const late = { ...observation, at: START + 57_000 };
          expect(hold(late).kind).toBe("release");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("says that H5 was met only where a complete list shows nothing that counts", () => {
    fc.assert(
      fc.property(course, (looks) => {
        const met = follow(looks).filter(({ verdict }) => verdict.kind === "release" && verdict.detached);
        for (const { observation } of met) {
          expect(observation.listed).toBe(true);
          expect([read([]), read([{ ...ATTACHED, local: true }])]).toContainEqual(observation.attachments);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("is JSON: an observation that was logged replays its verdict", () => {
    fc.assert(
      fc.property(course, (looks) => {
        for (const { observation, verdict } of follow(looks)) {
          const logged = JSON.parse(JSON.stringify(observation)) as HoldObservation;
          expect(hold(logged)).toEqual(verdict);
        }
      }),
    );
  });
});

/** The type that the hook's process fills from a NodeView. */
it("takes a NodeView as it is", () => {
  const view: NodeView = {
    ...WORKED,
    name: "node-a",
    uid: "u",
    resourceVersion: "1",
    hasAnnotations: true,
    work: formatWork(WORK),
  };
  expect(inBrief(hold(look({ node: read(view) })))).toBe("hold H5");
});
