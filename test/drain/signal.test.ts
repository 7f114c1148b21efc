import { readFileSync, readdirSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HANDLED_EVENTS } from "../../lib/drain/handled-events.ts";
import type { Signal } from "../../lib/drain/signal.ts";
import { SignalError, parseSignal } from "../../lib/drain/signal.ts";

type Json = Readonly<Record<string, unknown>>;
interface Event extends Json {
  readonly detail: Json;
}

const HERE = { account: "111122223333", region: "eu-west-1" };
const AT = Date.parse("2026-11-02T09:30:00Z");
const INSTANCE = "i-0f3a9c1d2b4e5f607";
const FIXTURES = new URL("../fixtures/events/", import.meta.url);

const LIFECYCLE: Signal = {
  kind: "lifecycle",
  at: AT,
  group: "workers-a",
  hook: "ebs-drain",
  token: "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
  instance: INSTANCE,
  destination: "EC2",
  replacesRootVolume: false,
};
const NOT_ACTED_ON = "not acted on: the replacement itself arrives as a lifecycle action or a state change";

/** Every fixture there is and what it means. */
const MEANINGS: Readonly<Record<string, Signal>> = {
  "direct-test-notification": { kind: "ignored", reason: "a test notification of Auto Scaling" },
  "health-scheduled-change": { kind: "ignored", reason: NOT_ACTED_ON },
  "health-scheduled-change-backup-copy": { kind: "ignored", reason: "of region us-west-2, not eu-west-1" },
  "health-scheduled-change-closed": { kind: "ignored", reason: NOT_ACTED_ON },
  "lifecycle-launch": { kind: "ignored", reason: "a launch: nothing to drain" },
  "lifecycle-terminate": LIFECYCLE,
  "lifecycle-terminate-foreign-hook": { ...LIFECYCLE, hook: "Terminate-LC-Hook" },
  "lifecycle-terminate-old-shape": LIFECYCLE,
  "lifecycle-terminate-replace-root-volume": {
    ...LIFECYCLE,
    destination: "AutoScalingGroup",
    replacesRootVolume: true,
  },
  "lifecycle-terminate-to-warm-pool": { ...LIFECYCLE, at: AT + 214, destination: "WarmPool" },
  "rebalance-recommendation": { kind: "ignored", reason: NOT_ACTED_ON },
  "schedule-sweep": { kind: "sweep", at: AT },
  "spot-interruption": {
    kind: "spot",
    at: AT,
    instance: INSTANCE,
    action: "terminate",
    until: AT + 120_000,
  },
  "state-change-running": { kind: "ignored", reason: "instance running: nothing to drain" },
  "state-change-shutting-down": { kind: "gone", at: AT, instance: INSTANCE, state: "shutting-down" },
  "state-change-stopped": { kind: "gone", at: AT, instance: INSTANCE, state: "stopped" },
  "state-change-stopping": { kind: "gone", at: AT, instance: INSTANCE, state: "stopping" },
  "state-change-terminated": { kind: "gone", at: AT, instance: INSTANCE, state: "terminated" },
};

function fixture(name: string): Event {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), "utf8")) as Event;
}

function withDetail(event: Event, detail: Json): Event {
  return { ...event, detail: { ...event.detail, ...detail } };
}

function without(fields: Json, key: string): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key));
}

function failure(event: unknown): SignalError {
  let signal: Signal;
  try {
    signal = parseSignal(event, HERE);
  } catch (error) {
    if (error instanceof SignalError) return error;
    throw error;
  }
  throw new Error(`parsed as ${JSON.stringify(signal)}`);
}

/** The three ways an event may end, as text; any other error is thrown on. */
function outcome(event: unknown): string {
  try {
    const signal = parseSignal(event, HERE);
    return signal.kind === "ignored" ? `ignored: ${signal.reason}` : signal.kind;
  } catch (error) {
    if (error instanceof SignalError) return String(error);
    throw error;
  }
}

describe("parseSignal on the events of EventBridge", () => {
  it("has a meaning for every recorded event", () => {
    const files = readdirSync(FIXTURES).map((file) => file.replace(/\.json$/, ""));
    expect(Object.keys(MEANINGS).sort()).toEqual(files.sort());
  });

  it.each(Object.entries(MEANINGS))("reads %s", (name, meaning) => {
    expect(parseSignal(fixture(name), HERE)).toEqual(meaning);
  });
});

