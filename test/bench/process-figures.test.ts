import { describe, expect, it } from "vitest";
import { kibibytes, ticksOf } from "./process-figures.ts";

describe("figures of a process", () => {
  it("are read by the whole name of their line", () => {
    const status = "Name:\tnode\nVmHWM:\t   70000 kB\nVmRSS:\t   61440 kB\nRssAnon:\t   15360 kB\n";
    expect(kibibytes(status, "VmRSS")).toBe(61_440);
    expect(() => kibibytes(status, "Rss")).toThrow("no Rss");
  });

  it("count user and kernel time, whatever the process is called", () => {
    const stat = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 100 0 0 0 250 50 7 8 20 0 11 0 12345 1000 2000";
    expect(ticksOf(stat)).toBe(300);
    expect(() => ticksOf("4711 (node) S 1")).toThrow("no processor time");
  });
});
