import { describe, expect, it } from "vitest";
import { UsageError, wholeNumber } from "./usage.ts";

describe("a bench's number", () => {
  it("is a whole one", () => {
    expect(wholeNumber("--at", "100000")).toBe(100_000);
    expect(wholeNumber("--at", "0")).toBe(0);
  });

  it.each(["", "1e5", "-1", "1.5", "many"])("is not %j, and whoever gave it is told the flag", (text) => {
    expect(() => wholeNumber("--at", text)).toThrow(UsageError);
    expect(() => wholeNumber("--at", text)).toThrow(`--at: expected a whole number from 0 on, got "${text}"`);
  });

  it("has a least value where zero makes no sense", () => {
    expect(() => wholeNumber("--rounds", "0", 1)).toThrow("from 1 on");
  });
});
