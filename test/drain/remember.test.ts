import { describe, expect, it } from "vitest";
import type { Action, Decision } from "../../lib/drain/decision.ts";
import { decide } from "../../lib/drain/decide.ts";
import { type Memory, initialMemory } from "../../lib/drain/memory.ts";
import { type Observation, UNREAD } from "../../lib/drain/observation.ts";
import { type Remembered, remember } from "../../lib/drain/remember.ts";
import type { ActionResult } from "../../lib/drain/results.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import {
  NODE,
  NOW,
  ROOT,
  TOKEN,
  attachment,
  claim,
  deadMachine,
  drained,
  ec2Attachment,
  failed,
  firstLook,
  instance,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
  row,
  untouchedNode,
  volumes,
  work,
} from "./observation-builder.ts";

/** Decides, lets every action succeed but those that `refuse` names, and remembers. */
function after(
  seen: Observation,
  refuse: Partial<Record<Action["kind"], string>> = {},
  more: (action: Action) => Partial<ActionResult> = () => ({}),
): Remembered & { readonly decision: Decision } {
  const decision = decide(seen, policy());
  const results = decision.actions.map((action): ActionResult => {
    const cause = refuse[action.kind];
    return {
      action,
      ...(cause === undefined ? {} : { failure: { operation: action.kind, cause, message: cause } }),
      ...more(action),
    };
  });
  return { ...remember(seen, decision, results, policy()), decision };
}

describe("what a look remembers of the Node", () => {
  it("its name, its uid, the boot that was verified, and EC2's name for it", () => {
    const { memory } = after(firstLook());
    expect(memory).toMatchObject({
      looks: 1,
      node: { name: NODE, uid: "node-uid" },
      verifiedBoot: "boot-1",
      dnsName: NODE,
      rootDevice: "/dev/xvda",
      machineSeen: true,
    });
  });

  it("EC2's name although EC2 forgets it once the instance terminates", () => {
    const later = observation({
      instance: read(instance({ privateDnsName: "" })),
      memory: { dnsName: NODE },
    });
    expect(after(later).memory.dnsName).toBe(NODE);
  });

  it("counts look-ups that found none, and a list of Nodes only where it was answered (D4, C10)", () => {
    const none = firstLook({ node: read(null), csiNode: UNREAD, calls: { "kubernetes.listNodes": 1 } });
    expect(after(none).memory).toMatchObject({ lookups: 1, nodesListed: true });
    const unanswered = { ...none, node: failed("kubernetes.listNodes") };
    expect(after(unanswered).memory).toMatchObject({ lookups: 0, nodesListed: false });
  });

  it("takes a machine's name from its attachments where nothing else tells it (D14)", () => {
    const dead = deadMachine({ rows: read([row("vol-1", { nodeName: "old-node" })]), node: read(null) });
    const { node: _none, ...rest } = dead.memory;
    expect(after({ ...dead, memory: rest }).memory.node).toEqual({ name: "old-node", uid: "" });
  });
});

describe("when the cordon counts as confirmed (D10, D12)", () => {
  const uncordoned = (differs: Parameters<typeof firstLook>[0] = {}): Observation => firstLook(differs);

  it("with the patch's answer", () => {
    expect(after(uncordoned()).memory.cordonedAt).toBe(NOW);
    expect(after(uncordoned(), { "patch-node": "conflict" }).memory.cordonedAt).toBeUndefined();
  });

  it("with a Node that carries cordon and order already, such as after a crash", () => {
    const there = uncordoned({ node: read(node()) });
    expect(after(there).memory.cordonedAt).toBe(NOW);
    const theirs = uncordoned({ node: read(untouchedNode({ unschedulable: true })) });
    expect(after(theirs, { "patch-node": "conflict" }).memory.cordonedAt).toBeUndefined();
  });

  it("anew each time that it had to be asserted again", () => {
    const again = observation({ node: read(node({ unschedulable: false })) });
    expect(after(again).memory.cordonedAt).toBe(NOW);
  });

  it("with being sure that there is no Node, and not before", () => {
    const missing = (lookups: number, nodesListed: boolean): Observation =>
      firstLook({ node: read(null), csiNode: UNREAD, memory: { lookups, nodesListed } });
    expect(after(missing(1, true)).memory.cordonedAt).toBe(NOW);
    expect(after(missing(0, true)).memory.cordonedAt).toBeUndefined();
    expect(after(missing(1, false)).memory.cordonedAt).toBeUndefined();
    const vanished = firstLook({
      node: read(null),
      csiNode: UNREAD,
      memory: { node: { name: NODE, uid: "u" } },
    });
    expect(after(vanished).memory.cordonedAt).toBe(NOW);
  });
});

