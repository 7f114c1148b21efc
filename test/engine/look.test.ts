/** Whole runs, look by look, on a small world in memory. */
import { describe, expect, it } from "vitest";
import { initialMemory } from "../../lib/drain/memory.ts";
import type { LifecycleTask } from "../../lib/drain/task.ts";
import { workId } from "../../lib/drain/task.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { readWork } from "../../lib/drain/work-order.ts";
import { look } from "../../lib/engine/look.ts";
import {
  INSTANCE,
  NODE,
  NOW,
  OTHER_INSTANCE,
  TOKEN,
  attachment,
  daemonPod,
  goneTask,
  hookPod,
  instance,
  lifecycleTask,
  node,
  pod,
  policy,
  spotTask,
  untouchedNode,
} from "../drain/observation-builder.ts";
import { type Run, SmallWorld, run } from "./small-world.ts";

const task = lifecycleTask({ at: NOW });

/** Two databases with a volume each, a web server, a DaemonSet's pod. */
function busyNode(): SmallWorld {
  const world = new SmallWorld();
  world.pods = [
    pod("database-0", { claims: ["data-0"] }),
    pod("database-1", { claims: ["data-1"] }),
    pod("web"),
    daemonPod("logs"),
  ];
  world.attach("vol-0", "data-0");
  world.attach("vol-1", "data-1");
  return world;
}

function outcomeOf({ looks }: Run): string {
  const next = looks.at(-1)?.next;
  return next?.kind === "done" ? next.outcome : "not done";
}

function ec2Reads(world: SmallWorld): number {
  return world.calls.filter(({ method }) => method.startsWith("ec2.")).length;
}

/** The hook in the CSI node pod: after a hand-over it completes as soon as no attachment is left. */
function hookCompletes(world: SmallWorld): void {
  const work = readWork(world.nodes.get(NODE) ?? node());
  if (work.kind === "open" && work.work.handedOver !== undefined && world.attachments.length === 0) {
    world.actionIsOpen = false;
    world.results.push(`CONTINUE by the hook with ${work.work.token}`);
    world.member = { instance: INSTANCE, group: "workers-a", lifecycleState: "Terminating:Proceed" };
    return;
  }
  world.after(0.2, () => hookCompletes(world));
}

describe("an undisturbed drain", () => {
  it("cordons, beats, evicts those with volumes first, waits for both sources, and completes once", async () => {
    const world = busyNode();
    const made = await run(world, task);
    expect(outcomeOf(made)).toBe("completed");
    expect(world.changes()).toEqual([
      `patchNode ${NODE}`,
      "recordEvent DrainStarted",
      `heartbeat ${TOKEN}`,
      "evictPod shop/database-0",
      "evictPod shop/database-1",
      "evictPod shop/web",
      `complete CONTINUE ${TOKEN}`,
      "recordEvent VolumesDetached",
      "recordEvent DrainCompleted",
    ]);
    expect(world.attachments).toEqual([]);
  });

  it("asks EC2 at most six times, and lists the cluster's attachments twice and its Nodes never (I11, I12)", async () => {
    const world = busyNode();
    await run(world, task);
    expect(ec2Reads(world)).toBeLessThanOrEqual(6);
    expect(world.counts()["kubernetes.listAttachmentRows"]).toBe(2);
    expect(world.counts()).not.toHaveProperty("kubernetes.listNodes");
  });

  it("keeps to six also where pods take a minute, the kubelet its ten seconds and the detach fifteen", async () => {
    const world = busyNode();
    Object.assign(world, { stopsAfter: 60, unmountsAfter: 10, detachesAfter: 15 });
    expect(outcomeOf(await run(world, task))).toBe("completed");
    expect(ec2Reads(world)).toBeLessThanOrEqual(6);
    expect(world.counts()["kubernetes.listAttachmentRows"]).toBe(2);
  });

  it("makes per look no more requests than the node has pods and volumes, whatever the cluster's size (I11)", async () => {
    const world = busyNode();
    for (let index = 0; index < 500; index++) {
      world.attachments.push(
        attachment(`vol-x${index}`, { nodeName: `node-${index}`, name: `other-${index}` }),
      );
    }
    const { looks } = await run(world, task);
    for (const { observation } of looks) {
      const { "kubernetes.getAttachment": named = 0, ...rest } = observation.calls;
      expect(named).toBeLessThanOrEqual(4);
      expect(rest["kubernetes.getNode"]).toBe(1);
      expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(11);
    }
  });
});

