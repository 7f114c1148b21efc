/**
 * What an event means to us, read once. Every later decision sees a Signal, never the event.
 *
 * An event ends in one of three ways that are never confused: it is a signal; it is known or foreign and ignored, with the reason;
 * or it comes from a source we read and is broken, which is a SignalError.
 */
import { SignalError, readInstance, readOptionalText, readText, readTime, readWord } from "./event-fields.ts";
import type { HandledEvent, HandledKind } from "./handled-events.ts";
import {
  GONE_STATES,
  HANDLED_EVENTS,
  LIVING_STATES,
  UNHANDLED_EVENTS,
  isKnownSource,
} from "./handled-events.ts";
import type { Fields } from "./raw-json.ts";
import { isObject, shorten } from "./raw-json.ts";
import type { Destination, GoneState, SpotAction } from "./task.ts";
import type { Instant } from "./time.ts";
import { SECOND } from "./time.ts";

export { SignalError } from "./event-fields.ts";

export interface LifecycleSignal {
  readonly kind: "lifecycle";
  readonly at: Instant;
  readonly group: string;
  readonly hook: string;
  readonly token: string;
  readonly instance: string;
  readonly destination: Destination;
  /** Action ReplaceRootVolume: the same instance goes on afterwards. */
  readonly replacesRootVolume: boolean;
}

export interface SpotSignal {
  readonly kind: "spot";
  readonly at: Instant;
  readonly instance: string;
  readonly action: SpotAction;
  /** When EC2 acts. */
  readonly until: Instant;
}

export interface GoneSignal {
  readonly kind: "gone";
  readonly at: Instant;
  readonly instance: string;
  readonly state: GoneState;
}

export interface SweepSignal {
  readonly kind: "sweep";
  readonly at: Instant;
}

export interface IgnoredSignal {
  readonly kind: "ignored";
  readonly reason: string;
}

export type Signal = LifecycleSignal | SpotSignal | GoneSignal | SweepSignal | IgnoredSignal;

/** Where the deployment runs; what is absent is not compared (S8). */
export interface Here {
  readonly account?: string;
  readonly region?: string;
}

/** EC2 gives a spot instance two minutes between the warning and the interruption. */
const SPOT_NOTICE = 120 * SECOND;

/** Reads an EventBridge event (S1 to S8). Throws SignalError, and nothing else, for a broken event of a source we read. */
export function parseSignal(event: unknown, here: Here): Signal {
  if (!isObject(event)) return ignored("not an EventBridge event");
  const source = event["source"];
  if (typeof source !== "string") return ignored(reasonWithoutSource(event));
  if (!isKnownSource(source)) return ignored(`source ${shorten(source)} is not one of ours`);
  const elsewhere = reasonElsewhere(event, here);
  if (elsewhere !== undefined) return ignored(elsewhere);
  const detailType = readText(event, "detail-type", "detail-type");
  const handled = HANDLED_EVENTS.find((row) => row.source === source && row.detailType === detailType);
  if (handled !== undefined) return parseHandled(handled.kind, event);
  const unhandled = UNHANDLED_EVENTS.find(
    (row) => row.source === source && (row.detailType ?? detailType) === detailType,
  );
  return ignored(unhandled?.reason ?? `${source} "${shorten(detailType)}" is not handled`);
}

function parseHandled(kind: HandledEvent["kind"], event: Fields): Signal {
  const at = readTime(event, "time", "time");
  return PARSERS[kind](at, event);
}

const PARSERS: Readonly<Record<HandledKind, (at: Instant, event: Fields) => Signal>> = {
  lifecycle: parseLifecycle,
  spot: parseSpot,
  gone: parseGone,
  sweep: (at) => ({ kind: "sweep", at }),
};

