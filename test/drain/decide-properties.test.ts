/** What holds for every observation. Facts are read off the observation here, in other words than the code's own. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PodView } from "../../lib/drain/cluster.ts";
import { decide } from "../../lib/drain/decide.ts";
import type { Action, Decision } from "../../lib/drain/decision.ts";
import { EBS_DRIVER } from "../../lib/drain/names.ts";
import { type Observation, valueOf } from "../../lib/drain/observation.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import { remember } from "../../lib/drain/remember.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { anyObservation, anyPolicyOf } from "./arbitrary-observation.ts";
import { INSTANCE, LAUNCHED } from "./observation-builder.ts";

const RUNS = { numRuns: 1_200 };

function every(holds: (seen: Observation, decision: Decision, choices: Policy) => void): void {
  fc.assert(
    fc.property(anyObservation, anyPolicyOf, (seen, choices) => holds(seen, decide(seen, choices), choices)),
    RUNS,
  );
}

function only<Kind extends Action["kind"]>(
  { actions }: Decision,
  kind: Kind,
): readonly Extract<Action, { kind: Kind }>[] {
  return actions.filter((action): action is Extract<Action, { kind: Kind }> => action.kind === kind);
}

/** How many decisions a property spoke of: one that never applies proves nothing. */
function atLeast(count: number, holds: (applies: () => void) => void): void {
  let applied = 0;
  holds(() => {
    applied++;
  });
  expect(applied).toBeGreaterThan(count);
}

const isFinal = ({ phase }: PodView): boolean => phase === "Succeeded" || phase === "Failed";
const isOwned = ({ mirror, controller }: PodView): boolean => mirror || controller?.kind === "DaemonSet";
const isMachineUp = (seen: Observation): boolean => {
  const state = valueOf(seen.instance)?.state;
  return state !== "stopped" && state !== "terminated";
};

/** Pods that nothing excuses: not the node's own, not final, not back again on a cordoned node. */
function podsLeft(seen: Observation): readonly PodView[] {
  return (valueOf(seen.pods) ?? []).filter(
    (pod) => !isOwned(pod) && !isFinal(pod) && pod.tolerations.length === 0,
  );
}

/** Handles of the driver's volumes that EC2 shows attached here, not another driver's, and that no running pod of the node wants. */
function volumesLeft(seen: Observation): readonly string[] {
  const mine = (valueOf(seen.pods) ?? []).filter(
    (pod) => pod.phase === "Running" && !pod.deleting && (isOwned(pod) || pod.tolerations.length > 0),
  );
  const wanted = mine.flatMap((pod) => [
    ...pod.inlineHandles,
    ...pod.claims.map((claim) => seen.claims[`${pod.namespace}/${claim}`]?.handle ?? ""),
  ]);
  const foreign = (valueOf(seen.attachments) ?? [])
    .filter(({ attacher }) => attacher !== EBS_DRIVER)
    .map(({ volumeName = "" }) => seen.volumes[volumeName]?.handle);
  const excused = new Set([...wanted, ...foreign]);
  return (valueOf(seen.ec2Volumes) ?? [])
    .filter(({ csi, device, volumeId }) => device !== "/dev/xvda" && csi && !excused.has(volumeId))
    .map(({ volumeId }) => volumeId);
}