describe("what a look remembers of attachments and volumes", () => {
  it("names that are there, names in the list, and no name that was read and is gone", () => {
    const seen = observation({
      attachments: read([attachment("vol-1")]),
      rows: read([row("vol-1"), row("vol-3")]),
      volumes: volumes("vol-1"),
      memory: { attachments: ["csi-vol-1", "csi-vol-2"] },
    });
    expect(after(seen).memory.attachments).toEqual(["csi-vol-1", "csi-vol-3"]);
    const unread = { ...seen, attachments: failed("kubernetes.getAttachment"), rows: UNREAD };
    expect(after(unread).memory.attachments).toEqual(["csi-vol-1", "csi-vol-2"]);
  });

  it("every managed handle ever attached here: EC2 may hold it when Kubernetes has let go (D11)", () => {
    const seen = observation({
      attachments: read([attachment("vol-1"), attachment("x", { attacher: "nfs.csi.k8s.io" })]),
      volumes: volumes("vol-1", "x"),
      memory: { handles: ["vol-0"] },
    });
    expect(after(seen).memory.handles).toEqual(["vol-0", "vol-1"]);
  });

  it("how many lists there were, when the last was, and whether it found anything new (I11)", () => {
    const seen = observation({
      rows: read([row("vol-1")]),
      memory: { attachments: ["csi-vol-1"], lists: { count: 1, at: 0, foundNew: true } },
    });
    expect(after(seen).memory.lists).toEqual({ count: 2, at: NOW, foundNew: false });
    expect(after({ ...seen, rows: read([row("vol-9")]) }).memory.lists.foundNew).toBe(true);
    const broken = after({ ...seen, rows: failed("kubernetes.listAttachmentRows") }).memory.lists;
    expect(broken).toEqual({ count: 1, at: 0, foundNew: true, failedAt: NOW });
  });
});

describe("what a look remembers of pods", () => {
  const evictable = observation({ pods: read([pod("web"), pod("api")]) });

  it("each answer by uid, and whose pods agreed to go (D8)", () => {
    const { memory } = after(evictable, {}, (action) =>
      action.kind === "evict"
        ? {
            evictions: {
              "uid-of-web": { outcome: "accepted" },
              "uid-of-api": { outcome: "budget", budget: "shop/api-pdb" },
            },
          }
        : {},
    );
    expect(memory.evictions).toEqual({
      "uid-of-web": { outcome: "accepted", at: NOW, pod: "shop/web" },
      "uid-of-api": { outcome: "budget", budget: "shop/api-pdb", at: NOW, pod: "shop/api" },
    });
    expect(memory.evictedControllers).toEqual(["shop/ReplicaSet/web-set"]);
  });

  it("nothing of a pod that was not asked in a round that was cut short, but to slow down (D7)", () => {
    const cut = after(evictable, { evict: "throttled" }, (action) =>
      action.kind === "evict" ? { evictions: { "uid-of-web": { outcome: "failed" } } } : {},
    );
    expect(Object.keys(cut.memory.evictions)).toEqual(["uid-of-web"]);
    expect(cut.memory.blindLooks).toBe(1);
    expect(after({ ...evictable, memory: cut.memory }).memory.blindLooks).toBe(0);
  });

  it("that the machine was seen without evictable pods once it was cordoned (D17)", () => {
    expect(after(observation()).memory.emptied).toBe(true);
    expect(after(evictable).memory.emptied).toBe(false);
    expect(after(observation({ pods: failed("kubernetes.listPodsOnNode") })).memory.emptied).toBe(false);
    expect(after(firstLook()).memory.emptied).toBe(false);
    expect(after({ ...evictable, memory: { ...evictable.memory, emptied: true } }).memory.emptied).toBe(true);
  });
});

