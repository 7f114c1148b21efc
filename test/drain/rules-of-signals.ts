/** S1 to S8: what an event means. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { SignalError, parseSignal } from "../../lib/drain/signal.ts";
import { SECOND } from "../../lib/drain/time.ts";
import type { RuleRow } from "./rule-row.ts";

interface BusEvent {
  readonly time: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const HERE = { account: "111122223333", region: "eu-west-1" };

function fixture(name: string): BusEvent {
  return JSON.parse(
    readFileSync(new URL(`../fixtures/events/${name}.json`, import.meta.url), "utf8"),
  ) as BusEvent;
}

export const SIGNAL_RULES: readonly RuleRow[] = [
  {
    rule: "S1",
    shows: "a terminate action becomes lifecycle work, read from the detail and not from an ARN",
    holds: () => {
      const event = { ...fixture("lifecycle-terminate"), resources: ["arn:aws:nonsense"] };
      expect(parseSignal(event, HERE)).toMatchObject({
        kind: "lifecycle",
        group: "workers-a",
        hook: "ebs-drain",
        token: "1f6e2d3c-4b5a-4978-8695-a4b3c2d1e0f9",
        instance: "i-0f3a9c1d2b4e5f607",
        destination: "EC2",
      });
    },
  },
  {
    rule: "S2",
    shows: "a spot warning gives two minutes from its own time",
    holds: () => {
      const event = fixture("spot-interruption");
      const until = Date.parse(event.time) + 120 * SECOND;
      expect(parseSignal(event, HERE)).toMatchObject({ kind: "spot", until });
    },
  },
  {
    rule: "S3",
    shows: "every state on the way out, and out, starts the gone work",
    holds: () => {
      for (const state of ["stopping", "stopped", "shutting-down", "terminated"]) {
        expect(parseSignal(fixture(`state-change-${state}`), HERE)).toMatchObject({ kind: "gone", state });
      }
    },
  },
  {
    rule: "S4",
    shows: "recommendations and scheduled changes are known and not acted on",
    holds: () => {
      for (const name of ["rebalance-recommendation", "health-scheduled-change"]) {
        const signal = parseSignal(fixture(name), HERE);
        expect(signal).toMatchObject({
          kind: "ignored",
          reason: expect.stringContaining("not acted on") as unknown,
        });
      }
    },
  },
  {
    rule: "S5",
    shows: "the schedule's event is the sweep",
    holds: () => expect(parseSignal(fixture("schedule-sweep"), HERE).kind).toBe("sweep"),
  },
  {
    rule: "S6",
    shows: "uninteresting and unknown is ignored, known and broken is an error",
    holds: () => {
      expect(parseSignal(fixture("lifecycle-launch"), HERE).kind).toBe("ignored");
      expect(parseSignal({ ...fixture("lifecycle-terminate"), source: "aws.other" }, HERE).kind).toBe(
        "ignored",
      );
      const broken = { ...fixture("lifecycle-terminate"), detail: { EC2InstanceId: 7 } };
      expect(() => parseSignal(broken, HERE)).toThrow(SignalError);
    },
  },
  {
    rule: "S7",
    shows: "extra fields and missing ones that nobody needs break nothing",
    holds: () => {
      const { detail, version: _gone, ...event } = fixture("lifecycle-terminate");
      const widened = { ...event, invented: true, detail: { ...detail, Invented: [1] } };
      expect(parseSignal(widened, HERE)).toEqual(parseSignal(fixture("lifecycle-terminate"), HERE));
    },
  },
  {
    rule: "S8",
    shows: "an event of another account or region is ignored",
    holds: () => {
      const event = fixture("lifecycle-terminate");
      expect(parseSignal({ ...event, account: "999999999999" }, HERE).kind).toBe("ignored");
      expect(parseSignal({ ...event, region: "us-east-1" }, HERE).kind).toBe("ignored");
    },
  },
];