describe("a drain with the hook on the node (D10)", () => {
  it("hands over once, and ends when the hook has completed: no alarm, no second completion", async () => {
    const world = busyNode();
    world.pods.push(hookPod());
    world.detachesAfter = 8;
    hookCompletes(world);
    const made = await run(world, task);
    expect(outcomeOf(made)).toBe("completed-by-hook");
    expect(world.results).toEqual([`CONTINUE by the hook with ${TOKEN}`]);
    expect(world.changes().filter((change) => change.startsWith("deletePod"))).toEqual([
      "deletePod kube-system/ebs-csi-node",
    ]);
    expect(world.metrics).not.toContain("CompletedByOther");
    expect(ec2Reads(world)).toBeLessThanOrEqual(7);
  });

  it("completes itself where the hook does not", async () => {
    const world = busyNode();
    world.pods.push(hookPod());
    world.detachesAfter = 8;
    expect(outcomeOf(await run(world, task))).toBe("completed");
    expect(world.results).toEqual(["CONTINUE"]);
  });

  it("never deletes a successor, also not when a look's memory was lost after its acts", async () => {
    const world = busyNode();
    world.pods.push(hookPod());
    world.detachesAfter = 60;
    const { looks } = await run(world, task, { seconds: 20 });
    const handing = looks.findIndex(({ decision }) => decision.rules.includes("D10"));
    const before = looks[handing - 1]?.memory;
    world.pods.push(hookPod({ uid: "the successor" }));
    await run(world, task, { seconds: 20, ...(before === undefined ? {} : { memory: before }) });
    expect(world.counts()["kubernetes.deletePod"]).toBe(1);
    expect(world.pods).toContainEqual(hookPod({ uid: "the successor" }));
  });
});

describe("D18: a dry run", () => {
  it.each([task, spotTask({ at: NOW, until: NOW + 2 * MINUTE }), goneTask({ at: NOW })])(
    "sees and decides the same as a real look, and changes nothing: $kind (C21, I7)",
    async (of) => {
      const dry = busyNode();
      const wet = busyNode();
      const planned = await look(of, initialMemory(NOW), policy(), dry.ports, { dryRun: true });
      const done = await look(of, initialMemory(NOW), policy(), wet.ports);
      expect(planned.decision).toEqual(done.decision);
      expect(planned.observation).toEqual(done.observation);
      expect(dry.changes()).toEqual([]);
      expect(dry.nodes).toEqual(busyNode().nodes);
      expect(dry.metrics).toEqual([]);
    },
  );

  it("changes nothing even where the decision is to complete (C21)", async () => {
    const rehearsal = await run(new SmallWorld(), task);
    const agreed = rehearsal.looks.find(({ memory }) => memory.agreed === "D12");
    const world = new SmallWorld();
    const seconds = ((agreed?.observation.at ?? 0) - NOW) / SECOND + 0.5;
    const { memory } = await run(world, task, { seconds });
    expect(memory.agreed).toBe("D12");
    const since = world.changes().length;
    const planned = await look(task, memory, policy(), world.ports, { dryRun: true });
    expect(planned.decision.actions).toContainEqual({ kind: "complete", result: "CONTINUE" });
    expect(world.changes()).toHaveLength(since);
    expect(world.actionIsOpen).toBe(true);
  });
});

