import { describe, expect, test } from "vitest";
import type { DispatchHandlerDeps } from "../../lambda/dispatch-handler.ts";
import { createDispatchHandler } from "../../lambda/dispatch-handler.ts";
import { handler } from "../../lambda/dispatch.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { Recorder } from "../engine/recorder.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");
const OTHER = "i-0f0e1d2c3b4a59687";

function deps(asked: string[], telemetry = new Recorder()): DispatchHandlerDeps {
  return {
    settings: { policy: DEFAULT_POLICY, clusters: [{ name: "blue", groups: ["workers-a"] }] },
    here: {},
    clusterOf: () => ({
      listNodes: async () => {
        asked.push("listNodes");
        return [];
      },
      patchNode: () => Promise.reject(new Error("nothing to patch")),
      recordEvent: () => Promise.reject(new Error("nothing to tell")),
    }),
    ec2: {
      describeInstance: async (id) => {
        asked.push("describeInstance");
        return { id, launchTime: NOW - 1_000, state: "terminated", group: "others" };
      },
      describeInstances: async () => [],
    },
    autoScaling: {
      listMembers: async () => {
        asked.push("listMembers");
        return [];
      },
    },
    executions: {
      listRunning: async () => {
        asked.push("listRunning");
        return [];
      },
      start: async () => "started",
    },
    telemetry,
    now: () => NOW,
  };
}

describe("the dispatch function", () => {
  test("sweeps all clusters at the schedule's event", async () => {
    const asked: string[] = [];
    const dispatch = createDispatchHandler(deps(asked));
    const scheduled = {
      source: "aws.events",
      "detail-type": "Scheduled Event",
      time: "2026-11-02T09:30:00Z",
    };
    expect(await dispatch({ ...scheduled, detail: {} })).toMatchObject({
      kind: "swept",
      summary: { failures: [] },
    });
    expect(asked).toEqual(["listNodes", "listRunning", "listMembers"]);
  });

  test("looks with the first sweep, and then every ten minutes, whether each group has the hook", async () => {
    const telemetry = new Recorder();
    let now = NOW;
    const groupHooks = { describeHook: () => Promise.resolve(undefined) };
    const dispatch = createDispatchHandler({ ...deps([], telemetry), groupHooks, now: () => now });
    const scheduled = { source: "aws.events", "detail-type": "Scheduled Event", detail: {} };

    for (let minute = 0; minute <= 10; minute++) {
      now = NOW + minute * 60_000;
      await dispatch({ ...scheduled, time: new Date(now).toISOString() });
    }

    expect(telemetry.metrics.filter(({ name }) => name === "GroupsWithoutHook")).toHaveLength(2);
  });

  test("remembers foreign instances from event to event, in its own memory (C9)", async () => {
    const asked: string[] = [];
    const gone = {
      source: "aws.ec2",
      "detail-type": "EC2 Instance State-change Notification",
      time: "2026-11-02T09:30:00Z",
      detail: { "instance-id": OTHER, state: "terminated" },
    };
    const dispatch = createDispatchHandler(deps(asked));
    await dispatch(gone);
    await dispatch(gone);
    expect(asked).toEqual(["describeInstance"]);
    await createDispatchHandler(deps(asked))(gone);
    expect(asked).toEqual(["describeInstance", "describeInstance"]);
  });

  test("without a usable environment rejects each event with what is wrong with it", async () => {
    const variables = ["AWS_REGION", "EBS_DRAIN_SETTINGS", "EBS_DRAIN_FUNCTION"];
    const before = variables.map((name) => [name, process.env[name]] as const);
    for (const name of variables) delete process.env[name];
    try {
      await expect(handler({})).rejects.toThrow("EBS_DRAIN_SETTINGS: missing");
      await expect(handler({})).rejects.toThrow("EBS_DRAIN_FUNCTION: expected the ARN");
    } finally {
      for (const [name, value] of before) if (value !== undefined) process.env[name] = value;
    }
  });
});
