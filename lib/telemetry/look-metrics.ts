/** What a look tells in numbers, beside the metrics that its decision asks for: only what was seen, nothing that changes anything. */
import type { MetricName } from "../drain/names.ts";
import type { Observation } from "../drain/observation.ts";
import { valueOf } from "../drain/observation.ts";
import { SECOND } from "../drain/time.ts";
import { readWork } from "../drain/work-order.ts";
import type { LookRecord, TelemetryPort } from "../engine/ports.ts";

export interface LookMetric {
  readonly name: MetricName;
  readonly value: number;
  readonly dimensions?: Readonly<Record<string, string>>;
}

/** The same port, which also measures each look that it is told of. */
export function withLookMetrics(telemetry: TelemetryPort): TelemetryPort {
  return {
    ...telemetry,
    look: (record) => {
      telemetry.look(record);
      for (const { name, value, dimensions } of metricsOfLook(record)) {
        telemetry.metric(name, value, dimensions);
      }
    },
  };
}

/** Pure. */
export function metricsOfLook(record: LookRecord): readonly LookMetric[] {
  return [
    ...stageEnded(record),
    ...hookHeld(record),
    ...volumesByVerdict(record),
    ...errorsByCause(record),
    ...(isUnheld(record.observation) ? [{ name: "UnheldTerminations" as const, value: 1 }] : []),
  ];
}

/** How long the phase lasted that this look ends. */
function stageEnded({ observation: { at, memory }, decision }: LookRecord): readonly LookMetric[] {
  const { stage } = memory;
  if (stage === undefined || stage.phase === decision.phase) return [];
  return [{ name: "StageSeconds", value: (at - stage.at) / SECOND, dimensions: { stage: stage.phase } }];
}

/** From the hand-over to the end of the work, as the drain sees it: the hook's own wait is in its pod's log. */
function hookHeld({ observation: { at, memory }, decision }: LookRecord): readonly LookMetric[] {
  return decision.next.kind === "done" && memory.handedOverAt !== undefined
    ? [{ name: "HookHoldSeconds", value: (at - memory.handedOverAt) / SECOND }]
    : [];
}

/** Only where something moved: a drain may wait for hours. */
function volumesByVerdict({ decision, changed }: LookRecord): readonly LookMetric[] {
  if (!changed) return [];
  const counts = Map.groupBy(decision.verdicts, ({ verdict }) => verdict);
  return [...counts].map(([verdict, volumes]) => ({
    name: "Volumes",
    value: volumes.length,
    dimensions: { verdict },
  }));
}

/** Reads and actions that failed, by what the caller has to do about it (engine/errors.ts). */
function errorsByCause({ observation, causes }: LookRecord): readonly LookMetric[] {
  const all = [...causesOfReads(observation), ...causes];
  return [...Map.groupBy(all, (cause) => cause)].map(([cause, failures]) => ({
    name: "ApiErrors",
    value: failures.length,
    dimensions: { cause },
  }));
}

function causesOfReads(observation: Observation): readonly string[] {
  const { instance, member, node, csiNode, lease, pods, attachments, rows, ec2Volumes, elsewhere, others } =
    observation;
  return [
    instance,
    member,
    node,
    csiNode,
    lease,
    pods,
    attachments,
    rows,
    ec2Volumes,
    elsewhere,
    others,
  ].flatMap((reading) => (reading.kind === "failed" ? [reading.failure.cause] : []));
}

/** At the first look at a machine that is gone: it left attachments behind, and nobody was at work on its Node. */
function isUnheld({ task, memory, rows, node }: Observation): boolean {
  const found = valueOf(node);
  return (
    task.kind === "gone" &&
    memory.looks === 0 &&
    (valueOf(rows) ?? []).length > 0 &&
    !!found &&
    readWork(found).kind !== "open"
  );
}
