import { describe, expect, test } from "vitest";
import { createTelemetry, telemetryOf } from "../../lib/telemetry/metrics.ts";
import { quietDecision, quietObservation } from "./quiet-look.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");

function recorder(): { lines: Record<string, unknown>[]; write: (line: string) => void } {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) };
}

interface Embedded {
  readonly Timestamp: number;
  readonly CloudWatchMetrics: readonly {
    readonly Namespace: string;
    readonly Dimensions: readonly (readonly string[])[];
    readonly Metrics: readonly { readonly Name: string; readonly Unit: string }[];
  }[];
}

function embeddedOf(line: Record<string, unknown> | undefined): Embedded {
  return line?.["_aws"] as Embedded;
}

describe("log lines", () => {
  test("each is one JSON object with its time and the stream's fields", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW, fields: { execution: "gone-i-1-0" } }).log({ message: "look" });
    expect(lines).toEqual([{ time: "2026-11-02T09:30:00.000Z", execution: "gone-i-1-0", message: "look" }]);
  });

  test("a value that JSON cannot hold never throws and keeps the plain parts", () => {
    const { lines, write } = recorder();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    createTelemetry({ write, now: () => NOW }).log({ message: "look", cycle, count: 2 });
    expect(lines[0]).toMatchObject({
      message: "look",
      count: 2,
      unwritable: expect.stringContaining("circular"),
    });
    expect(lines[0]).not.toHaveProperty("cycle");
  });
});

describe("the decision log", () => {
  test("has one line per look, with the actions that failed", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW }).look({
      observation: quietObservation(NOW),
      decision: quietDecision(NOW),
      changed: false,
      failures: ["evict: throttled: slow down"],
      causes: ["throttled"],
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ message: "look", failures: ["evict: throttled: slow down"] });
  });

  test("says nothing of failed actions where none failed", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW }).look({
      observation: quietObservation(NOW),
      decision: quietDecision(NOW),
      changed: true,
      failures: [],
      causes: [],
    });
    expect(lines[0]).not.toHaveProperty("failures");
    expect(lines[0]).toHaveProperty("observation");
  });
});

describe("metrics in CloudWatch's embedded format", () => {
  test("a metric stands in the product's namespace, with and without the cluster and group", () => {
    const { lines, write } = recorder();
    const telemetry = createTelemetry({
      write,
      now: () => NOW,
      dimensions: { cluster: "blue", group: "workers-a" },
    });
    telemetry.metric("DrainsStarted", 1);
    expect(lines[0]).toMatchObject({ cluster: "blue", group: "workers-a", DrainsStarted: 1 });
    expect(embeddedOf(lines[0])).toEqual({
      Timestamp: NOW,
      CloudWatchMetrics: [
        {
          Namespace: "ebs-drain",
          Dimensions: [[], ["cluster", "group"]],
          Metrics: [{ Name: "DrainsStarted", Unit: "Count" }],
        },
      ],
    });
  });

  test("a dimension of the call is a set of its own, so that an alarm can tell causes apart (D17)", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW, dimensions: { cluster: "blue" } }).metric(
      "ClusterUnreachable",
      1,
      {
        cause: "authentication",
      },
    );
    expect(embeddedOf(lines[0]).CloudWatchMetrics[0]?.Dimensions).toEqual([
      [],
      ["cause"],
      ["cluster", "cause"],
    ]);
    expect(lines[0]).toMatchObject({ cause: "authentication", cluster: "blue" });
  });

  test("a call that repeats the stream's dimension is not billed twice", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW, dimensions: { cluster: "blue" } }).metric("ApiErrors", 1, {
      cluster: "green",
    });
    expect(embeddedOf(lines[0]).CloudWatchMetrics[0]?.Dimensions).toEqual([[], ["cluster"]]);
    expect(lines[0]).toMatchObject({ cluster: "green" });
  });

  test("an empty dimension is left out: CloudWatch would drop the whole metric", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW, dimensions: { cluster: "" } }).metric("ApiErrors", 1, {
      cause: "",
    });
    expect(embeddedOf(lines[0]).CloudWatchMetrics[0]?.Dimensions).toEqual([[]]);
  });

  test("durations are seconds", () => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW }).metric("DrainSeconds", 83.2);
    expect(embeddedOf(lines[0]).CloudWatchMetrics[0]?.Metrics).toEqual([
      { Name: "DrainSeconds", Unit: "Seconds" },
    ]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("%s is no value: it is told, not sent", (value) => {
    const { lines, write } = recorder();
    createTelemetry({ write, now: () => NOW }).metric("DrainSeconds", value);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ message: "metric left out", metric: "DrainSeconds" });
    expect(lines[0]).not.toHaveProperty("_aws");
  });

  test("a task's stream adds its fields and dimensions to the function's", () => {
    const { lines, write } = recorder();
    const options = { write, now: () => NOW, fields: { part: "drain" }, namespace: "test" };
    telemetryOf(options, { fields: { work: "w" }, dimensions: { cluster: "blue" } }).metric(
      "DrainsStarted",
      1,
    );
    expect(lines[0]).toMatchObject({ part: "drain", work: "w", cluster: "blue" });
    expect(embeddedOf(lines[0]).CloudWatchMetrics[0]?.Namespace).toBe("test");
  });
});
