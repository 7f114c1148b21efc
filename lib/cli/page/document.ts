/** `simulate --html`: one page that needs nothing but itself. */
import { createHash } from "node:crypto";
import { isoOf } from "../../drain/time.ts";
import { factsOf } from "../facts.ts";
import type { Told } from "../report.ts";
import { comparisonOf, costOf } from "../summary.ts";
import { timeText } from "../time-text.ts";
import { namesOf } from "../timeline-names.ts";
import type { Line } from "../timeline.ts";
import { timelineOf } from "../timeline.ts";
import { chartOf } from "./chart.ts";
import { chartMarkup, legendMarkup } from "./chart-markup.ts";
import { Markup, json, markup } from "./markup.ts";
import { awayOf, overviewMarkup } from "./overview.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import { timeAxisOf } from "./time-axis.ts";

/** The whole document. The same run gives the same bytes. */
export function pageOf(told: Told): string {
  const { scenario, of, drained } = told;
  const chart = chartOf(told);
  const { instance, node } = drained.scene;
  const { text } = markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta
          http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hashOf(SCRIPT)}'"
        />
        <meta name="color-scheme" content="light dark" />
        <title>${scenario.name}: ${scenario.title}</title>
        ${new Markup(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <main>
          <header>
            <h1>${capitalized(scenario.title)}</h1>
            <p>${scenario.story}</p>
            <p class="faint">
              Simulated: ${instance} of ${of.subject.group}${node === undefined ? "" : `, Node ${node}`}; + 0
              is ${isoOf(drained.zero)}; scenario ${scenario.name}, seed ${of.seed}. Point at a bar, tap it,
              or go to it with Tab and the arrow keys: it says what it is.
            </p>
          </header>
          <section aria-labelledby="came-to">
            <h2 id="came-to">What it came to</h2>
            ${overviewMarkup(awayOf(told, chart), chart)} ${figuresMarkup(told)}
          </section>
          ${legendMarkup()} ${chartMarkup(chart, timeAxisOf(chart))}
          <section aria-labelledby="in-words">
            <h2 id="in-words">In words</h2>
            <div class="stories">
              ${storyMarkup("with ebs-drain", timelineOf(drained))}
              ${storyMarkup("with a drainer that looks at pods only", timelineOf(told.unaided))}
            </div>
          </section>
        </main>
        <div id="tip" role="tooltip" hidden></div>
        <script type="application/json" id="data">${json(dataOf(told))}</script>
        ${new Markup(`<script>${SCRIPT}</script>`)}
      </body>
    </html>
`;
  return text;
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The policy lets this very script run and no other. */
function hashOf(script: string): string {
  return createHash("sha256").update(script).digest("base64");
}

function figuresMarkup({ drained, unaided }: Told): Markup {
  const facts = factsOf(drained);
  const rows = comparisonOf(facts, factsOf(unaided), namesOf(drained).podOf);
  return markup`<table>
      <thead>
        <tr>
          <td></td>
          <th scope="col">with ebs-drain</th>
          <th scope="col">pods only</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ label, ours, theirs }) =>
            markup`<tr>
              <th scope="row">${label}</th>
              <td>${ours}</td>
              <td>${theirs}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <div class="faint">${costOf(facts).map((line) => markup`<p>${line}</p>`)}</div>`;
}

function storyMarkup(title: string, lines: readonly Line[]): Markup {
  return markup`<div class="story">
    <h3>${title}</h3>
    <ol>
      ${lines.map(
        ({ seconds, text, weight }) =>
          markup`<li class="${weight}">
            <span class="time">${timeText(seconds)}</span> <span>${text}</span>
          </li>`,
      )}
    </ol>
  </div>`;
}

/** What the page is drawn from, for whoever wants to go on with it. */
function dataOf(told: Told): unknown {
  const { scenario, of, drained, unaided } = told;
  return {
    scenario: scenario.name,
    seed: of.seed,
    zero: isoOf(drained.zero),
    chart: chartOf(told),
    withDrain: { timeline: timelineOf(drained), facts: factsOf(drained) },
    podsOnly: { timeline: timelineOf(unaided), facts: factsOf(unaided) },
  };
}
