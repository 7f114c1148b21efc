/** H10: the Event on the Node that says how a hold ended. */
import { type HookEventReason, PRODUCT } from "../lib/drain/names.ts";
import { shortHash } from "../lib/drain/task.ts";
import { isoOf } from "../lib/drain/time.ts";
import { PortError } from "../lib/engine/errors.ts";
import { EVENT_NAMESPACE } from "../lib/engine/permissions.ts";
import type { ApiConnection } from "./api-connection.ts";
import type { HoldEnd } from "./hold-end.ts";
import { completionText } from "./hold-end.ts";

/** Milliseconds. The answer waits for it: an API server that cannot take it in this time gets none. */
const TIMEOUT = 1_000;
const LONGEST_MESSAGE = 1_000;

export interface EventSubject {
  readonly node: string;
  /** Absent where the Node could never be read. */
  readonly nodeUid?: string;
  readonly pod: string;
}

/** @throws PortError */
export async function recordEnd(
  connection: ApiConnection,
  subject: EventSubject,
  end: HoldEnd,
  at: number,
): Promise<void> {
  const path = `/api/v1/namespaces/${EVENT_NAMESPACE}/events`;
  const signal = AbortSignal.timeout(TIMEOUT);
  const body = eventOf(subject, end, at);
  try {
    await connection.read({ operation: "recordEvent", path, body, timeout: TIMEOUT, signal });
  } catch (error) {
    // It is there already: an earlier try's answer was lost.
    if (!(error instanceof PortError) || error.kind !== "conflict") throw error;
  }
}

function eventOf({ node, nodeUid, pod }: EventSubject, end: HoldEnd, at: number): unknown {
  const time = isoOf(at);
  const message = eventMessage(end);
  const component = `${PRODUCT}-hook`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      namespace: EVENT_NAMESPACE,
      name: `${node.slice(0, 220)}.${at.toString(16)}.${shortHash(`${pod} ${message}`)}`,
    },
    involvedObject: {
      apiVersion: "v1",
      kind: "Node",
      name: node,
      ...(nodeUid === undefined ? {} : { uid: nodeUid }),
    },
    type: end.left.length > 0 || end.completion?.kind === "failed" ? "Warning" : "Normal",
    reason: eventReason(end),
    message: message.slice(0, LONGEST_MESSAGE),
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    source: { component, host: node },
    reportingComponent: component,
    reportingInstance: pod,
  };
}

function eventReason(end: HoldEnd): HookEventReason {
  if (end.detached) return "VolumesDetached";
  switch (end.rule) {
    case "H6":
      return "HookCalledOff";
    case "H8":
    case "H13":
      return "HookDeadline";
    case "H12":
      return "HookDriverGone";
    case "H1":
    case "H3":
    case "H4":
    case "H5":
    case "H7":
      return "HookReleased";
    default:
      return end.rule satisfies never;
  }
}

function eventMessage(end: HoldEnd): string {
  const left =
    end.left.length === 0 ? "" : `; left: ${end.left.slice(0, 5).join(", ")}${more(end.left.length)}`;
  return `${end.rule}: ${end.reason}${left}${completionText(end.completion)}`;
}

function more(count: number): string {
  return count > 5 ? ` and ${count - 5} more` : "";
}
