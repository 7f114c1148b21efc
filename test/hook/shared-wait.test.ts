import { describe, expect, it } from "vitest";
import type { HoldEnd } from "../../hook/hold-end.ts";
import { SharedWait } from "../../hook/shared-wait.ts";

/** A wait whose holds end when the test says. */
function arrange() {
  const ends: ((end: HoldEnd) => void)[] = [];
  let time = 0;
  let arrived: () => number = () => 0;
  const wait = new SharedWait(
    (count) => {
      arrived = count;
      return new Promise((resolve) => ends.push(resolve));
    },
    () => time,
  );
  return {
    wait,
    holds: () => ends.length,
    arrived: () => arrived(),
    pass: (milliseconds: number) => (time += milliseconds),
    end: async (rule: HoldEnd["rule"]) => {
      ends.at(-1)?.({ rule, reason: "", detached: false, left: [], held: false });
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe("one wait for all containers (H11)", () => {
  it("is shared, and counts each container once however often it asks (H4)", async () => {
    const { wait, holds, arrived, end } = arrange();
    const answers = ["driver", "registrar", "driver"].map((container) => wait.join(container));
    expect([holds(), arrived(), wait.isWaiting]).toEqual([1, 2, true]);
    await end("H5");
    expect(new Set(await Promise.all(answers)).size).toBe(1);
    expect(wait.isWaiting).toBe(false);
  });

  it("counts a hook that names no container as one more", () => {
    const { wait, arrived } = arrange();
    void wait.join(undefined);
    void wait.join(undefined);
    expect(arrived()).toBe(2);
  });

  it("gives its answer to a container that asks a moment later, and to none after that", async () => {
    const { wait, holds, pass, end } = arrange();
    void wait.join("driver");
    await end("H1");
    pass(30);
    await expect(wait.join("registrar")).resolves.toMatchObject({ rule: "H1" });
    pass(300);
    void wait.join("hook");
    expect(holds()).toBe(2);
  });

  it("begins anew for a container that has had its answer, and after a container's restart (H4)", async () => {
    const { wait, holds, end } = arrange();
    void wait.join("driver");
    await end("H1");
    void wait.join("driver");
    expect(holds()).toBe(2);
    await end("H4");
    void wait.join("registrar");
    expect(holds()).toBe(3);
  });
});
