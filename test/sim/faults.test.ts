import { describe, expect, test } from "vitest";
import { PortError } from "../../lib/engine/errors.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { ANSWER_TIMEOUT, NO_FAULTS, SeededFaults, callThroughFaults } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";

const START = 1_000_000;

async function inWorld<T>(clock: VirtualClock, work: () => Promise<T>): Promise<T> {
  const done = clock.actor("test", work);
  const settled = done.then(
    () => undefined,
    () => undefined,
  );
  await clock.advance(START + 60_000);
  await settled;
  return done;
}

describe("faults of simulated services", () => {
  test("an undisturbed call answers with its effect's value after its latency", async () => {
    const clock = new VirtualClock(START);
    let answeredAt = 0;
    const value = await inWorld(clock, async () => {
      const answer = await callThroughFaults(clock, NO_FAULTS, "ec2.describeInstance", () => "running");
      answeredAt = clock.now();
      return answer;
    });
    expect(value).toBe("running");
    expect(answeredAt).toBe(START + 20);
  });

  test("a failed call has no effect and tells the planned failure, once", async () => {
    const clock = new VirtualClock(START);
    const faults = new SeededFaults(clock, new Random(1));
    faults.plan("autoScaling.", { kind: "fail", failure: "throttled" });
    let effects = 0;
    const beat = (): Promise<number> =>
      callThroughFaults(clock, faults, "autoScaling.heartbeat", () => ++effects);
    const seen = await inWorld(clock, async () => [
      await beat().catch((error: unknown) => error),
      await beat(),
    ]);
    expect(seen[0]).toBeInstanceOf(PortError);
    expect(seen[0]).toMatchObject({ kind: "throttled", operation: "autoScaling.heartbeat" });
    expect(seen[1]).toBe(1);
  });

  test("a lost answer has its effect, and the caller learns of a time-out", async () => {
    const clock = new VirtualClock(START);
    const faults = new SeededFaults(clock, new Random(1));
    faults.plan("kubernetes.evictPod", { kind: "lost-answer" });
    let effects = 0;
    const error = await inWorld(clock, () =>
      callThroughFaults(clock, faults, "kubernetes.evictPod", () => ++effects).catch((error: unknown) => ({
        error,
        at: clock.now(),
      })),
    );
    expect(effects).toBe(1);
    expect(error).toMatchObject({ error: { kind: "network" }, at: START + 10 + ANSWER_TIMEOUT });
  });

  test("an outage covers its service and its span of time only", async () => {
    const clock = new VirtualClock(START);
    const faults = new SeededFaults(clock, new Random(1));
    faults.outage("kubernetes.", { kind: "fail", failure: "network" }, START, START + 10);
    expect(faults.before("kubernetes.getNode")).toEqual({ kind: "fail", failure: "network" });
    expect(faults.before("ec2.describeInstance")).toBeUndefined();
    await clock.advance(START + 10);
    expect(faults.before("kubernetes.getNode")).toBeUndefined();
  });

  test("random faults come in their share and repeat by seed", () => {
    const draw = (seed: number): readonly (string | undefined)[] => {
      const faults = new SeededFaults(new VirtualClock(START), new Random(seed), {
        rates: [{ operations: "ec2.", fail: 0.2, lostAnswer: 0.1 }],
      });
      return Array.from({ length: 2_000 }, () => faults.before("ec2.describeInstance")?.kind);
    };
    const drawn = draw(7);
    expect(draw(7)).toEqual(drawn);
    expect(drawn.filter((kind) => kind === "fail").length / drawn.length).toBeCloseTo(0.2, 1);
    expect(drawn.filter((kind) => kind === "lost-answer").length / drawn.length).toBeCloseTo(0.1, 1);
  });
});
