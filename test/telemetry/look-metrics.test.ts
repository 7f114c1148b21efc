import { describe, expect, it } from "vitest";
import type { Verdict, VolumeVerdict } from "../../lib/drain/decision.ts";
import { UNREAD } from "../../lib/drain/observation.ts";
import { SECOND } from "../../lib/drain/time.ts";
import { formatWork } from "../../lib/drain/work-order.ts";
import type { LookRecord } from "../../lib/engine/ports.ts";
import type { LookMetric } from "../../lib/telemetry/look-metrics.ts";
import { metricsOfLook, withLookMetrics } from "../../lib/telemetry/look-metrics.ts";
import {
  NOW,
  deadMachine,
  failed,
  goneTask,
  memory,
  node,
  observation,
  read,
  row,
  work,
} from "../drain/observation-builder.ts";
import { Recorder } from "../engine/recorder.ts";
import { quietDecision } from "./quiet-look.ts";

function look(differs: Partial<LookRecord> = {}): LookRecord {
  const quiet = { observation: observation(), decision: quietDecision(NOW) };
  return { ...quiet, changed: false, failures: [], causes: [], ...differs };
}

function named(name: LookMetric["name"], record: LookRecord): readonly LookMetric[] {
  return metricsOfLook(record).filter((metric) => metric.name === name);
}

describe("what a look tells in numbers", () => {
  it("is nothing where nothing changed and nothing failed", () => {
    expect(metricsOfLook(look())).toEqual([]);
  });

  it("is how long a stage took, at the look that ends it", () => {
    const since = { phase: "evicting", at: NOW - 42 * SECOND } as const;
    const inStage = (phase: "evicting" | "detaching") =>
      named(
        "StageSeconds",
        look({
          observation: observation({ memory: memory({ stage: since }) }),
          decision: quietDecision(NOW, { phase }),
        }),
      );

    expect(inStage("evicting")).toEqual([]);
    expect(inStage("detaching")).toEqual([
      { name: "StageSeconds", value: 42, dimensions: { stage: "evicting" } },
    ]);
  });

  it("is how long the hook held, from the hand-over to the end of the work", () => {
    const held = observation({ memory: memory({ handedOverAt: NOW - 7 * SECOND }) });
    const done = { kind: "done", outcome: "completed-by-hook", reason: "over" } as const;

    expect(named("HookHoldSeconds", look({ observation: held }))).toEqual([]);
    expect(
      named("HookHoldSeconds", look({ observation: held, decision: quietDecision(NOW, { next: done }) })),
    ).toEqual([{ name: "HookHoldSeconds", value: 7 }]);
  });

  it("is the volumes by verdict, where something moved", () => {
    const verdict = (kind: Verdict): VolumeVerdict => ({ verdict: kind, blocks: false, why: "read so" });
    const decision = quietDecision(NOW, { verdicts: [verdict("busy"), verdict("leaked"), verdict("busy")] });

    expect(named("Volumes", look({ decision }))).toEqual([]);
    expect(named("Volumes", look({ decision, changed: true }))).toEqual([
      { name: "Volumes", value: 2, dimensions: { verdict: "busy" } },
      { name: "Volumes", value: 1, dimensions: { verdict: "leaked" } },
    ]);
  });

  it("is what failed, reads and actions, by what has to be done about it", () => {
    const blind = observation({
      pods: failed("kubernetes.listPodsOnNode", "throttled"),
      ec2Volumes: failed("ec2.listAttachedVolumes", "forbidden"),
    });

    expect(named("ApiErrors", look({ observation: blind, causes: ["throttled"] }))).toEqual([
      { name: "ApiErrors", value: 2, dimensions: { cause: "throttled" } },
      { name: "ApiErrors", value: 1, dimensions: { cause: "forbidden" } },
    ]);
  });

  it("reaches the log's stream beside the look itself", () => {
    const recorder = new Recorder();

    withLookMetrics(recorder).look(look({ causes: ["server"] }));

    expect(recorder.metrics).toEqual([{ name: "ApiErrors", dimensions: { cause: "server" } }]);
  });
});

describe("a termination that nobody held", () => {
  const first = { ...memory(), looks: 0 };
  const rows = read([row("vol-1")]);
  const unheld = (differs: Parameters<typeof deadMachine>[0]): boolean =>
    named("UnheldTerminations", look({ observation: deadMachine({ memory: first, rows, ...differs }) }))
      .length > 0;
  const plain = node();
  const { work: _none, ...withoutWork } = plain;

  it("is seen at the first look at a machine that left attachments behind, without work on its Node (C11)", () => {
    expect(unheld({ node: read(withoutWork) })).toBe(true);
    expect(unheld({ node: read(withoutWork), memory: memory() })).toBe(false);
  });

  it("is none where a drain was at work, where nothing was attached, or where the Node is not known", () => {
    const order = formatWork(work(goneTask()));

    expect(unheld({ node: read({ ...plain, work: order }) })).toBe(false);
    expect(unheld({ node: read(withoutWork), rows: read([]) })).toBe(false);
    expect(unheld({ node: UNREAD })).toBe(false);
  });
});