describe("pods that do not go at once", () => {
  it("are asked again while a budget blocks them, and once they agreed never again (C6)", async () => {
    const world = busyNode();
    world.refusing.set("uid-of-database-0", "disruption-budget");
    world.after(300, () => world.refusing.clear());
    expect(outcomeOf(await run(world, task))).toBe("completed");
    const asked = world.changes().filter((change) => change === "evictPod shop/database-0");
    expect(asked.length).toBeGreaterThan(5);
    expect(world.changes().filter((change) => change === "evictPod shop/web")).toHaveLength(1);
    expect(world.events.filter(({ reason }) => reason === "EvictionBlocked")).toHaveLength(1);
  });

  it("leave their names to others: a StatefulSet's successor elsewhere is not touched (I4)", async () => {
    const world = busyNode();
    world.stopsAfter = 20;
    world.after(2, () => {
      world.pods = world.pods.map((each) =>
        each.name === "database-0"
          ? { ...each, uid: "successor", nodeName: "elsewhere", deleting: false }
          : each,
      );
    });
    await run(world, task, { seconds: 60 });
    expect(world.pods.find(({ uid }) => uid === "successor")?.deleting).toBe(false);
  });

  it("and an API that asks to slow down meet a back-off to thirty seconds (D7, D17)", async () => {
    const world = busyNode();
    world.failing.set("kubernetes.evictPod", "throttled");
    await run(world, task, { seconds: 300 });
    const looksThatAsked = new Set(
      world.calls.filter(({ method }) => method === "kubernetes.evictPod").map(({ at }) => at),
    );
    expect(looksThatAsked.size).toBeLessThan(18);
    world.failing.clear();
    expect(outcomeOf(await run(world, task))).toBe("completed");
  });
});

describe("D4: a machine without a Node", () => {
  function launched(secondsAgo: number): { readonly world: SmallWorld; readonly of: LifecycleTask } {
    const world = new SmallWorld();
    const launchTime = NOW - secondsAgo * SECOND;
    world.machine = instance({ launchTime });
    world.nodes.clear();
    const id = workId({ kind: "lifecycle", instance: INSTANCE, launchTime, token: TOKEN });
    return { world, of: lifecycleTask({ at: NOW, launchTime, id }) };
  }

  it("that joins late is drained", async () => {
    const { world, of } = launched(10);
    world.after(40, () => {
      world.nodes.set(NODE, untouchedNode());
      world.pods = [pod("web")];
    });
    expect(outcomeOf(await run(world, of))).toBe("completed");
    expect(world.changes()).toContain("evictPod shop/web");
  });

  it("that joins late under a name of its own is drained", async () => {
    const { world, of } = launched(10);
    world.after(40, () => {
      world.nodes.set("custom-7", untouchedNode({ name: "custom-7" }));
      world.pods = [pod("web", { nodeName: "custom-7" })];
    });
    await run(world, of, { seconds: 300 });
    expect(world.changes()).toContain("evictPod shop/web");
    expect(world.counts()["kubernetes.listNodes"]).toBe(1);
  });

  it("that never joins is let go after joinGrace, with one list of Nodes and one look-up more (C7)", async () => {
    const { world, of } = launched(10);
    const made = await run(world, of);
    expect(outcomeOf(made)).toBe("never-joined");
    expect(made.looks.at(-1)?.observation.at).toBeGreaterThanOrEqual(NOW + 80 * SECOND);
    expect(made.looks.at(-1)?.observation.calls).toMatchObject({ "kubernetes.getNode": 1 });
    expect(world.counts()["kubernetes.listNodes"]).toBe(1);
    expect(ec2Reads(world)).toBeLessThanOrEqual(6);
  });

  it("is not let go because the list of Nodes failed once: the Node has another name than EC2's", async () => {
    const world = busyNode();
    world.machine = instance({ privateDnsName: "" });
    world.failing.set("kubernetes.listNodes", "network");
    world.after(20, () => world.failing.clear());
    expect(outcomeOf(await run(world, task))).toBe("completed");
    expect(world.changes()).toContain("evictPod shop/web");
  });
});