describe("S1: a terminate lifecycle action is a lifecycle signal", () => {
  it("takes an absent destination for EC2", () => {
    expect(fixture("lifecycle-terminate-old-shape").detail["Destination"]).toBeUndefined();
    expect(parseSignal(fixture("lifecycle-terminate-old-shape"), HERE)).toMatchObject({ destination: "EC2" });
  });

  it("trusts the group in the detail, not the ARN in resources", () => {
    const event = fixture("lifecycle-terminate-old-shape");
    expect(JSON.stringify(event["resources"])).toContain("another-group-name");
    expect(parseSignal(event, HERE)).toMatchObject({ group: "workers-a" });
  });

  it("takes another action than the root volume's for none", () => {
    const event = withDetail(fixture("lifecycle-terminate"), { Action: "Terminate" });
    expect(parseSignal(event, HERE)).toEqual(LIFECYCLE);
  });
});

describe("S2: a spot interruption warning is a spot signal", () => {
  it.each(["terminate", "stop", "hibernate"])("keeps the action %s", (action) => {
    const event = withDetail(fixture("spot-interruption"), { "instance-action": action });
    expect(parseSignal(event, HERE)).toMatchObject({ kind: "spot", action });
  });

  it("counts its two minutes from the event's time, fractions and zone included", () => {
    const event = { ...fixture("spot-interruption"), time: "2026-11-02T10:30:00.500+01:00" };
    expect(parseSignal(event, HERE)).toMatchObject({ at: AT + 500, until: AT + 120_500 });
  });
});

describe("S3 and S6: a state change is a gone signal only where the machine ends", () => {
  it.each([
    ["stopping", "gone"],
    ["stopped", "gone"],
    ["shutting-down", "gone"],
    ["terminated", "gone"],
    ["pending", "ignored"],
    ["running", "ignored"],
  ])("%s is %s", (state, kind) => {
    expect(parseSignal(withDetail(fixture("state-change-stopped"), { state }), HERE).kind).toBe(kind);
  });
});

describe("S4: what the replacement itself will tell us is ignored (C12)", () => {
  it.each([
    ["aws.ec2", "EC2 Instance Rebalance Recommendation"],
    ["aws.health", "AWS Health Event"],
    ["aws.health", "AWS Health Abuse Event"],
  ])('%s "%s" is not acted on, whatever its body', (source, detailType) => {
    const event = { source, "detail-type": detailType, time: 5, detail: null };
    expect(parseSignal(event, HERE)).toEqual({ kind: "ignored", reason: NOT_ACTED_ON });
  });
});

describe("S5: the schedule is a sweep", () => {
  it("needs no detail", () => {
    expect(parseSignal(without(fixture("schedule-sweep"), "detail"), HERE)).toEqual({
      kind: "sweep",
      at: AT,
    });
  });
});

