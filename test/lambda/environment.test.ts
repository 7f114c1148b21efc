import { describe, expect, test, vi } from "vitest";
import { composeDispatch, composeDrain } from "../../lambda/composition.ts";
import type { Variables } from "../../lambda/environment.ts";
import { EnvironmentError, readDispatchEnvironment, readDrainEnvironment } from "../../lambda/environment.ts";
import { quietDecision, quietObservation } from "../telemetry/quiet-look.ts";

const SETTINGS = JSON.stringify({
  clusters: [{ name: "blue", groups: ["workers-a"] }],
  policy: { heartbeatTimeout: 600 },
});
const GOOD: Variables = {
  AWS_REGION: "eu-west-1",
  EBS_DRAIN_SETTINGS: SETTINGS,
  EBS_DRAIN_FUNCTION: "arn:aws:lambda:eu-west-1:111122223333:function:drain:live",
};

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
  return [];
}

describe("the Lambdas' environment", () => {
  test("gives settings with defaults, the region, and for the dispatcher the drain function and its account", () => {
    expect(readDrainEnvironment(GOOD)).toMatchObject({
      region: "eu-west-1",
      settings: { clusters: [{ name: "blue" }], policy: { heartbeatTimeout: 600, maxDuration: 7_200 } },
    });
    expect(readDispatchEnvironment(GOOD)).toMatchObject({
      drainFunction: GOOD["EBS_DRAIN_FUNCTION"],
      account: "111122223333",
    });
  });

  test("tells every problem at once, each with its variable, its path and how to mend it", () => {
    const settings = JSON.stringify({
      clusters: [{ name: "blue", groups: [] }],
      policy: { heartbeatTimeout: 30, hooknam: "x" },
    });
    const problems = problemsOf(() => readDispatchEnvironment({ EBS_DRAIN_SETTINGS: settings }));
    for (const start of [
      "AWS_REGION: missing",
      "EBS_DRAIN_SETTINGS clusters[0].groups: ",
      "EBS_DRAIN_SETTINGS policy.heartbeatTimeout: ",
      "EBS_DRAIN_SETTINGS policy.hooknam: ",
      "EBS_DRAIN_FUNCTION: expected the ARN",
    ]) {
      expect(problems).toContainEqual(expect.stringContaining(start));
    }
  });

  test("puts all problems into the one error that the operator sees", () => {
    const read = (): unknown => readDispatchEnvironment({});
    expect(read).toThrow("the environment is not usable:\n- AWS_REGION: missing");
    expect(read).toThrow("- EBS_DRAIN_SETTINGS: missing");
    expect(read).toThrow("- EBS_DRAIN_FUNCTION: expected the ARN");
  });

  test.each([
    ["empty", ""],
    ["not JSON", "{"],
    ["not an object", "[]"],
  ])("refuses settings that are %s", (_what, text) => {
    const problems = problemsOf(() => readDrainEnvironment({ ...GOOD, EBS_DRAIN_SETTINGS: text }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^EBS_DRAIN_SETTINGS/);
  });

  test.each([
    ["unqualified", "arn:aws:lambda:eu-west-1:111122223333:function:drain"],
    ["a bare name", "drain"],
    ["empty", ""],
  ])(
    "refuses a drain function that is %s: durable functions run only through a version or alias",
    (_what, arn) => {
      const problems = problemsOf(() => readDispatchEnvironment({ ...GOOD, EBS_DRAIN_FUNCTION: arn }));
      expect(problems).toEqual([
        expect.stringContaining("durable functions cannot be invoked without the qualifier"),
      ]);
    },
  );

  test("of the drain function needs no drain function", () => {
    const { EBS_DRAIN_FUNCTION: _unset, ...rest } = GOOD;
    expect(problemsOf(() => readDrainEnvironment(rest))).toEqual([]);
  });
});

describe("the composition", () => {
  test("takes the deployment's own account and region where the settings name none (S8)", () => {
    expect(composeDispatch(GOOD).here).toEqual({ account: "111122223333", region: "eu-west-1" });
    const named = JSON.stringify({ ...JSON.parse(SETTINGS), account: "444455556666", region: "eu-north-1" });
    expect(composeDispatch({ ...GOOD, EBS_DRAIN_SETTINGS: named }).here).toEqual({
      account: "444455556666",
      region: "eu-north-1",
    });
  });

  test("of the drain function opens ports of the task's cluster without asking anything of the network", () => {
    const task = {
      kind: "gone",
      id: "gone-i-0a-1",
      cluster: "blue",
      group: "workers-a",
      instance: "i-0a",
      at: 0,
      by: "event",
      state: "terminated",
    } as const;
    const deps = composeDrain(GOOD);
    const ports = deps.openPorts(task);
    expect(Object.keys(ports).sort()).toEqual(["autoScaling", "cluster", "ec2", "now", "telemetry"]);
    expect(deps.openPorts(task).cluster).toBe(ports.cluster);
    expect(() => deps.openPorts({ ...task, group: "others" })).toThrow("group others is not configured");
  });

  test("measures each look of the drain, and lets the dispatcher see the groups' hooks", () => {
    const written: string[] = [];
    const stream = vi
      .spyOn(process.stdout, "write")
      .mockImplementation((line) => written.push(String(line)) > 0);
    const observation = quietObservation(Date.now());
    const { telemetry } = composeDrain(GOOD).openPorts(observation.task);

    telemetry.look({
      observation,
      decision: quietDecision(observation.at),
      changed: false,
      failures: ["evict: server: no answer"],
      causes: ["server"],
    });
    stream.mockRestore();

    const lines = written.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(lines).toContainEqual(
      expect.objectContaining({ ApiErrors: 1, cause: "server", cluster: "blue", group: "workers-a" }),
    );
    expect(composeDispatch(GOOD).groupHooks).toBeDefined();
  });

  test("throws the environment's problems, not a TypeError of some later line", () => {
    expect(() => composeDrain({})).toThrow(EnvironmentError);
    expect(() => composeDispatch({ ...GOOD, EBS_DRAIN_SETTINGS: "{" })).toThrow(EnvironmentError);
  });
});