describe("what a look remembers of the action", () => {
  const due = observation({ memory: { beat: { at: NOW - 200 * SECOND, ok: true } } });

  it("its last beat, and one that failed without losing when the last good one was (C19)", () => {
    expect(after(due).memory.beat).toEqual({ at: NOW, ok: true });
    expect(after(due, { heartbeat: "throttled" }).memory.beat).toEqual({ at: NOW - 200 * SECOND, ok: false });
  });

  it("that it is over, as a beat or the completion is told (C18)", () => {
    expect(after(due, { heartbeat: "no-active-action" }).memory.action).toBe("over");
    expect(after(drained(), { complete: "no-active-action" }).memory.action).toBe("over");
    expect(after(drained()).memory.action).toBe("completed");
  });

  it.each(["network", "server"])("that a completion's answer was lost: %s (C20)", (cause) => {
    expect(after(drained(), { complete: cause }).memory).toMatchObject({
      action: "open",
      completion: "lost",
    });
  });

  it.each(["throttled", "forbidden"])("nothing of a completion that was refused: %s", (cause) => {
    expect(after(drained(), { complete: cause }).memory).toMatchObject({
      action: "open",
      completion: "none",
    });
  });

  it("the hand-over, from its result or from the Node (D10)", () => {
    const handed = formatWork(work(lifecycleTask(), { handedOver: "uid", token: TOKEN }));
    expect(after(observation({ node: read(node({ work: handed })) })).memory.handedOver).toBe("uid");
    const another = formatWork(work(lifecycleTask({ id: "lifecycle-i-0-0-1" }), { handedOver: "uid" }));
    expect(after(observation({ node: read(node({ work: another })) })).memory.handedOver).toBeUndefined();
  });
});

describe("the agreement of two looks (D12)", () => {
  it("lasts to the very next look", () => {
    const first = after(drained({ memory: { agreed: "" } }));
    expect(first.memory.agreed).toBe("D12");
    const broken = after({ ...observation({ pods: read([pod("late")]) }), memory: first.memory });
    expect(broken.memory.agreed).toBe("");
  });
});

describe("EC2 reads (I12)", () => {
  it("are counted, and come further apart once the free ones are spent", () => {
    const seen = (ec2Reads: number, ec2Volumes: Observation["ec2Volumes"] = read([ROOT])): Memory =>
      after(observation({ ec2Volumes, calls: { "ec2.listAttachedVolumes": 1 }, memory: { ec2Reads } }))
        .memory;
    expect(seen(2)).toMatchObject({ ec2Reads: 3, ec2NotBefore: NOW + SECOND });
    expect(seen(7)).toMatchObject({ ec2Reads: 8, ec2NotBefore: NOW + 8 * SECOND });
    expect(seen(40)).toMatchObject({ ec2NotBefore: NOW + 30 * SECOND });
    expect(seen(3, failed("x", "throttled"))).toMatchObject({ ec2NotBefore: NOW + 16 * SECOND });
  });
});

describe("when the work ends", () => {
  it("only if what it depends on was done", () => {
    expect(after(drained()).next).toMatchObject({ kind: "done", outcome: "completed" });
    expect(after(drained(), { complete: "throttled" }).next).toEqual({ kind: "again", inSeconds: 2 });
    expect(after(drained(), { event: "forbidden", metric: "x" }).next).toMatchObject({ kind: "done" });
  });

  it("not while a call-off's patch is not through (I8)", () => {
    const off = observation({
      member: read({ instance: lifecycleTask().instance, group: "g", lifecycleState: "InService" }),
      instance: read(instance()),
      memory: { action: "over" },
    });
    expect(after(off, { "patch-node": "conflict" }).next).toEqual({ kind: "again", inSeconds: 2 });
    expect(after(off).next).toMatchObject({ kind: "done", outcome: "called-off" });
  });

  it("a failed cordon is tried again within a second, and an action that is over looked into at once", () => {
    expect(after(firstLook(), { "patch-node": "conflict" }).next).toEqual({ kind: "again", inSeconds: 1 });
    const beat = { at: NOW - 200 * SECOND, ok: true };
    const moving = observation({ pods: read([pod("web", { deleting: true })]), memory: { beat } });
    const { mark } = after(moving).memory.progress;
    const stuck = { ...moving, memory: { ...moving.memory, progress: { mark, at: NOW - 600 * SECOND } } };
    expect(after(stuck).next).toMatchObject({ inSeconds: 30 });
    expect(after(stuck, { heartbeat: "no-active-action" }).next).toEqual({ kind: "again", inSeconds: 1 });
    expect(after(stuck, { heartbeat: "throttled" }).next).toEqual({ kind: "again", inSeconds: 5 });
  });
});