describe("S6: ignored and broken are never confused", () => {
  it.each<[string, unknown]>([
    ["null", null],
    ["a string", "aws.ec2"],
    ["an array", [fixture("lifecycle-terminate")]],
    ["an event without a source", without(fixture("lifecycle-terminate"), "source")],
    ["an event whose source is a number", { ...fixture("lifecycle-terminate"), source: 5 }],
    ["an unknown source", { ...fixture("lifecycle-terminate"), source: "com.example.shop", detail: 1 }],
    [
      "a detail-type nobody handles",
      { ...fixture("spot-interruption"), "detail-type": "EBS Volume Notification" },
    ],
    ["our detail-type from another source", { ...fixture("lifecycle-terminate"), source: "aws.ec2" }],
  ])("ignores %s with a reason", (_, event) => {
    const signal = parseSignal(event, HERE);
    expect(signal.kind).toBe("ignored");
    expect(signal).toHaveProperty("reason", expect.stringMatching(/\w/));
  });

  it("shortens what it repeats of a stranger's event", () => {
    const signal = parseSignal({ source: "x".repeat(100_000) }, HERE);
    expect(JSON.stringify(signal).length).toBeLessThan(200);
  });

  const required: readonly [string, string][] = [
    ["lifecycle-terminate", "time"],
    ["lifecycle-terminate", "detail-type"],
    ["lifecycle-terminate", "detail"],
    ["lifecycle-terminate", "detail.AutoScalingGroupName"],
    ["lifecycle-terminate", "detail.LifecycleHookName"],
    ["lifecycle-terminate", "detail.LifecycleActionToken"],
    ["lifecycle-terminate", "detail.EC2InstanceId"],
    ["spot-interruption", "time"],
    ["spot-interruption", "detail"],
    ["spot-interruption", "detail.instance-id"],
    ["spot-interruption", "detail.instance-action"],
    ["state-change-terminated", "time"],
    ["state-change-terminated", "detail"],
    ["state-change-terminated", "detail.instance-id"],
    ["state-change-terminated", "detail.state"],
    ["state-change-running", "detail.instance-id"],
    ["schedule-sweep", "time"],
    ["schedule-sweep", "detail-type"],
  ];

  function withField(name: string, path: string, value: unknown): unknown {
    const event = fixture(name);
    const key = path.replace(/^detail\./, "");
    return path.startsWith("detail.") ? withDetail(event, { [key]: value }) : { ...event, [key]: value };
  }

  it.each(required)("%s without %s is broken and says so", (name, path) => {
    const error = failure(withField(name, path, undefined));
    expect(error.field).toBe(path);
    expect(error.message).toMatch(new RegExp(`^${path}: expected .+, got nothing$`));
  });

  it.each(required)("%s with a %s of a wrong type is broken and says so", (name, path) => {
    for (const value of [5, "", null, ["x"], true]) {
      expect(failure(withField(name, path, value)).field).toBe(path);
    }
  });

  it.each<[string, string, unknown, string]>([
    ["lifecycle-terminate", "detail.Destination", "Moon", "one of EC2, WarmPool, AutoScalingGroup"],
    ["lifecycle-terminate", "detail.Destination", null, "got null"],
    ["lifecycle-terminate", "detail.Action", 7, "got the number 7"],
    ["lifecycle-terminate", "detail.EC2InstanceId", "i-0F3A9C1D2B4E5F607", "an instance id such as"],
    ["lifecycle-terminate", "detail.EC2InstanceId", `i-${"0".repeat(18)}`, "an instance id such as"],
    ["lifecycle-terminate", "account", 111122223333, "got the number 111122223333"],
    ["lifecycle-terminate", "region", {}, "got an object"],
    ["lifecycle-terminate", "time", "yesterday", "a time such as"],
    ["lifecycle-terminate", "time", "1", "a time such as"],
    ["lifecycle-terminate", "time", "2026-13-02T09:30:00Z", "a time such as"],
    ["spot-interruption", "detail.instance-action", "reboot", "one of terminate, stop, hibernate"],
    ["state-change-stopped", "detail.state", "asleep", "one of stopping, stopped"],
  ])("%s with %s = %j says what was expected and what came", (name, path, value, words) => {
    const error = failure(withField(name, path, value));
    expect(error.field).toBe(path);
    expect(error.message).toContain(words);
  });
});

describe("S7: fields that we do not read never change what an event means", () => {
  const signals = Object.entries(MEANINGS).filter(([, signal]) => signal.kind !== "ignored");
  const read = new Set(
    (
      "source detail-type time detail account region state instance-id instance-action EC2InstanceId " +
      "AutoScalingGroupName LifecycleHookName LifecycleActionToken Destination Action"
    ).split(" "),
  );
  const extra = fc.dictionary(
    fc.string().filter((key) => !read.has(key)),
    fc.jsonValue(),
  );

  it.each(signals)("%s with any further fields", (name, meaning) => {
    fc.assert(
      fc.property(extra, extra, (beside, inside) => {
        const event = fixture(name);
        const padded = { ...beside, ...event, detail: { ...inside, ...event.detail } };
        expect(parseSignal(padded, HERE)).toEqual(meaning);
      }),
      { numRuns: 50 },
    );
  });

  it.each(["version", "id", "account", "region", "resources"])("without %s", (key) => {
    for (const [name, meaning] of signals) {
      expect(parseSignal(without(fixture(name), key), HERE)).toEqual(meaning);
    }
  });

  it("reads the instance from the detail though the ARN in resources is malformed", () => {
    const event = { ...fixture("spot-interruption"), resources: ["arn:aws:ec2:eu-west-1b:instance/i-0bad"] };
    expect(parseSignal(event, HERE)).toMatchObject({ instance: INSTANCE });
  });
});