/*
 * S1. {"source": "aws.autoscaling", "detail-type": "EC2 Instance-terminate Lifecycle Action", "time": "2026-11-02T09:30:00Z",
 *  "account": "111122223333", "region": "eu-west-1", "detail": {"LifecycleActionToken": "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
 *  "AutoScalingGroupName": "workers-a", "LifecycleHookName": "ebs-drain", "EC2InstanceId": "i-0f3a9c1d2b4e5f607",
 *  "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "Origin": "AutoScalingGroup", "Destination": "EC2"}}
 * Older events have no Origin and Destination. Root volume replacement adds "Action": "ReplaceRootVolume". The ARN in
 * `resources` may name another group.
 */
function parseLifecycle(at: Instant, event: Fields): LifecycleSignal {
  const detail = readDetail(event);
  return {
    kind: "lifecycle",
    at,
    group: readText(detail, "AutoScalingGroupName", "detail.AutoScalingGroupName"),
    hook: readText(detail, "LifecycleHookName", "detail.LifecycleHookName"),
    token: readText(detail, "LifecycleActionToken", "detail.LifecycleActionToken"),
    instance: readInstance(detail, "EC2InstanceId", "detail.EC2InstanceId"),
    destination:
      detail["Destination"] === undefined
        ? "EC2"
        : readWord<Destination>(detail, "Destination", "detail.Destination", [
            "EC2",
            "WarmPool",
            "AutoScalingGroup",
          ]),
    replacesRootVolume: readOptionalText(detail, "Action", "detail.Action") === "ReplaceRootVolume",
  };
}

/*
 * S2. {"source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning", "time": "2026-11-02T09:30:00Z",
 *  "detail": {"instance-id": "i-0f3a9c1d2b4e5f607", "instance-action": "terminate"}}
 */
function parseSpot(at: Instant, event: Fields): SpotSignal {
  const detail = readDetail(event);
  return {
    kind: "spot",
    at,
    instance: readInstance(detail, "instance-id", "detail.instance-id"),
    action: readWord<SpotAction>(detail, "instance-action", "detail.instance-action", [
      "terminate",
      "stop",
      "hibernate",
    ]),
    until: at + SPOT_NOTICE,
  };
}

/*
 * S3. {"source": "aws.ec2", "detail-type": "EC2 Instance State-change Notification", "time": "2026-11-02T09:30:00Z",
 *  "detail": {"instance-id": "i-0f3a9c1d2b4e5f607", "state": "shutting-down"}}
 */
function parseGone(at: Instant, event: Fields): GoneSignal | IgnoredSignal {
  const detail = readDetail(event);
  const instance = readInstance(detail, "instance-id", "detail.instance-id");
  const state = readWord(detail, "state", "detail.state", [...GONE_STATES, ...LIVING_STATES]);
  switch (state) {
    case "pending":
    case "running":
      return ignored(`instance ${state}: nothing to drain`);
    case "stopping":
    case "stopped":
    case "shutting-down":
    case "terminated":
      return { kind: "gone", at, instance, state };
    default:
      return state satisfies never;
  }
}

function readDetail(event: Fields): Fields {
  const detail = event["detail"];
  if (!isObject(detail)) throw new SignalError("detail", "an object", detail);
  return detail;
}

/*
 * S6, sent straight to a queue or topic when a notification target is added, never by EventBridge:
 * {"Service": "AWS Auto Scaling", "Event": "autoscaling:TEST_NOTIFICATION", "AutoScalingGroupName": "workers-a", …}
 */
function reasonWithoutSource(event: Fields): string {
  return event["Event"] === "autoscaling:TEST_NOTIFICATION"
    ? "a test notification of Auto Scaling"
    : "not an EventBridge event: it has no source";
}

/** S8. An event that does not say where it comes from is taken as ours: rules deliver only their own account's and region's. */
function reasonElsewhere(event: Fields, here: Here): string | undefined {
  const account = readOptionalText(event, "account", "account");
  const region = readOptionalText(event, "region", "region");
  if (account !== undefined && here.account !== undefined && account !== here.account) {
    return `of account ${shorten(account)}, not ${here.account}`;
  }
  if (region !== undefined && here.region !== undefined && region !== here.region) {
    return `of region ${shorten(region)}, not ${here.region}`;
  }
  return undefined;
}

function ignored(reason: string): IgnoredSignal {
  return { kind: "ignored", reason };
}