describe("trouble", () => {
  it("C17: an API server that is away for five minutes costs the time, not the drain", async () => {
    const world = busyNode();
    const reads = ["getNode", "listPodsOnNode", "getAttachment", "listAttachmentRows"];
    world.after(1, () => reads.forEach((read) => world.failing.set(`kubernetes.${read}`, "network")));
    world.after(301, () => world.failing.clear());
    expect(outcomeOf(await run(world, task))).toBe("completed");
    expect(world.beats.length).toBeGreaterThanOrEqual(3);
    expect(world.results).toEqual(["CONTINUE"]);
  });

  it("C19: a throttled beat is sent again within seconds", async () => {
    const world = busyNode();
    world.stopsAfter = 400;
    world.after(140, () => world.failing.set("autoScaling.heartbeat", "throttled"));
    world.after(155, () => world.failing.clear());
    await run(world, task, { seconds: 200 });
    const [first, second] = world.beats;
    expect(((second ?? 0) - (first ?? 0)) / SECOND).toBeLessThanOrEqual(165);
  });

  it("C20: a completion that fails is tried until it is known to be over", async () => {
    const world = busyNode();
    world.failing.set("autoScaling.complete", "throttled");
    world.after(60, () => world.failing.clear());
    expect(outcomeOf(await run(world, task))).toBe("completed");
    expect(world.results).toEqual(["CONTINUE"]);
    expect(world.metrics.filter((name) => name === "DrainsCompleted")).toHaveLength(1);
    expect(world.events.filter(({ reason }) => reason === "DrainCompleted")).toHaveLength(1);
  });

  it("D12: an attachment that only the confirming list shows is waited for", async () => {
    const world = busyNode();
    const late = { ...attachment("vol-9", { name: "free-name" }), nodeId: INSTANCE };
    world.volumes.set("pv-of-vol-9", { name: "pv-of-vol-9", driver: "ebs.csi.aws.com", handle: "vol-9" });
    world.after(4, () => {
      world.attachments.push(late);
      world.disks.push({ volumeId: "vol-9", state: "attached", device: "/dev/xvdz", csi: true });
    });
    await run(world, task, { seconds: 120 });
    expect(world.results).toEqual([]);
    world.attachments = [];
    world.disks = [];
    expect(outcomeOf(await run(world, task))).toBe("completed");
  });

  it("any look may be made twice from the same memory: nothing is asked twice that must not be", async () => {
    const world = busyNode();
    const first = await look(task, initialMemory(NOW), policy(), world.ports);
    const again = await look(task, initialMemory(NOW), policy(), world.ports);
    expect(again.decision.actions.map(({ kind }) => kind)).not.toContain("patch-node");
    const node = world.nodes.get(NODE);
    expect(node && readWork(node)).toMatchObject({ kind: "open", work: { cordoned: true } });
    expect(outcomeOf(await run(world, task, { memory: first.memory }))).toBe("completed");
    expect(world.counts()["kubernetes.evictPod"]).toBe(3);
  });

  it("each port method may fail at any look, in any way, and the work still comes to its end", async () => {
    const methods = Object.keys((await finished(busyNode())).counts());
    for (const method of methods) {
      for (const kind of ["network", "throttled", "conflict", "forbidden", "not-found"] as const) {
        if (CANNOT_HAPPEN.some(([of, how]) => of.test(method) && how === kind)) continue;
        const world = busyNode();
        world.failing.set(method, kind);
        world.after(25, () => world.failing.clear());
        await finished(world);
        expect([method, kind, world.results, world.attachments]).toEqual([method, kind, ["CONTINUE"], []]);
      }
    }
  });

  /** Reads answer "not there" with undefined; an eviction so answered is of a pod that is gone (C8); Auto Scaling has words of its own. */
  const CANNOT_HAPPEN: readonly (readonly [RegExp, string])[] = [
    [/get|list|describe|evictPod|autoScaling/, "not-found"],
    [/get|list|describe|evictPod|autoScaling/, "conflict"],
  ];

  async function finished(world: SmallWorld): Promise<SmallWorld> {
    await run(world, task);
    return world;
  }
});

