import { describe, expect, it } from "vitest";
import { painter } from "../../lib/cli/paint.ts";
import { textReport } from "../../lib/cli/report.ts";
import type { Run } from "../../lib/cli/run.ts";
import { timelineOf } from "../../lib/cli/timeline.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { SCENARIOS } from "../../lib/sim/scenarios.ts";
import {
  GROUP,
  SEED,
  beatsOf,
  doneChanges,
  drainFactsOf,
  endOf,
  eventReasons,
  lineWith,
  longestOutage,
  nodeOf,
  podsOnly,
  secondsOf,
  taints,
  withDrain,
  workOf,
} from "./played.ts";

const SIX_MINUTES = 360;

/** Every volume that the machine held was free, in Kubernetes and in EC2, when its lifecycle action was completed (C1, C3, I1). */
function expectFreeBeforeContinue(run: Run, by: string): void {
  const end = endOf(run);
  expect(end).toMatchObject({ result: "CONTINUE", by, attached: [], pods: [] });
  expect(run.witness.volumes.length).toBeGreaterThan(0);
  for (const { detachedAt, unattachedAt } of run.witness.volumes) {
    expect(secondsOf(run, detachedAt)).toBeLessThanOrEqual(secondsOf(run, end.at));
    expect(secondsOf(run, unattachedAt)).toBeLessThanOrEqual(secondsOf(run, end.at));
  }
}

/** When the last volume was free in both sources. */
function lastFree(run: Run): number {
  return Math.max(
    ...run.witness.volumes.map(({ detachedAt, unattachedAt }) =>
      Math.max(secondsOf(run, detachedAt), secondsOf(run, unattachedAt)),
    ),
  );
}

/** Accepted evictions of each pod that was there at the start. */
function evictionsByUid(run: Run): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { method, pod } of doneChanges(run)) {
    if (method === "evictPod" && pod !== undefined) counts.set(pod.uid, (counts.get(pod.uid) ?? 0) + 1);
  }
  return counts;
}

describe.each(SCENARIOS.map(({ name }) => name))("%s", (name) => {
  it("breaks no invariant, and every piece of work ends without an error", async () => {
    const run = await withDrain(name);
    expect(run.violations).toEqual([]);
    const executions = run.embedded?.executions() ?? [];
    expect(executions.length).toBeGreaterThan(0);
    for (const execution of executions) {
      expect(execution.endedAt).toBeDefined();
      expect(execution.error).toBeUndefined();
    }
  });

  it("has a story in order, told from the event on", async () => {
    for (const run of [await withDrain(name), await podsOnly(name)]) {
      const lines = timelineOf(run);
      expect(lines.length).toBeGreaterThan(2);
      expect(lines[0]?.seconds).toBe(0);
      expect(lines.map(({ seconds }) => seconds)).toEqual(
        lines.map(({ seconds }) => seconds).sort((a, b) => a - b),
      );
      for (const { text } of lines) expect(text).not.toMatch(/%s|\bvol-|undefined|: $/);
    }
  });
});

describe.each(SCENARIOS)("$name in print", (scenario) => {
  it("keeps to 100 columns, and to plain text without a terminal", async () => {
    const [drained, unaided] = [await withDrain(scenario.name), await podsOnly(scenario.name)];
    const told = { scenario, of: { seed: SEED, subject: { group: GROUP } }, drained, unaided };
    const lines = textReport(told, painter(false));
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(lines.join("")).not.toContain("\u001B");
  });
});

