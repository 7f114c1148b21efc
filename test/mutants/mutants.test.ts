import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MUTANTS } from "./mutants.ts";

const ROOT = join(import.meta.dirname, "../..");

it.each(MUTANTS)("the mutant of $rule still applies: $what", ({ file, from, to }) => {
  const source = readFileSync(join(ROOT, file), "utf8");
  expect(source.split(from)).toHaveLength(2);
  expect(to).not.toBe(from);
});