describe("D14: the gone work", () => {
  function dying(): SmallWorld {
    const world = busyNode();
    world.machine = instance({ state: "shutting-down", privateDnsName: "" });
    world.changeNode(() => ({ unschedulable: false }));
    world.after(8, () => {
      world.machine = instance({ state: "terminated", privateDnsName: "" });
    });
    return world;
  }

  /** The attach/detach controller: a tainted node's volumes go once no pod wants them. */
  function controller(world: SmallWorld): void {
    const tainted = world.nodes.get(NODE)?.taints.length === 1;
    if (tainted && world.pods.every(({ claims }) => claims.length === 0)) world.attachments = [];
    world.after(0.2, () => controller(world));
  }

  it("frees the volumes once the Lease was silent for twelve seconds, and takes its taint off", async () => {
    const world = dying();
    controller(world);
    const made = await run(world, goneTask({ at: NOW }));
    expect(outcomeOf(made)).toBe("freed");
    const forced = made.looks.find(({ decision }) => decision.phase === "forcing-off");
    expect(forced?.observation.at).toBeGreaterThanOrEqual(NOW + 12 * SECOND);
    expect(forced?.observation.at).toBeLessThanOrEqual(NOW + 20 * SECOND);
    expect(world.nodes.get(NODE)?.taints).toEqual([]);
    expect(world.pods.map(({ name }) => name)).toEqual(["logs"]);
    expect(world.counts()).not.toHaveProperty("kubernetes.evictPod");
  });

  it("asks EC2 every five seconds, not more often (I12)", async () => {
    const world = dying();
    const adopting = (): void => {
      world.lease = { name: NODE, renewTime: String(world.now) };
      world.after(10, adopting);
    };
    adopting();
    await run(world, goneTask({ at: NOW }), { seconds: 120 });
    const times = world.calls.filter(({ method }) => method === "ec2.describeInstance").map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5 * SECOND);
  });

  it("comes as far although the first list of attachments, EC2 or the Lease fail for a while", async () => {
    for (const method of ["kubernetes.listAttachmentRows", "ec2.describeInstance", "kubernetes.getLease"]) {
      const world = dying();
      controller(world);
      world.failing.set(method, "throttled");
      world.after(30, () => world.failing.clear());
      const made = await run(world, goneTask({ at: NOW }));
      expect([method, outcomeOf(made), world.attachments]).toEqual([method, "freed", []]);
    }
  });

  it("forces nothing while a kubelet renews the Lease under the Node's name (I9)", async () => {
    const world = dying();
    const beat = (): void => {
      world.lease = { name: NODE, renewTime: String(world.now) };
      world.after(10, beat);
    };
    beat();
    const made = await run(world, goneTask({ at: NOW }), { seconds: 1_200 });
    expect(outcomeOf(made)).toBe("deadline");
    expect(world.changes().every((change) => change.startsWith("recordEvent"))).toBe(true);
    expect(world.events.map(({ reason }) => reason)).toContain("NodeAdopted");
  });

  it("ends nothing because EC2 still said running when the event was already there", async () => {
    const world = dying();
    controller(world);
    world.machine = instance();
    expect(outcomeOf(await run(world, goneTask({ at: NOW })))).toBe("freed");
  });
});

describe("another machine's Node", () => {
  it("is never changed, although it has the name that EC2 gave (I9)", async () => {
    const world = busyNode();
    world.changeNode(() => ({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` }));
    await run(world, task, { seconds: 60 });
    expect(world.changes().filter((change) => !/^heartbeat|^complete/.test(change))).toEqual([]);
  });
});
