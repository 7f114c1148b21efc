/** A recorded event: which situation it comes from, and the world that is built around what it names. */
import type { Here, Signal } from "../drain/signal.ts";
import { parseSignal } from "../drain/signal.ts";
import { LIFECYCLE_HOOK } from "../drain/names.ts";
import { isObject } from "../drain/raw-json.ts";
import type { BusEvent } from "../sim/event-bridge.ts";
import type { Scenario, Subject } from "../sim/scenario.ts";
import { scenarioOf } from "../sim/scenarios.ts";
import type { Recorded } from "./run.ts";

/** The group of an instance whose event names none. */
export const GROUP = "workers-a";

export interface Replay {
  readonly scenario: Scenario;
  readonly subject: Subject;
  readonly recorded: Recorded;
}

/** Undefined where no machine's end comes of the event: the dispatcher says why. Throws SignalError for a broken one. */
export function replayOf(event: unknown): Replay | undefined {
  const here = hereOf(event);
  const signal = parseSignal(event, here);
  const name = scenarioNameOf(signal);
  const scenario = name === undefined ? undefined : scenarioOf(name);
  if (scenario === undefined || signal.kind === "ignored" || signal.kind === "sweep") return undefined;
  return {
    scenario,
    subject: subjectOf(signal),
    recorded: {
      at: signal.at,
      here,
      inPlaceOf: (made) => (isCounterpart(made, signal) ? event : undefined),
    },
  };
}

/** The deployment that is simulated is the one that the event comes from. */
export function hereOf(event: unknown): Here {
  if (!isObject(event)) return {};
  const { account, region } = event;
  return {
    ...(typeof account === "string" ? { account } : {}),
    ...(typeof region === "string" ? { region } : {}),
  };
}

function scenarioNameOf(signal: Signal): string | undefined {
  switch (signal.kind) {
    case "lifecycle":
      if (signal.hook !== LIFECYCLE_HOOK) return undefined;
      if (signal.replacesRootVolume) return "replace-root-volume";
      return signal.destination === "WarmPool" ? "warm-pool" : "scale-in";
    case "spot":
      return "spot";
    case "gone":
      return signal.state === "stopping" || signal.state === "stopped" ? "console-stop" : "console-terminate";
    case "sweep":
    case "ignored":
      return undefined;
    default:
      return signal satisfies never;
  }
}

function subjectOf(signal: Exclude<Signal, { readonly kind: "ignored" | "sweep" }>): Subject {
  const { instance } = signal;
  switch (signal.kind) {
    case "lifecycle":
      return { group: signal.group, instance, token: signal.token };
    case "spot":
      return { group: GROUP, instance, spotAction: signal.action };
    case "gone":
      return { group: GROUP, instance };
    default:
      return signal satisfies never;
  }
}

/** The event that the world makes of the same happening. */
function isCounterpart(made: BusEvent, signal: Signal): boolean {
  if (made.source === "aws.events") return false;
  const other = parseSignal(made, {});
  if (other.kind !== signal.kind || other.kind === "ignored" || other.kind === "sweep") return false;
  if (!("instance" in signal) || other.instance !== signal.instance) return false;
  if (other.kind === "gone" && signal.kind === "gone") return other.state === signal.state;
  return other.kind !== "lifecycle" || (signal.kind === "lifecycle" && other.token === signal.token);
}
