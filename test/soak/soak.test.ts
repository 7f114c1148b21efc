/** The soak's first seeds, in every test run: all invariants (I1–I10) over worlds drawn from seeds. */
import { describe, expect, it } from "vitest";
import { describeViolations } from "../../lib/sim/invariants.ts";
import { runSeed } from "./soak-run.ts";

const SEEDS = 200;
const PER_TEST = 50;

describe("drawn worlds", () => {
  for (let from = 0; from < SEEDS; from += PER_TEST) {
    it(`keep every invariant, seeds ${from} to ${from + PER_TEST - 1}`, async () => {
      for (let seed = from; seed < from + PER_TEST; seed++) {
        const { violations } = await runSeed(seed);
        expect(violations, `npm run soak -- --seed ${seed}\n${describeViolations(violations)}`).toEqual([]);
      }
    });
  }

  it("repeat by seed to the millisecond", async () => {
    const [first, second] = [await runSeed(7), await runSeed(7)];
    expect(second.run.world.happenings).toEqual(first.run.world.happenings);
  });
});
