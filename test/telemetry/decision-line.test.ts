import { describe, expect, test } from "vitest";
import type { PodView } from "../../lib/drain/cluster.ts";
import type { Action, Decision } from "../../lib/drain/decision.ts";
import type { Observation } from "../../lib/drain/observation.ts";
import { decisionLine, observationOf } from "../../lib/telemetry/decision-line.ts";
import { quietDecision, quietObservation } from "./quiet-look.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");
const observation = (differs: Partial<Observation> = {}): Observation => quietObservation(NOW, differs);
const decision = (differs: Partial<Decision> = {}): Decision => quietDecision(NOW, differs);

function pod(number: number): PodView {
  return {
    namespace: "shop",
    name: `database-with-a-long-name-${number}`,
    uid: `5b0b0a2e-0000-4000-8000-${String(number).padStart(12, "0")}`,
    nodeName: "ip-10-0-0-1",
    phase: "Running",
    createdAt: NOW,
    deleting: false,
    mirror: false,
    tolerations: Array.from({ length: 10 }, (_, index) => ({
      key: `key-${index}`,
      operator: "Exists" as const,
    })),
    labels: { "app.kubernetes.io/name": "database-with-a-long-name", hash: `${number * 7_919}` },
    containers: ["server"],
    claims: [`data-${number}`],
    inlineHandles: [],
  };
}

describe("the line of a look", () => {
  test("says which work, where it stands, why, what it asked and what comes next", () => {
    const line = decisionLine(observation(), decision(), false);
    expect(line).toMatchObject({
      message: "look",
      work: "gone-i-0abc-t5x2y0",
      cluster: "blue",
      group: "workers-a",
      instance: "i-0abc",
      node: "ip-10-0-0-1",
      look: 3,
      phase: "detaching",
      rules: ["D11"],
      reason: "one volume is still attached",
      next: "again in 5 s",
      deadline: "2026-11-02T09:40:00.000Z",
      calls: { "kubernetes.getNode": 1 },
    });
  });

  test("carries the observation and decision only when something changed", () => {
    const seen = observation();
    const quiet = decisionLine(seen, decision(), false);
    expect(quiet).not.toHaveProperty("observation");
    expect(quiet).not.toHaveProperty("decision");
    expect(observationOf(quiet)).toBeUndefined();
    const loud = decisionLine(seen, decision(), true);
    expect(loud).toMatchObject({ observation: seen, decision: decision() });
  });

  test("of a changed look replays: written and read again, its observation is the one that was decided", () => {
    const seen = observation({ pods: { kind: "read", value: [pod(1), pod(2)] } });
    const written = JSON.stringify(decisionLine(seen, decision(), true));
    expect(observationOf(JSON.parse(written) as Record<string, unknown>)).toEqual(seen);
  });

  test("stays under CloudWatch's 256 KiB with 737 pods on the node, and still replays", () => {
    const pods = Array.from({ length: 737 }, (_, index) => pod(index));
    const seen = observation({ pods: { kind: "read", value: pods } });
    expect(JSON.stringify(seen).length).toBeGreaterThan(256 * 1_024);
    const written = JSON.stringify(decisionLine(seen, decision(), true));
    expect(Buffer.byteLength(written)).toBeLessThan(256 * 1_024);
    expect(observationOf(JSON.parse(written) as Record<string, unknown>)).toEqual(seen);
  });

  test("shows ten names of what it waits for and counts the rest", () => {
    const waitingFor = Array.from({ length: 40 }, (_, index) => `shop/pod-${index}`);
    const verdicts = waitingFor.map((_, index) => ({
      verdict: "attached" as const,
      blocks: true,
      handle: `vol-${index}`,
      why: "both say so",
    }));
    const line = decisionLine(observation(), decision({ waitingFor, verdicts }), false);
    expect(line["waitingFor"]).toHaveLength(10);
    expect(line).toMatchObject({ waitingForCount: 40, blockingCount: 40 });
    expect((line["blocking"] as string[])[0]).toBe("vol-0 attached");
  });

  test("names only the volumes that block", () => {
    const verdicts = [
      { verdict: "leaked" as const, blocks: false, attachment: "csi-1", why: "EC2 has it nowhere" },
      { verdict: "busy" as const, blocks: true, attachment: "csi-2", why: "still mounted" },
    ];
    expect(decisionLine(observation(), decision({ verdicts }), false)["blocking"]).toEqual(["csi-2 busy"]);
  });

  test("names each failed request with its cause", () => {
    const failure = { operation: "kubernetes.getNode", cause: "forbidden", message: "may not get nodes" };
    const line = decisionLine(observation({ node: { kind: "failed", failure } }), decision(), false);
    expect(line["failed"]).toEqual(["kubernetes.getNode: forbidden: may not get nodes"]);
  });

  const target = { namespace: "shop", name: "db-0", uid: "u1" };
  test.each<[string, Action]>([
    ["heartbeat", { kind: "heartbeat" }],
    ["patch-node cordon", { kind: "patch-node", purpose: "cordon", patch: [] }],
    ["evict 3", { kind: "evict", groups: [[target], [target, target]] }],
    ["delete-pods 1", { kind: "delete-pods", pods: [target] }],
    ["hand-over shop/db-0", { kind: "hand-over", patch: [], pod: target }],
    ["force-off 1", { kind: "force-off", pods: [{ ...target, finished: false }], notAfter: NOW }],
    ["complete CONTINUE", { kind: "complete", result: "CONTINUE" }],
    [
      "event DrainStarted",
      { kind: "event", reason: "DrainStarted", detail: "", type: "Normal", message: "m" },
    ],
    ["metric DrainSeconds", { kind: "metric", name: "DrainSeconds", value: 1 }],
  ])("tells the action %s in a few words", (words, action) => {
    expect(decisionLine(observation(), decision({ actions: [action] }), false)["actions"]).toEqual([words]);
  });

  test("says how the work ended", () => {
    const next = { kind: "done", outcome: "freed", reason: "no attachment is left" } as const;
    expect(decisionLine(observation(), decision({ next }), false)["next"]).toBe("done: freed");
  });
});
