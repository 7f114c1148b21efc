import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import { policySchema } from "../../lib/drain/policy-settings.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

describe("the README", () => {
  it("has every field of the policy in its table, with the default, in the order of the code", () => {
    const table = /\| field \| default \| what it is \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(readme)?.[1] ?? "";
    const rows = [...table.matchAll(/^\| `(\w+)` \| `([^`]+)` \| (.+) \|$/gm)].map(([, field, text]) => [
      field,
      text,
    ]);
    const fields = Object.keys(policySchema()["properties"] as object);
    expect(rows).toEqual(
      fields.map((field) => [field, String(DEFAULT_POLICY[field as keyof typeof DEFAULT_POLICY])]),
    );
  });

  it("has its parts in the order in which a reader needs them", () => {
    expect([...readme.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual([
      "The problem",
      "Two commands",
      "Install in three steps",
      "What it guarantees, and what not",
      "Configuration",
      "Operating",
      "How it is tested",
      "Limits",
      "Development",
    ]);
  });
});