describe("S8: events of another account or region are ignored", () => {
  it.each([
    ["account", "999988887777", "of account 999988887777, not 111122223333"],
    ["region", "eu-central-1", "of region eu-central-1, not eu-west-1"],
  ])("by %s, even broken ones", (key, value, reason) => {
    expect(parseSignal({ ...fixture("lifecycle-terminate"), [key]: value }, HERE)).toEqual({
      kind: "ignored",
      reason,
    });
    expect(parseSignal({ ...fixture("lifecycle-terminate"), [key]: value, detail: 5 }, HERE)).toEqual({
      kind: "ignored",
      reason,
    });
  });

  it("compares nothing that the deployment does not know of itself", () => {
    const event = { ...fixture("lifecycle-terminate"), account: "999988887777", region: "eu-central-1" };
    expect(parseSignal(event, {})).toEqual(LIFECYCLE);
    expect(parseSignal(event, { account: "999988887777" })).toEqual(LIFECYCLE);
  });
});

describe("any JSON at all", () => {
  const sources = fc.constantFrom(...HANDLED_EVENTS.map((row) => row.source), "aws.health");
  const detailTypes = fc.constantFrom(...HANDLED_EVENTS.map((row) => row.detailType));
  const detail = fc.record(
    {
      "instance-id": fc.oneof(fc.constant(INSTANCE), fc.jsonValue()),
      "instance-action": fc.oneof(fc.constant("stop"), fc.jsonValue()),
      state: fc.oneof(fc.constant("stopped"), fc.jsonValue()),
      EC2InstanceId: fc.oneof(fc.constant(INSTANCE), fc.jsonValue()),
      AutoScalingGroupName: fc.oneof(fc.constant("workers-a"), fc.jsonValue()),
      LifecycleHookName: fc.oneof(fc.constant("ebs-drain"), fc.jsonValue()),
      LifecycleActionToken: fc.oneof(fc.constant("token"), fc.jsonValue()),
      Destination: fc.jsonValue(),
      Action: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const nearEvent = fc.record(
    {
      source: fc.oneof(sources, fc.jsonValue()),
      "detail-type": fc.oneof(detailTypes, fc.jsonValue()),
      time: fc.oneof(fc.constant("2026-11-02T09:30:00Z"), fc.jsonValue()),
      account: fc.oneof(fc.constant(HERE.account), fc.jsonValue()),
      detail: fc.oneof(detail, fc.jsonValue()),
    },
    { requiredKeys: [] },
  );

  it("is a signal, is ignored with a reason, or is a SignalError, and nothing else", () => {
    fc.assert(
      fc.property(fc.oneof(nearEvent, fc.jsonValue()), (event) => {
        expect(outcome(event)).toMatch(/^(lifecycle|spot|gone|sweep|ignored: .+|SignalError: .+)$/s);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the table of handled events", () => {
  it("drives parseSignal: each row's own kind comes out, each only once", () => {
    const samples = ["lifecycle-terminate", "spot-interruption", "state-change-stopped", "schedule-sweep"];
    const rows = samples.map((name) => {
      const event = fixture(name);
      const row = HANDLED_EVENTS.filter(
        (candidate) => candidate.source === event["source"] && candidate.detailType === event["detail-type"],
      );
      expect(row).toHaveLength(1);
      expect(parseSignal(event, HERE).kind).toBe(row[0]?.kind);
      return row[0];
    });
    expect(new Set(rows).size).toBe(HANDLED_EVENTS.length);
  });

  it("lists exactly the states that start something", () => {
    const states = HANDLED_EVENTS.flatMap((row) => row.states ?? []);
    for (const state of ["pending", "running", "stopping", "stopped", "shutting-down", "terminated"]) {
      const signal = parseSignal(withDetail(fixture("state-change-stopped"), { state }), HERE);
      expect(signal.kind === "gone").toBe(states.some((listed) => listed === state));
    }
  });
});
