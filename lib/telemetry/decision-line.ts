/**
 * The one log line of a look: what was seen and what was decided, together. A line that carries the observation replays the
 * decision (`observationOf`); it does so only when something changed since the last look, because a drain may wait for hours.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import type { Action, Decision, Next } from "../drain/decision.ts";
import type { Observation } from "../drain/observation.ts";
import { isoOf } from "../drain/time.ts";

/** The line's `message`: log queries select looks by it. */
export const LOOK = "look";

/** Names of one kind in the short part; the count is always told. */
const NAMES_SHOWN = 10;
/** Characters of JSON up to which an observation is logged as it is. CloudWatch Logs takes 256 KiB per event, the decision included. */
const PLAIN_LIMIT = 150_000;

/**
 * The line of a look. `changed`: something moved since the last one (its progress mark differs), so the whole observation and
 * decision go with it, under `observation` or, where that is large, as gzip in base64 under `observationGzip`.
 */
export function decisionLine(
  observation: Observation,
  decision: Decision,
  changed: boolean,
): Record<string, unknown> {
  return {
    ...summary(observation, decision),
    ...(changed ? { decision, ...packed(observation) } : {}),
  };
}

/** The observation that a logged line carries, ready to be decided again; undefined for a short line. Throws on a damaged one. */
export function observationOf(line: Readonly<Record<string, unknown>>): Observation | undefined {
  const gzip = line["observationGzip"];
  if (typeof gzip === "string") {
    return JSON.parse(gunzipSync(Buffer.from(gzip, "base64")).toString("utf8")) as Observation;
  }
  return line["observation"] as Observation | undefined;
}

function packed(observation: Observation): Record<string, unknown> {
  const text = JSON.stringify(observation);
  return text.length <= PLAIN_LIMIT
    ? { observation }
    : { observationGzip: gzipSync(text).toString("base64"), observationLength: text.length };
}

function summary(observation: Observation, decision: Decision): Record<string, unknown> {
  const { task, memory } = observation;
  const blocking = decision.verdicts.filter((verdict) => verdict.blocks);
  return {
    message: LOOK,
    work: task.id,
    cluster: task.cluster,
    group: task.group,
    instance: task.instance,
    node: memory.node?.name,
    look: memory.looks,
    phase: decision.phase,
    rules: decision.rules,
    reason: decision.reason,
    actions: decision.actions.map(actionName),
    next: nextText(decision.next),
    deadline: isoOf(decision.deadline),
    ...shown("waitingFor", decision.waitingFor),
    ...shown(
      "blocking",
      blocking.map((verdict) => `${verdict.handle ?? verdict.attachment ?? "?"} ${verdict.verdict}`),
    ),
    ...failures(observation),
    calls: observation.calls,
  };
}

/** Nothing for an empty list; else its first names and how many there are. */
function shown(name: string, all: readonly string[]): Record<string, unknown> {
  return all.length === 0 ? {} : { [name]: all.slice(0, NAMES_SHOWN), [`${name}Count`]: all.length };
}

function failures(observation: Observation): Record<string, unknown> {
  const failed = Object.values(observation)
    .filter(isFailedReading)
    .map(({ failure }) => `${failure.operation}: ${failure.cause}: ${failure.message}`);
  return failed.length === 0 ? {} : { failed };
}

function isFailedReading(
  value: unknown,
): value is { readonly failure: { operation: string; cause: string; message: string } } {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "failed";
}

/** An action in a word or two; the whole one is in `decision`. */
function actionName(action: Action): string {
  switch (action.kind) {
    case "patch-node":
      return `patch-node ${action.purpose}`;
    case "evict":
      return `evict ${action.groups.flat().length}`;
    case "delete-pods":
      return `delete-pods ${action.pods.length}`;
    case "hand-over":
      return `hand-over ${action.pod.namespace}/${action.pod.name}`;
    case "force-off":
      return `force-off ${action.pods.length}`;
    case "complete":
      return `complete ${action.result}`;
    case "event":
      return `event ${action.reason}`;
    case "metric":
      return `metric ${action.name}`;
    case "heartbeat":
      return "heartbeat";
    default:
      return action satisfies never;
  }
}

function nextText(next: Next): string {
  switch (next.kind) {
    case "again":
      return `again in ${next.inSeconds} s`;
    case "done":
      return `done: ${next.outcome}`;
    default:
      return next satisfies never;
  }
}