describe("scale-in", () => {
  it("completes once every volume is free in Kubernetes and in EC2, and soon after that (C1, C2, C3)", async () => {
    const run = await withDrain("scale-in");
    expectFreeBeforeContinue(run, "drain");
    expect(secondsOf(run, endOf(run).at) - lastFree(run)).toBeLessThan(10);
    expect(longestOutage(run)).toBeLessThan(60);
  });

  it("cordons before it changes anything else (C14), and evicts each pod once", async () => {
    const run = await withDrain("scale-in");
    const [first, ...rest] = doneChanges(run);
    expect(first).toMatchObject({ method: "patchNode" });
    expect(rest.map(({ method }) => method)).toContain("evictPod");
    expect([...evictionsByUid(run).values()]).toEqual([1, 1, 1]);
  });

  it("keeps to the requests that are allowed (I11, I12), and writes one Event per change of state (C15)", async () => {
    const run = await withDrain("scale-in");
    const work = workOf(run, "lifecycle");
    expect(work).toMatchObject({ outcome: "completed", nodeLists: 0, attachmentLists: 2 });
    expect(work.ec2Reads).toBeLessThanOrEqual(6);
    const reasons = eventReasons(run);
    expect(new Set(reasons).size).toBe(reasons.length);
  });

  it("goes wrong without ebs-drain: completed with a volume attached, which then waits six minutes (C1)", async () => {
    const run = await podsOnly("scale-in");
    const end = endOf(run);
    expect(end).toMatchObject({ result: "CONTINUE", by: "pod drainer", pods: [] });
    expect(end.attached).toHaveLength(1);
    const late = run.witness.volumes.find(({ handle }) => end.attached.includes(handle));
    expect(secondsOf(run, late?.movedAt) - secondsOf(run, end.at)).toBeGreaterThan(SIX_MINUTES - 30);
    expect(longestOutage(run)).toBeGreaterThan(SIX_MINUTES);
  });
});

describe("hand-over", () => {
  it("lets the hook complete in the moment of the last detach (D10, H9)", async () => {
    const run = await withDrain("hand-over");
    expectFreeBeforeContinue(run, "hook");
    expect(secondsOf(run, endOf(run).at) - lastFree(run)).toBeLessThan(1);
    expect(workOf(run, "lifecycle").outcome).toBe("completed-by-hook");
  });
});

