import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Chart, Lane } from "../../lib/cli/page/chart.ts";
import { chartOf } from "../../lib/cli/page/chart.ts";
import { pageOf } from "../../lib/cli/page/document.ts";
import { json, markup } from "../../lib/cli/page/markup.ts";
import { shortText, timeAxisOf } from "../../lib/cli/page/time-axis.ts";
import type { Told } from "../../lib/cli/report.ts";
import { simulate } from "../../lib/cli/simulate.ts";
import { timelineOf } from "../../lib/cli/timeline.ts";
import { scenarioOf } from "../../lib/sim/scenarios.ts";
import { GROUP, SEED, endOf, podsOnly, secondsOf, withDrain } from "./played.ts";
import { KeptTerminal } from "./terminal.ts";

async function toldOf(name: string): Promise<Told> {
  const scenario = scenarioOf(name);
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const of = { seed: SEED, subject: { group: GROUP } };
  return { scenario, of, drained: await withDrain(name), unaided: await podsOnly(name) };
}

function laneOf(chart: Chart, side: number, group: string, name: string): Lane {
  const lane = chart.sides[side]?.lanes.find((each) => each.group === group && each.name === name);
  if (lane === undefined) throw new Error(`no lane ${name} of ${group}`);
  return lane;
}

describe.each(["scale-in", "hand-over", "console-terminate", "warm-pool"])("the chart of %s", (name) => {
  it("has bars in order and within what is shown, each with a label and an explanation in plain words", async () => {
    const chart = chartOf(await toldOf(name));
    expect(chart.sides).toHaveLength(2);
    for (const { lanes } of chart.sides) {
      expect(lanes.length).toBeGreaterThan(8);
      for (const { bars, marks } of lanes) {
        for (const { from, to, label, explanation } of bars) {
          expect(from).toBeGreaterThanOrEqual(chart.from);
          expect(to).toBeGreaterThan(from);
          expect(to).toBeLessThanOrEqual(chart.to);
          expect(label).not.toMatch(/undefined|\bvol-|\bi-/);
          expect(explanation).toMatch(/^[A-Z0-9].*\.$/);
          expect(explanation).not.toMatch(/%s|undefined|\bvol-/);
        }
        for (const { explanation } of marks) expect(explanation).toMatch(/^[A-Z0-9].*\.$/);
      }
    }
  });

  it("has every pod out of service for as long as it really was, to a second", async () => {
    const told = await toldOf(name);
    const chart = chartOf(told);
    for (const [side, run] of [told.drained, told.unaided].entries()) {
      for (const { pod, from, until } of run.witness.outages) {
        const away = laneOf(chart, side, "Pods", pod).bars.filter(
          ({ tone }) => tone !== "old" && tone !== "new",
        );
        const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1;
        expect(away.some((bar) => near(bar.from, secondsOf(run, from)))).toBe(true);
        expect(away.some((bar) => near(bar.to, Math.min(chart.to, secondsOf(run, until))))).toBe(true);
      }
    }
  });
});

describe("the chart of scale-in", () => {
  it("shows why a pod waits for six minutes: unmounted in time, never reported, the attachment stays", async () => {
    const chart = chartOf(await toldOf("scale-in"));
    const mount = laneOf(chart, 1, "Mounts", "db-1").bars.find(({ tone }) => tone === "old");
    const attachment = laneOf(chart, 1, "VolumeAttachments", "db-1").bars.find(({ tone }) => tone === "old");
    expect((attachment?.to ?? 0) - (mount?.to ?? 0)).toBeGreaterThan(350);
    const waiting = laneOf(chart, 1, "Pods", "db-1").bars.find(
      ({ label }) => label === "waits for its volume",
    );
    expect((waiting?.to ?? 0) - (waiting?.from ?? 0)).toBeGreaterThan(350);
  });

  it("marks the end of the action: nothing attached with ebs-drain, a volume left without", async () => {
    const told = await toldOf("scale-in");
    const chart = chartOf(told);
    const ends = [0, 1].map((side) =>
      laneOf(chart, side, "The machine", "Lifecycle action").marks.find(({ label }) => label === "CONTINUE"),
    );
    expect(ends).toMatchObject([
      { sign: "good", at: secondsOf(told.drained, endOf(told.drained).at) },
      { sign: "bad", explanation: expect.stringContaining("the volume of db-1 is still attached") },
    ]);
  });

  it("has the hook's lane where there is a hook, and only there", async () => {
    const lane = laneOf(chartOf(await toldOf("hand-over")), 0, "The machine", "Hook");
    expect(lane.bars).toMatchObject([{ label: "holds the CSI node pod" }]);
    expect(lane.marks.map(({ explanation }) => explanation).join(" ")).toContain("completed with CONTINUE");
    const names = chartOf(await toldOf("scale-in")).sides.flatMap(({ lanes }) =>
      lanes.map((each) => each.name),
    );
    expect(names).not.toContain("Hook");
  });
});

