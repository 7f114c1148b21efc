import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { PortError } from "../../lib/engine/errors.ts";
import { HookWatch } from "../../lib/engine/hook-watch.ts";
import type { GroupHookView } from "../../lib/engine/ports.ts";
import { Recorder } from "./recorder.ts";

const NOW = Date.parse("2026-11-02T09:30:00Z");
const GOOD: GroupHookView = { transition: "autoscaling:EC2_INSTANCE_TERMINATING", heartbeatTimeout: 300 };

async function watched(
  describeHook: (group: string) => Promise<GroupHookView | undefined>,
): Promise<Recorder> {
  const telemetry = new Recorder();
  const clusters = [{ name: "blue", groups: ["workers-a", "workers-b"] }];
  const settings = { policy: DEFAULT_POLICY, clusters };
  await new HookWatch({ settings, groupHooks: { describeHook }, telemetry, now: () => NOW }).look();
  return telemetry;
}

describe("a group", () => {
  it("that has the hook as the policy says is no news", async () => {
    const telemetry = await watched(() => Promise.resolve({ ...GOOD, heartbeatTimeout: 600 }));

    expect([telemetry.metrics, telemetry.lines]).toEqual([[], []]);
  });

  it.each<[string, GroupHookView | undefined, RegExp]>([
    ["has no hook", undefined, /no hook of that name/],
    ["has it for launches", { ...GOOD, transition: "autoscaling:EC2_INSTANCE_LAUNCHING" }, /LAUNCHING/],
    ["has it with a time-out that beats would miss", { ...GOOD, heartbeatTimeout: 100 }, /100 s.*300 s/],
  ])("that %s is told by its name, and counted", async (_, hook, reason) => {
    const telemetry = await watched((group) => Promise.resolve(group === "workers-b" ? hook : GOOD));

    expect(telemetry.metrics).toEqual([
      { name: "GroupsWithoutHook", dimensions: { cluster: "blue", group: "workers-b" } },
    ]);
    expect(telemetry.lines).toEqual([
      expect.objectContaining({ group: "workers-b", reason: expect.stringMatching(reason) as string }),
    ]);
  });

  it("that could not be asked keeps no other from being looked at, and counts as nothing", async () => {
    const telemetry = await watched((group) =>
      group === "workers-a"
        ? Promise.reject(new PortError("throttled", "groupHooks.describeHook", "slow down"))
        : Promise.resolve(undefined),
    );

    expect(telemetry.metrics).toHaveLength(1);
    expect(telemetry.lines.map(({ message, group }) => [message, group])).toEqual([
      ["hooks not read", "workers-a"],
      ["group without the hook", "workers-b"],
    ]);
  });
});