describe("pdb-block", () => {
  it("goes on over many invocations, with beats, and evicts no pod twice (C4, C6)", async () => {
    const run = await withDrain("pdb-block");
    expectFreeBeforeContinue(run, "drain");
    expect(secondsOf(run, endOf(run).at)).toBeGreaterThan(20 * 60);
    expect(drainFactsOf(run).invocations).toBeGreaterThan(10);
    expect([...evictionsByUid(run).values()]).toEqual([1, 1, 1]);
    const beats = [0, ...beatsOf(run), secondsOf(run, endOf(run).at)];
    const gaps = beats.slice(1).map((at, index) => at - (beats[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(0.75 * 300);
    expect(eventReasons(run)).toContain("EvictionBlocked");
  });

  it("ends protected pods with the instance where nobody beats (C4)", async () => {
    const end = endOf(await podsOnly("pdb-block"));
    expect(end).toMatchObject({ by: "time-out", pods: ["db-0", "db-1"] });
  });
});

describe("deadline", () => {
  it("gives an explicit result at its own deadline, announced at 50 and 90 % with the budget's name (C16, D13)", async () => {
    const run = await withDrain("deadline");
    const end = endOf(run);
    expect(end).toMatchObject({ result: "CONTINUE", by: "drain", pods: ["db-0", "db-1"] });
    expect(secondsOf(run, end.at)).toBeGreaterThan(1_800 - 60 - 10);
    expect(secondsOf(run, end.at)).toBeLessThan(1_800);
    const announced = doneChanges(run).flatMap(({ event }) =>
      event?.reason === "DrainDeadlineNear" || event?.reason === "DrainDeadline" ? [event] : [],
    );
    expect(announced.map(({ reason }) => reason)).toEqual([
      "DrainDeadlineNear",
      "DrainDeadlineNear",
      "DrainDeadline",
    ]);
    for (const { message } of announced) expect(message).toContain("PodDisruptionBudget db");
  });

  it("then frees the dead machine's volumes at once (D14)", async () => {
    const run = await withDrain("deadline");
    expect(longestOutage(run)).toBeLessThan(180);
    expect(longestOutage(await podsOnly("deadline"))).toBeGreaterThan(SIX_MINUTES);
  });
});

describe("stuck-unmount", () => {
  it("waits until the volume can be unmounted, with a force of its own never (C1, D11)", async () => {
    const run = await withDrain("stuck-unmount");
    expectFreeBeforeContinue(run, "drain");
    expect(secondsOf(run, endOf(run).at)).toBeGreaterThan(12 * 60 - 10);
    expect(doneChanges(run).filter(taints)).toEqual([]);
    expect(doneChanges(run).filter(({ method }) => method === "deletePod")).toEqual([]);
  });

  it("is cut off while mounted without ebs-drain", async () => {
    const run = await podsOnly("stuck-unmount");
    expect(endOf(run).attached.length).toBeGreaterThan(0);
    expect(run.witness.machineEnd?.inUse.length).toBeGreaterThan(0);
  });
});

describe("dead-kubelet", () => {
  it("stops waiting for a kubelet that has been silent for its grace, and says so (D13, C26)", async () => {
    const run = await withDrain("dead-kubelet");
    const end = endOf(run);
    expect(end).toMatchObject({ result: "CONTINUE", by: "drain" });
    const silent = lineWith(run, "Ready Unknown").seconds;
    expect(secondsOf(run, end.at)).toBeGreaterThanOrEqual(silent + 180);
    expect(secondsOf(run, end.at)).toBeLessThan(silent + 240);
    expect(eventReasons(run)).toContain("DrainDeadline");
    expect(secondsOf(run, end.at)).toBeLessThan(secondsOf(run, endOf(await podsOnly("dead-kubelet")).at));
  });

  it("forces nothing before EC2 says that the machine is down (C24)", async () => {
    const run = await withDrain("dead-kubelet");
    const down = lineWith(run, "EC2: instance terminated").seconds;
    for (const change of doneChanges(run).filter(taints)) {
      expect(secondsOf(run, change.at)).toBeGreaterThanOrEqual(down);
    }
  });
});

describe("leaked-attachment", () => {
  it("names the attachment that nobody will ever delete, and does not wait for it (D11)", async () => {
    const run = await withDrain("leaked-attachment");
    expectFreeBeforeContinue(run, "drain");
    expect(lineWith(run, "left as they are").text).toContain("old-0 (leaked)");
    expect(workOf(run, "lifecycle").ec2Reads).toBeLessThanOrEqual(6);
  });
});

describe("late-join", () => {
  it("drains a Node that registers after the event (D4)", async () => {
    const run = await withDrain("late-join");
    const joined = lineWith(run, "the Node registers").seconds;
    const cordoned = lineWith(run, "cordons the node").seconds;
    expect(cordoned).toBeGreaterThan(joined);
    expect(endOf(run)).toMatchObject({ result: "CONTINUE", by: "drain", attached: [], pods: [] });
    expect(secondsOf(run, endOf(run).at)).toBeGreaterThan(cordoned);
  });
});

describe("never-joined", () => {
  it("completes after joinGrace instead of waiting for the time-out (C7)", async () => {
    const run = await withDrain("never-joined");
    const { launchTime = 0 } = run.world.ec2.instance(run.scene.instance) ?? {};
    const waited = (endOf(run).at - launchTime) / SECOND;
    expect(endOf(run)).toMatchObject({ result: "CONTINUE", by: "drain" });
    expect(waited).toBeGreaterThanOrEqual(90);
    expect(waited).toBeLessThan(120);
    expect(workOf(run, "lifecycle")).toMatchObject({ outcome: "never-joined", nodeLists: 1 });
    expect(endOf(await podsOnly("never-joined")).by).toBe("time-out");
  });
});

describe.each(["warm-pool", "replace-root-volume"])("%s", (name) => {
  it("drains the node, and leaves nothing of ours on it when it is back in service (D15, I8, C12)", async () => {
    const run = await withDrain(name);
    expectFreeBeforeContinue(run, "drain");
    expect(run.world.autoScaling.member(run.scene.instance)?.lifecycleState).toBe("InService");
    expect(nodeOf(run)).toMatchObject({ unschedulable: false });
    expect(nodeOf(run)?.work).toBeUndefined();
  });

  it("leaves the node cordoned without ebs-drain (C12)", async () => {
    expect(nodeOf(await podsOnly(name))).toMatchObject({ unschedulable: true });
  });
});

describe("api-outage", () => {
  it("beats on while the API server is away, and drains when it is back (C17)", async () => {
    const run = await withDrain("api-outage");
    expectFreeBeforeContinue(run, "drain");
    const away = lineWith(run, "API server cannot be reached").seconds;
    const back = lineWith(run, "API server is back").seconds;
    expect(back - away).toBeCloseTo(300, 0);
    expect(secondsOf(run, endOf(run).at)).toBeGreaterThan(back);
    expect(beatsOf(run).filter((at) => at > away && at < back).length).toBeGreaterThan(0);
    expect(endOf(await podsOnly("api-outage"))).toMatchObject({ by: "time-out" });
  });
});

describe("lost-event", () => {
  it("is found by the sweep", async () => {
    const run = await withDrain("lost-event");
    expectFreeBeforeContinue(run, "drain");
    const [execution] = run.embedded?.executions() ?? [];
    expect(execution?.task).toMatchObject({ kind: "lifecycle", by: "sweep" });
    expect(secondsOf(run, execution?.startedAt)).toBeLessThan(65);
  });
});

describe("duplicate-events", () => {
  it("is one execution and one source of beats (C5)", async () => {
    const run = await withDrain("duplicate-events");
    expectFreeBeforeContinue(run, "drain");
    const lifecycle = run.embedded?.executions().filter(({ task }) => task.kind === "lifecycle");
    expect(lifecycle).toHaveLength(1);
    const delivered = run.embedded?.dispatched.filter(
      ({ result }) =>
        result !== undefined &&
        (result.kind === "started" || result.kind === "already-started") &&
        result.task.kind === "lifecycle",
    );
    expect(delivered).toHaveLength(2);
    expect(beatsOf(run)).toHaveLength(1);
  });
});

describe("csi-controller", () => {
  it("evicts the CSI controller before the pods whose volumes it has to detach (C33)", async () => {
    const run = await withDrain("csi-controller");
    expectFreeBeforeContinue(run, "drain");
    const evicted = doneChanges(run).flatMap(({ method, pod }) =>
      method === "evictPod" && pod !== undefined ? [pod.name] : [],
    );
    expect(evicted.slice(0, 2).every((pod) => pod.startsWith("ebs-csi-controller"))).toBe(true);
    expect(evicted.slice(2).sort()).toEqual(["db-0", "db-1", "queue-0"]);
  });
});

describe("other-node-name", () => {
  it("finds the Node by its provider id (C10)", async () => {
    const run = await withDrain("other-node-name");
    expect(run.scene.node).toBe("storage-worker-7");
    expectFreeBeforeContinue(run, "drain");
    expect(workOf(run, "lifecycle")).toMatchObject({ outcome: "completed", nodeLists: 1 });
  });
});

describe("spot", () => {
  it("cuts the grace so that every volume is free before EC2 takes the instance (D16)", async () => {
    const run = await withDrain("spot");
    expect(lastFree(run)).toBeLessThan(120);
    expect(run.witness.machineEnd?.inUse).toEqual([]);
    expect(workOf(run, "spot").outcome).toBe("freed");
    const graces = doneChanges(run).flatMap(({ graceSeconds }) => graceSeconds ?? []);
    expect(Math.max(...graces)).toBeLessThanOrEqual(90);
  });

  it("loses the slow pod's volume for six minutes without ebs-drain", async () => {
    const run = await podsOnly("spot");
    expect(run.witness.machineEnd?.inUse).toHaveLength(1);
    expect(longestOutage(run)).toBeGreaterThan(SIX_MINUTES);
  });
});

describe.each([
  ["console-terminate", "EC2: instance terminated"],
  ["console-stop", "EC2: instance stopped"],
])("%s", (name, down) => {
  it("is started by the state change alone, and frees the volumes once the machine is proved dead (C11, C24)", async () => {
    const run = await withDrain(name);
    const [first] = run.embedded?.executions() ?? [];
    expect(first?.task).toMatchObject({ kind: "gone", by: "event" });
    const [taint, ...more] = doneChanges(run).filter(taints);
    expect(more).toEqual([]);
    expect(secondsOf(run, taint?.at)).toBeGreaterThan(lineWith(run, down).seconds);
    expect(taint?.kubeletLives).toBe(false);
    expect(workOf(run, "gone").outcome).toBe("freed");
    expect(longestOutage(run)).toBeLessThan(120);
    expect(nodeOf(run)?.taints.map(({ key }) => key) ?? []).not.toContain(
      "node.kubernetes.io/out-of-service",
    );
  });

  it("waits more than six minutes without ebs-drain (C11)", async () => {
    expect(longestOutage(await podsOnly(name))).toBeGreaterThan(SIX_MINUTES);
  });
});

describe("adopted-node", () => {
  it("forces nothing on a Node that another machine's kubelet has taken up, and tells (I9, D14)", async () => {
    const run = await withDrain("adopted-node");
    expect(doneChanges(run).filter(taints)).toEqual([]);
    expect(doneChanges(run).filter(({ method }) => method !== "recordEvent")).toEqual([]);
    expect(eventReasons(run)).toContain("NodeAdopted");
    expect(run.witness.isAllUp()).toBe(true);
  });
});
