import { describe, expect, it } from "vitest";
import { type HookFigures, hookTable, missedTargets } from "./hook-table.ts";

const MIB = 1_048_576;

/** Within every target. */
const GOOD: HookFigures = {
  attachments: 100_000,
  program: "hook",
  idle: 66_600_000,
  anonymous: 17_400_000,
  peakInList: 80_000_000,
  received: 7_100_000,
  receivedWithoutList: 31_400,
  receivedStaying: 6_280,
  processor: 1.2,
  staying: 8.04,
  answer: 9.96,
  limited: { kind: "ran", peak: 64 * MIB },
};

const BASELINE: HookFigures = {
  ...GOOD,
  program: "informer",
  idle: 2 * GOOD.idle,
  answer: 996,
  limited: { kind: "killed", peak: 96 * MIB },
};

const cellsOf = (table: string): readonly (readonly string[])[] =>
  table.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));

describe("the table of the hook bench", () => {
  it("has a row for each size and program, with units in the head", () => {
    const cells = cellsOf(hookTable([{ ...GOOD, attachments: 0 }, GOOD]));
    expect(cells[0]).toContain("RSS idle, MB");
    expect(cells[2]?.slice(1, 5)).toEqual(["0", "hook", "66.6", "17.4"]);
    expect(cells[3]?.slice(1, 3)).toEqual(["100,000", "hook"]);
    expect(cells).toHaveLength(4);
  });

  it("compares the programs of one size, the last by the first", () => {
    const cells = cellsOf(hookTable([GOOD, BASELINE]));
    expect(cells[4]?.slice(1, 4)).toEqual(["", "informer : hook", "× 2.00"]);
    expect(cells[4]?.at(-4)).toBe("× 100");
  });

  it("says what became of a process within the limit", () => {
    const table = hookTable([
      GOOD,
      BASELINE,
      { ...GOOD, limited: { kind: "impossible", reason: "EACCES: permission denied" } },
    ]);
    expect(table).toContain("ran, 67.1 MB charged");
    expect(table).toContain("**killed**");
    expect(table).toContain("not tried");
  });

  it("has as many cells in each row", () => {
    const lengths = cellsOf(hookTable([GOOD, BASELINE])).map((row) => row.length);
    expect(new Set(lengths).size).toBe(1);
  });
});

describe("the targets of the hook", () => {
  it("are missed by nobody who is within all of them", () => {
    expect(missedTargets(GOOD)).toEqual([]);
  });

  it.each([
    [{ idle: 70_100_000 }, "RSS idle: 70.1 MB, at most 70 MB"],
    [{ anonymous: 20_100_000 }, "anonymous: 20.1 MB, at most 20 MB"],
    [{ peakInList: 85_100_000 }, "peak RSS in the list: 85.1 MB, at most 85 MB"],
    [{ answer: 10.1 }, "last one gone → answer: 10.1 ms, at most 10 ms"],
    [{ staying: 10.1 }, "node stays: answer: 10.1 ms, at most 10 ms"],
    [{ received: 7_510_000 }, "received: 7.51 MB, at most 7.5 MB"],
    [{ receivedWithoutList: 50_100 }, "received without the list: 50.1 kB, at most 50 kB"],
    [{ processor: 2.01 }, "CPU: 2.01 s, at most 2 s"],
    [{ limited: { kind: "killed", peak: 1 } }, "killed within the memory limit"],
    [{ limited: { kind: "failed", peak: 1 } }, "failed within the memory limit"],
  ] as const)("are missed by %o", (change, told) => {
    expect(missedTargets({ ...GOOD, ...change })).toEqual([told]);
  });
});
