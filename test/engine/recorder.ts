/** Telemetry that keeps what it was told. */
import type { MetricName } from "../../lib/drain/names.ts";
import type { TelemetryPort } from "../../lib/engine/ports.ts";

export class Recorder implements TelemetryPort {
  readonly lines: Readonly<Record<string, unknown>>[] = [];
  readonly metrics: { readonly name: MetricName; readonly dimensions: Readonly<Record<string, string>> }[] =
    [];

  readonly look: TelemetryPort["look"] = () => undefined;
  readonly log: TelemetryPort["log"] = (line) => {
    this.lines.push(line);
  };
  readonly metric: TelemetryPort["metric"] = (name, _value, dimensions = {}) => {
    this.metrics.push({ name, dimensions });
  };

  count(name: MetricName): number {
    return this.metrics.filter((metric) => metric.name === name).length;
  }
}
