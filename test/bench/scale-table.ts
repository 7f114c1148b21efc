/** The tables of docs/scale.md. */
import { LIST_OF_ALL, SERVICES, countOf, peakPerSecond, requestsOf, withoutSweep } from "./scale-figures.ts";
import type { ScaleRun } from "./scale-world.ts";

/** One drain, in clusters of different sizes. */
export function sizesTable(runs: readonly ScaleRun[]): string {
  const rows = runs.map(({ requests, afterwards, seconds, nodes, attachments }) => {
    const own = withoutSweep(requests);
    return row([
      nodes.toLocaleString("en-US"),
      attachments.toLocaleString("en-US"),
      secondsText(seconds),
      ...SERVICES.slice(0, 1).map((service) => String(requestsOf(own, service).length)),
      String(countOf(own, LIST_OF_ALL)),
      ...SERVICES.slice(1).map((service) => String(requestsOf(own, service).length)),
      String(withoutSweep(afterwards).filter(({ operation }) => isRequest(operation)).length),
    ]);
  });
  return [
    row([
      "Nodes",
      "VolumeAttachments",
      "until completed",
      "Kubernetes",
      "of these, lists of all attachments",
      "EC2",
      "Auto Scaling",
      "all three, afterwards",
    ]),
    row(["--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:"]),
    ...rows,
  ].join("\n");
}

/** Many instances in the same moment. */
export function instancesTable(runs: readonly (ScaleRun & { readonly drained: number })[]): string {
  const rows = runs.map(({ requests, seconds, drained }) => {
    const own = withoutSweep(requests);
    return row([
      String(drained),
      secondsText(seconds),
      ...SERVICES.map((service) => (requestsOf(own, service).length / drained).toFixed(1)),
      ...SERVICES.map((service) => String(peakPerSecond(requestsOf(requests, service)))),
    ]);
  });
  return [
    row([
      "instances",
      "until all are completed",
      "Kubernetes, per drain",
      "EC2",
      "Auto Scaling",
      "Kubernetes, busiest second",
      "EC2",
      "Auto Scaling",
    ]),
    row(["--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:"]),
    ...rows,
  ].join("\n");
}

function isRequest(operation: string): boolean {
  return SERVICES.some((service) => operation.startsWith(`${service}.`));
}

function secondsText(seconds: number): string {
  return `${seconds.toFixed(1)} s`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
