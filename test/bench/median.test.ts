import { describe, expect, it } from "vitest";
import { median } from "./median.ts";

describe("the median", () => {
  it("is the middle by size, not by place", () => {
    expect(median([9, 100, 1])).toBe(9);
  });

  it("of an even number is the mean of the two in the middle", () => {
    expect(median([4, 1, 100, 2])).toBe(3);
  });

  it("leaves the measurements as they are", () => {
    const values = [3, 1, 2];
    median(values);
    expect(values).toEqual([3, 1, 2]);
  });

  it("of nothing is an error: a figure of no round is none", () => {
    expect(() => median([])).toThrow(RangeError);
  });
});
