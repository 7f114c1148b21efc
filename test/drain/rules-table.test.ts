/** Every rule of docs/rules.md has a row that shows it, and every row a rule. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DRAIN_RULES } from "./rules-of-drain.ts";
import { HOOK_PROCESS_RULES } from "./rules-of-hook-process.ts";
import { HOOK_RULES } from "./rules-of-hook.ts";
import { INVARIANT_RULES } from "./rules-of-invariants.ts";
import { SIGNAL_RULES } from "./rules-of-signals.ts";

const numbered = (letter: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);

const ALL = [...numbered("S", 8), ...numbered("D", 19), ...numbered("H", 13), ...numbered("I", 12)];
const TABLE = [...SIGNAL_RULES, ...DRAIN_RULES, ...HOOK_RULES, ...HOOK_PROCESS_RULES, ...INVARIANT_RULES];

describe("the rules, each shown once at least", () => {
  it.each(TABLE.map((row) => [row.rule, row.shows, row.holds] as const))(
    "%s: %s",
    async (_rule, _shows, holds) => {
      expect.hasAssertions();
      await holds();
    },
  );

  it("none is missing from the table, and none is in it that does not exist", () => {
    const shown = new Set(TABLE.map(({ rule }) => rule));
    expect(ALL.filter((rule) => !shown.has(rule))).toEqual([]);
    expect([...shown].filter((rule) => !ALL.includes(rule))).toEqual([]);
  });
});

describe("docs/rules.md", () => {
  const text = readFileSync(new URL("../../docs/rules.md", import.meta.url), "utf8");

  it.each(ALL)("explains %s in a row of its own", (rule) => {
    const rows = text.split("\n").filter((line) => line.startsWith(`| ${rule} |`));
    expect(rows).toHaveLength(1);
    expect(rows[0]?.length).toBeGreaterThan(60);
  });
});
