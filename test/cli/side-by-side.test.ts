import { describe, expect, it } from "vitest";
import { painter } from "../../lib/cli/paint.ts";
import { sideBySide } from "../../lib/cli/side-by-side.ts";
import { spanText, timeText } from "../../lib/cli/time-text.ts";
import type { Line } from "../../lib/cli/timeline.ts";
import { listed } from "../../lib/cli/timeline.ts";
import { wrapped } from "../../lib/cli/wrap.ts";

function line(seconds: number, text: string): Line {
  return { seconds, text, weight: "plain" };
}

/** Rows below the titles, cells trimmed. */
function rows(left: readonly Line[], right: readonly Line[]): readonly (readonly [string, string])[] {
  const all = sideBySide({ title: "a", lines: left }, { title: "b", lines: right }, painter(false));
  return all.slice(2).map((row) => {
    const [a = "", b = ""] = row.split("│");
    return [a.trim(), b.trim()];
  });
}

describe("two timelines side by side", () => {
  it("share a row where they are near each other", () => {
    expect(rows([line(1, "x")], [line(1.9, "y")])).toEqual([["+   1.0 s  x", "+   1.9 s  y"]]);
  });

  it("take turns where they are not, in order of time", () => {
    expect(rows([line(1, "x"), line(30, "z")], [line(10, "y")])).toEqual([
      ["+   1.0 s  x", ""],
      ["", "+  10.0 s  y"],
      ["+  30.0 s  z", ""],
    ]);
  });

  it("lose no line of either side", () => {
    const many = (from: number) =>
      Array.from({ length: 20 }, (_, index) => line(from + index * 0.7, `${from}-${index}`));
    const told = rows(many(0), many(5)).flat().join(" ");
    for (const { text } of [...many(0), ...many(5)]) expect(told).toContain(text);
  });

  it("wrap long lines within their side", () => {
    const text = "a long line that says more than there is room for in one half of the terminal";
    const told = rows([line(0, text)], [line(0, text)]);
    expect(told.length).toBeGreaterThan(1);
    const joined = told
      .map(([a]) => a)
      .join(" ")
      .replace(/^\+ +0\.0 s +/, "");
    expect(joined).toBe(text);
  });
});

describe("text", () => {
  it("breaks between words, and within a word only where it must", () => {
    expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrapped("abcdefghij kl", 4)).toEqual(["abcd", "efgh", "ij", "kl"]);
    expect(wrapped("", 4)).toEqual([""]);
  });

  it("tells times in seconds, and from ten minutes on in minutes", () => {
    expect([timeText(0), timeText(12.34), timeText(599.9)]).toEqual(["+   0.0 s", "+  12.3 s", "+ 599.9 s"]);
    expect([spanText(600), spanText(1_503.4), spanText(7_140)]).toEqual(["10m 00s", "25m 03s", "1h59m00s"]);
  });

  it("lists names as one says them", () => {
    expect([listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])]).toEqual([
      "",
      "a",
      "a and b",
      "a, b and c",
    ]);
  });
});