describe("progress (C37)", () => {
  const stuck = (differs: Parameters<typeof observation>[0] = {}): Observation =>
    observation({ pods: read([pod("web", { deleting: true })]), ...differs });
  const marked = after(stuck()).memory;

  it("is a pod that goes or starts to go, or a volume whose verdict changes", () => {
    const moved = (differs: Parameters<typeof observation>[0]): boolean =>
      after({ ...stuck(differs), at: NOW + 60 * SECOND, memory: marked }).memory.progress.at > NOW;
    expect(moved({})).toBe(false);
    expect(moved({ pods: read([]) })).toBe(true);
    expect(moved({ pods: read([pod("web")]) })).toBe(true);
    expect(moved({ attachments: read([attachment("vol-1")]), volumes: volumes("vol-1") })).toBe(true);
  });
});

describe("after a standstill", () => {
  it("the next look comes as soon as anything moves", () => {
    const blocked = observation({
      pods: read([pod("web", { deleting: true }), pod("api", { deleting: true })]),
      memory: { beat: { at: NOW, ok: true } },
    });
    const { mark } = after(blocked).memory.progress;
    const still = { ...blocked.memory, progress: { mark, at: NOW - 600 * SECOND } };
    expect(after({ ...blocked, memory: still }).next).toEqual({ kind: "again", inSeconds: 30 });
    const moved = { ...blocked, pods: read([pod("api", { deleting: true })]), memory: still };
    expect(after(moved).next).toEqual({ kind: "again", inSeconds: 2 });
  });
});

describe("an Event", () => {
  it("is remembered once written, and not where writing it failed", () => {
    expect(after(firstLook()).memory.reported).toEqual(["DrainStarted"]);
    expect(after(firstLook(), { event: "forbidden" }).memory.reported).toEqual([]);
  });
});

describe("the memory", () => {
  it("is plain JSON and small, also for a node full of pods that budgets hold back", () => {
    const names = Array.from({ length: 110 }, (_, index) => `a-pod-with-a-long-name-${index}`);
    const budgets = (round: number): ActionResult["evictions"] =>
      Object.fromEntries(
        names.map((name, index) => [
          `uid-of-${name}`,
          index < round ? { outcome: "accepted" } : { outcome: "budget", budget: `shop/${index % 7}` },
        ]),
      );
    let memory = initialMemory(NOW);
    for (let round = 0; round < names.length; round++) {
      const pods = names.slice(round).map((name, index) => pod(name, { claims: [`data-${index}`] }));
      const handles = names.slice(0, 40).map((_, index) => `vol-${String(index).padStart(17, "0")}`);
      const seen: Observation = {
        ...observation({
          pods: read(pods),
          attachments: read(handles.map((handle) => attachment(handle))),
          volumes: volumes(...handles),
          claims: Object.assign(
            {},
            ...handles.map((handle, index) => claim(`data-${index}`, handle)),
          ) as Observation["claims"],
          ec2Volumes: read(handles.map((handle) => ec2Attachment(handle))),
        }),
        at: NOW + round * 30 * SECOND,
        memory,
      };
      const kept = after(seen, {}, (action) =>
        action.kind === "evict" ? { evictions: budgets(round) ?? {} } : {},
      );
      memory = kept.memory;
    }
    const text = JSON.stringify(memory);
    expect(JSON.parse(text)).toEqual(memory);
    expect(text.length).toBeLessThan(48_000);
  });
});