describe("for every observation and policy", () => {
  it("a decision is made, of numbers and words only: it survives JSON, and so does its replay", () => {
    every((seen, decision, choices) => {
      const text = JSON.stringify({ seen, decision });
      const replay = JSON.parse(text) as { seen: Observation; decision: Decision };
      expect(replay.decision).toEqual(decision);
      expect(decide(replay.seen, choices)).toEqual(decision);
      expect(decision.rules.length).toBeGreaterThan(0);
      expect(decision.reason).not.toBe("");
    });
  });

  it("the next look is a whole number of seconds away, one at least, and no further than a quarter of the time-out", () => {
    every((seen, { next }, choices) => {
      if (next.kind === "done") return;
      const isOpen = seen.task.kind === "lifecycle" && seen.memory.action === "open";
      expect(Number.isInteger(next.inSeconds)).toBe(true);
      expect(next.inSeconds).toBeGreaterThanOrEqual(1);
      expect(next.inSeconds).toBeLessThanOrEqual(isOpen ? Math.min(30, choices.heartbeatTimeout / 4) : 30);
    });
  });

  it("I1: no CONTINUE before the deadline while a pod or volume is left, or a source was not read", () => {
    atLeast(8, (applies) => {
      every((seen, decision) => {
        const completions = only(decision, "complete").filter(({ result }) => result === "CONTINUE");
        if (completions.length === 0 || decision.rules.includes("D13")) return;
        if (decision.rules.includes("D4") || decision.rules.includes("D17")) return;
        applies();
        const adopted = decision.rules.includes("D14");
        expect(seen.memory.agreed).toBe(adopted ? "D14" : "D12");
        expect(seen.ec2Volumes.kind).toBe("read");
        expect(volumesLeft(seen)).toEqual([]);
        expect(decision.verdicts.filter(({ blocks }) => blocks)).toEqual([]);
        if (adopted) return;
        for (const source of [seen.node, seen.pods, seen.attachments]) expect(source.kind).toBe("read");
        const isOurs = valueOf(seen.node)?.providerId?.endsWith(INSTANCE) !== false;
        expect(isOurs && isMachineUp(seen) ? podsLeft(seen) : []).toEqual([]);
      });
    });
  });

  it("D4 and D17 complete only what EC2 shows with its root volume alone", () => {
    atLeast(3, (applies) => {
      every((seen, decision) => {
        const exempt = decision.rules.includes("D4") || decision.rules.includes("D17");
        if (!exempt || only(decision, "complete").length === 0) return;
        applies();
        expect(valueOf(seen.ec2Volumes)?.filter(({ device }) => device !== "/dev/xvda")).toEqual([]);
        expect(decision.rules.includes("D17") ? seen.memory.emptied : seen.memory.nodesListed).toBe(true);
      });
    });
  });

  it("I2: an action of ours that is open gets the policy's result at the deadline, whatever cannot be read", () => {
    atLeast(10, (applies) => {
      every((seen, decision, choices) => {
        const { task, memory } = seen;
        if (task.kind !== "lifecycle" || memory.action !== "open" || seen.at < decision.deadline) return;
        applies();
        expect(only(decision, "complete")).toEqual([{ kind: "complete", result: choices.onDeadline }]);
        expect(decision.next.kind).toBe("done");
      });
    });
  });

  it("I10: beats and results belong to an open lifecycle action and to nothing else", () => {
    every((seen, decision) => {
      const isOpen = seen.task.kind === "lifecycle" && seen.memory.action === "open";
      const sent = decision.actions.filter(({ kind }) => kind === "heartbeat" || kind === "complete");
      expect(isOpen ? [] : sent).toEqual([]);
      expect(only(decision, "complete").length).toBeLessThanOrEqual(decision.next.kind === "done" ? 1 : 0);
    });
  });

  it("D14: nothing is forced without every proof of death", () => {
    atLeast(8, (applies) => {
      every((seen, decision, choices) => {
        if (only(decision, "force-off").length === 0) return;
        applies();
        const machine = valueOf(seen.instance);
        const lease = valueOf(seen.lease);
        expect(seen.task.kind).toBe("gone");
        expect(choices.outOfService).toBe(true);
        expect(["stopped", "terminated"]).toContain(machine?.state);
        expect(machine?.launchTime).toBe(LAUNCHED);
        expect(machine?.stateReason ?? "").not.toContain("Hibernate");
        expect(machine?.state !== "stopped" || seen.member.kind === "read").toBe(true);
        expect(valueOf(seen.member)?.lifecycleState === "Warmed:Hibernated").toBe(false);
        expect(valueOf(seen.node)?.providerId).toContain(INSTANCE);
        expect(seen.csiNode.kind).toBe("read");
        expect([INSTANCE, undefined]).toContain(Object.values(valueOf(seen.csiNode)?.nodeIds ?? {})[0]);
        expect(seen.lease.kind).toBe("read");
        expect(seen.memory.lease?.renewTime).toBe(lease?.renewTime ?? "");
        expect(seen.at - (seen.memory.lease?.at ?? seen.at)).toBeGreaterThanOrEqual(12 * SECOND);
        expect(seen.pods.kind).toBe("read");
      });
    });
  });

  it("D5: every patch of a Node is of the Node that was read, and begins with a test of its uid", () => {
    atLeast(80, (applies) => {
      every((seen, { actions }) => {
        for (const action of actions) {
          const patch = "patch" in action ? action.patch : undefined;
          if (patch === undefined) continue;
          applies();
          expect(valueOf(seen.node)).toBeTruthy();
          expect(patch[0]).toEqual({ op: "test", path: "/metadata/uid", value: valueOf(seen.node)?.uid });
        }
      });
    });
  });

  it("I9: a Node whose provider id is another machine's is not changed, but for taking our own taint off it", () => {
    atLeast(30, (applies) => {
      every((seen, { actions }) => {
        const node = valueOf(seen.node);
        if (!node || node.providerId?.endsWith(`/${INSTANCE}`) === true) return;
        applies();
        const changes = actions.filter(({ kind }) =>
          ["patch-node", "evict", "delete-pods", "hand-over", "force-off"].includes(kind),
        );
        const others = changes.filter(
          (action) => action.kind !== "patch-node" || action.purpose !== "untaint",
        );
        expect(others).toEqual([]);
      });
    });
  });

  it("I4: only pods that were listed on the node are evicted, deleted or removed, each by its uid", () => {
    atLeast(80, (applies) => {
      every((seen, decision) => {
        const listed = (valueOf(seen.pods) ?? []).map(({ uid }) => uid);
        const touched = [
          ...only(decision, "evict").flatMap(({ groups }) => groups.flat()),
          ...only(decision, "delete-pods").flatMap(({ pods }) => pods),
          ...only(decision, "force-off").flatMap(({ pods }) => pods),
          ...only(decision, "hand-over").map(({ pod }) => pod),
        ];
        if (touched.length > 0) applies();
        for (const { uid } of touched) expect(listed).toContain(uid);
        const asked = only(decision, "evict").flatMap(({ groups }) => groups.flat().map(({ uid }) => uid));
        expect(new Set(asked).size).toBe(asked.length);
      });
    });
  });

  it("D8: no pod of the node itself is ever evicted or removed, but for the hook's at the hand-over", () => {
    every((seen, decision) => {
      const own = (valueOf(seen.pods) ?? []).filter(isOwned).map(({ uid }) => uid);
      const touched = [
        ...only(decision, "evict").flatMap(({ groups }) => groups.flat()),
        ...only(decision, "delete-pods").flatMap(({ pods }) => pods),
        ...only(decision, "force-off").flatMap(({ pods }) => pods),
      ];
      for (const { uid } of touched) expect(own).not.toContain(uid);
    });
  });

  it("I5: pods are deleted past their budgets only with force, and only when its time has come", () => {
    atLeast(0, (applies) => {
      every((seen, decision, choices) => {
        if (only(decision, "delete-pods").length === 0) return;
        applies();
        expect(choices.force).toBe(true);
        expect(seen.at - seen.task.at).toBeGreaterThanOrEqual(choices.forceAfter * SECOND);
      });
    });
  });

  it("C14: the cordon comes before the beat, the beat before the evictions, the completion before its news", () => {
    every((_seen, { actions }) => {
      const at = (holds: (action: Action) => boolean): number => {
        const index = actions.findIndex(holds);
        return index === -1 ? Number.NaN : index;
      };
      const cordon = at((action) => action.kind === "patch-node" && action.purpose === "cordon");
      const beat = at(({ kind }) => kind === "heartbeat");
      const evict = at(({ kind }) => kind === "evict" || kind === "delete-pods" || kind === "hand-over");
      expect(cordon > beat || beat > evict || cordon > evict).toBe(false);
      const complete = at(({ kind }) => kind === "complete");
      const news = at((action) => action.kind === "event" && action.reason === "DrainCompleted");
      expect(complete > news).toBe(false);
    });
  });

  it("what is remembered of a look is plain JSON, and the looks are counted", () => {
    every((seen, decision, choices) => {
      const { memory } = remember(seen, decision, [], choices);
      expect(JSON.parse(JSON.stringify(memory))).toEqual(memory);
      expect(memory.looks).toBe(seen.memory.looks + 1);
    });
  });
});
