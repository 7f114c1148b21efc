/**
 * Log lines and metrics as JSON lines on one stream. Metrics use CloudWatch's embedded metric format: CloudWatch Logs makes metrics
 * of the lines by itself, so no call can fail or be throttled, and the line stays searchable.
 */
import { type MetricName, PRODUCT } from "../drain/names.ts";
import { type Instant, isoOf } from "../drain/time.ts";
import type { TelemetryPort } from "../engine/ports.ts";
import { decisionLine } from "./decision-line.ts";

export interface TelemetryOptions {
  /** Takes one line without its line break. Must not add a prefix: CloudWatch reads the line as JSON. */
  readonly write: (line: string) => void;
  readonly now: () => Instant;
  /** CloudWatch namespace. Default: the product's name. */
  readonly namespace?: string;
  /** Fields of every line, such as the execution's name. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Dimensions of every metric: cluster and group. */
  readonly dimensions?: Readonly<Record<string, string>>;
}

/** Characters of a dimension's value. */
const VALUE_LIMIT = 1_024;
const UNITS: Readonly<Partial<Record<MetricName, string>>> = {
  DrainSeconds: "Seconds",
  StageSeconds: "Seconds",
  HookHoldSeconds: "Seconds",
};

/** Never throws and never waits: what cannot be written as JSON is written as text. */
export function createTelemetry(options: TelemetryOptions): TelemetryPort {
  const write = (line: Readonly<Record<string, unknown>>): void => {
    options.write(jsonOf({ time: isoOf(options.now()), ...options.fields, ...line }));
  };
  return {
    look: ({ observation, decision, changed, failures }) =>
      write({
        ...decisionLine(observation, decision, changed),
        ...(failures.length > 0 ? { failures } : {}),
      }),
    log: write,
    metric: (name, value, dimensions = {}) => {
      if (!Number.isFinite(value)) {
        write({ message: "metric left out", metric: name, reason: `its value is ${value}` });
        return;
      }
      write(metricLine(options, name, value, dimensions));
    },
  };
}

/** The same stream with more fields and dimensions: one per task. */
export function telemetryOf(
  options: TelemetryOptions,
  more: Pick<TelemetryOptions, "fields" | "dimensions">,
): TelemetryPort {
  return createTelemetry({
    ...options,
    fields: { ...options.fields, ...more.fields },
    dimensions: { ...options.dimensions, ...more.dimensions },
  });
}

/**
 * Three sets at most: without dimensions, which alarms watch; the call's own, such as `cause`, so that an alarm can tell causes
 * apart; and all together. Each set is a metric of its own that CloudWatch bills.
 */
function dimensionSets(base: readonly string[], own: readonly string[]): readonly (readonly string[])[] {
  const all = [...new Set([...base, ...own])];
  return [[], ...(own.length > 0 ? [own] : []), ...(all.length > own.length ? [all] : [])];
}

function metricLine(
  options: TelemetryOptions,
  name: MetricName,
  value: number,
  own: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const base = usable(options.dimensions ?? {});
  const ownUsable = usable(own);
  return {
    message: "metric",
    ...base,
    ...ownUsable,
    [name]: value,
    _aws: {
      Timestamp: options.now(),
      CloudWatchMetrics: [
        {
          Namespace: options.namespace ?? PRODUCT,
          Dimensions: dimensionSets(Object.keys(base), Object.keys(ownUsable)),
          Metrics: [{ Name: name, Unit: UNITS[name] ?? "Count" }],
        },
      ],
    },
  };
}

/** CloudWatch refuses a metric with an empty or longer value. */
function usable(dimensions: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(dimensions)
      .filter(([, text]) => text !== "")
      .map(([key, text]) => [key, text.slice(0, VALUE_LIMIT)]),
  );
}

function jsonOf(line: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(line);
  } catch (error) {
    // A cycle or a bigint: the line's plain parts still tell what happened.
    const plain = Object.entries(line).filter(
      ([, value]) => typeof value === "string" || typeof value === "number" || typeof value === "boolean",
    );
    return JSON.stringify({ ...Object.fromEntries(plain), unwritable: String(error) });
  }
}