describe("the time axis", () => {
  const chart = (times: readonly number[]): Chart => ({
    from: -2,
    to: 400,
    sides: [
      {
        title: "one",
        lanes: [
          {
            group: "g",
            name: "l",
            bars: [],
            marks: times.map((at) => ({ at, sign: "dot", label: "x", explanation: "X." })),
          },
        ],
      },
    ],
  });

  it("draws short what is quiet on both sides, in order and without a jump", () => {
    const { place, breaks } = timeAxisOf(chart([0, 5, 10, 380, 390]));
    expect(breaks).toMatchObject([{ from: 10, to: 380 }]);
    const places = [-2, 0, 5, 10, 200, 380, 390, 400].map(place);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect([places[0], places.at(-1)]).toEqual([0, 100]);
    expect(place(5) - place(0)).toBeCloseTo(place(385) - place(380));
    expect(place(380) - place(10)).toBeLessThan(40);
  });

  it("is not stretched by heartbeats", () => {
    const quiet = chart([0, 5, 10, 380]);
    const beat = { at: 200, sign: "dot", label: "b", explanation: "B.", routine: true } as const;
    const lanes = quiet.sides[0]?.lanes ?? [];
    const beating: Chart = {
      ...quiet,
      sides: [{ title: "one", lanes: [...lanes, { group: "g", name: "b", bars: [], marks: [beat] }] }],
    };
    expect(timeAxisOf(beating).breaks).toEqual(timeAxisOf(quiet).breaks);
  });

  it("says times as short as they can be said", () => {
    expect([45, 119.6, 380, 600, 7_500].map(shortText)).toEqual(["45 s", "2m", "6m 20s", "10m", "2h 5m"]);
  });
});

describe("the page", () => {
  it("needs nothing but itself, and lets nothing else in", async () => {
    const page = pageOf(await toldOf("scale-in"));
    expect(page).not.toMatch(/(?:src|href)=|url\(|@import|https?:\/\//);
    expect(page).toMatch(/Content-Security-Policy"\s+content="default-src 'none'/);
    expect(page.length).toBeLessThan(250_000);
  });

  it("has every line of both timelines, and its data as JSON", async () => {
    const told = await toldOf("scale-in");
    const page = pageOf(told);
    const data = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
    expect(JSON.parse(data)).toMatchObject({
      scenario: "scale-in",
      chart: JSON.parse(JSON.stringify(chartOf(told))) as unknown,
      withDrain: { timeline: timelineOf(told.drained) },
      podsOnly: { timeline: timelineOf(told.unaided) },
    });
    const words = page.replaceAll("&#39;", "'");
    for (const { text } of [...timelineOf(told.drained), ...timelineOf(told.unaided)])
      expect(words).toContain(text);
  });

  it("takes nothing that it shows for markup", () => {
    expect(markup`<b title="${'"><script>'}">${"a<b&'"}</b>${[markup`<i>${1}</i>`]}`.text).toBe(
      '<b title="&quot;&gt;&lt;script&gt;">a&lt;b&amp;&#39;</b><i>1</i>',
    );
    expect(json("</script>").text).not.toContain("<");
    expect(JSON.parse(json("</script>").text)).toBe("</script>");
  });
});

describe("simulate --html", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "page-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("writes the page, the same one for the same seed, and says where it is", async () => {
    const file = path.join(folder, "page.html");
    const terminal = new KeptTerminal();
    expect(await simulate({ seed: SEED, html: file }, terminal)).toBe(0);
    expect(terminal.printed).toEqual([
      `${file}: both timelines of scale-in in one page; open it in a browser`,
    ]);
    expect(await readFile(file, "utf8")).toBe(pageOf(await toldOf("scale-in")));
  });

  it("says that a file cannot be written, and which", async () => {
    const terminal = new KeptTerminal();
    const file = path.join(folder, "nowhere", "page.html");
    expect(await simulate({ seed: SEED, html: file }, terminal)).toBe(2);
    expect(terminal.complaints.join()).toMatch(/^cannot write .*nowhere.*: ENOENT/);
  });

  it("writes no page for an event that no machine's end comes of, and says so", async () => {
    const terminal = new KeptTerminal();
    const event = path.join(import.meta.dirname, "..", "fixtures", "events", "state-change-running.json");
    const html = path.join(folder, "none.html");
    expect(await simulate({ seed: SEED, event, html }, terminal)).toBe(2);
    expect(terminal.printed.join()).toContain("ignored: instance running: nothing to drain");
    expect(terminal.complaints).toEqual([
      `no page is written to ${html}: no machine's end comes of this event`,
    ]);
  });
});
