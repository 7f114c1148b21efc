/** The lanes as HTML. Every bar and mark is a button: it can be reached by pointer, finger and keyboard, and says in words what it is. */
import { timeText } from "../time-text.ts";
import type { Bar, Chart, Lane, Mark, Side, Tone } from "./chart.ts";
import type { Markup } from "./markup.ts";
import { markup } from "./markup.ts";
import type { Tick, TimeAxis } from "./time-axis.ts";
import { shortText } from "./time-axis.ts";

export function chartMarkup(chart: Chart, axis: TimeAxis): Markup {
  return markup`${chart.sides.map((side) => sideMarkup(side, axis))}`;
}

/** In the order in which a volume's way goes through them. */
const LEGEND: readonly (readonly [Tone, string])[] = [
  ["old", "on the node that goes"],
  ["moving", "on its way"],
  ["new", "on another node"],
  ["bad", "out of service, or in the way"],
  ["held", "held, or waiting"],
  ["work", "at work"],
  ["off", "going or gone"],
];

export function legendMarkup(): Markup {
  return markup`<ul class="legend" aria-label="Colours">
    ${LEGEND.map(([tone, text]) => markup`<li><span class="swatch ${tone}"></span>${text}</li>`)}
    <li><span class="swatch quiet"></span>time drawn short: nothing changes</li>
  </ul>`;
}

function sideMarkup({ title, lanes }: Side, axis: TimeAxis): Markup {
  const groups = [...new Set(lanes.map(({ group }) => group))];
  return markup`<section class="side" aria-label="Timeline ${title}">
    <h2>${title}</h2>
    <div class="chart">
      ${axisMarkup(axis)}
      ${groups.map((group) =>
        groupMarkup(
          group,
          lanes.filter((lane) => lane.group === group),
          axis,
        ),
      )}
    </div>
  </section>`;
}

function axisMarkup({ ticks, breaks }: TimeAxis): Markup {
  return markup`<div class="lane axis" aria-hidden="true">
    <span class="name"></span>
    <div class="track">
      ${breaks.map(
        ({ left, width, from, to }) =>
          markup`<span
            class="span"
            style="left:${at(left)};width:${at(width)}"
            title="${timeText(from)} to ${timeText(to)}: nothing changes"
            >${shortText(to - from)}</span
          >`,
      )}
      ${ticks.map(tickMarkup)}
    </div>
  </div>`;
}

/** Percent of the width from which a label in the middle of its tick would leave the page, on a phone. */
const LAST = 93;

function tickMarkup({ left, text, minor }: Tick): Markup {
  const classes = ["tick", ...(minor ? ["minor"] : []), ...(left > LAST ? ["last"] : [])];
  return markup`<span class="${classes.join(" ")}" style="left:${at(left)}">${text}</span>`;
}

function groupMarkup(group: string, lanes: readonly Lane[], axis: TimeAxis): Markup {
  return markup`<div class="group" role="group" aria-label="${group}">
    <h3>${group}</h3>
    ${lanes.map((lane) => laneMarkup(lane, axis))}
  </div>`;
}

function laneMarkup({ name, bars, marks }: Lane, axis: TimeAxis): Markup {
  return markup`<div class="lane" role="group" aria-label="${name}">
    <span class="name" title="${name}">${name}</span>
    <div class="track">
      ${axis.breaks.map(
        ({ left, width }) => markup`<span class="quiet" style="left:${at(left)};width:${at(width)}"></span>`,
      )}
      ${axis.ticks.map(({ left }) => markup`<span class="line" style="left:${at(left)}"></span>`)}
      ${bars.map((bar) => barMarkup(name, bar, axis))}
      ${axis.breaks.map(({ left, width }) => markup`<span class="cut" style="left:${at(left + width / 2)}"></span>`)}
      ${marks.map((mark) => markMarkup(name, mark, axis))}
    </div>
  </div>`;
}

function barMarkup(lane: string, { from, to, tone, label, explanation }: Bar, axis: TimeAxis): Markup {
  const left = axis.place(from);
  const when = `${timeText(from)} to ${timeText(to)}, ${shortText(to - from)}`;
  return markup`<button
    type="button"
    class="bar ${tone}"
    style="left:${at(left)};width:${at(axis.place(to) - left)}"
    title="${lane}: ${label}, ${when}&#10;${explanation}"
  >
    <span>${label}</span>
  </button>`;
}

const SIGNS: Readonly<Record<Mark["sign"], string>> = { dot: "", good: "✓", bad: "!" };

function markMarkup(lane: string, { at: moment, sign, label, explanation }: Mark, axis: TimeAxis): Markup {
  return markup`<button
    type="button"
    class="mark ${sign}"
    style="left:${at(axis.place(moment))}"
    title="${lane}: ${label}, ${timeText(moment)}&#10;${explanation}"
  >
    ${SIGNS[sign]}
  </button>`;
}

function at(percent: number): string {
  return `${Number(percent.toFixed(3))}%`;
}
