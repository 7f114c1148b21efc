/** What it came to, on a scale that nothing shortens: for how long a pod of each application was away. */
import { SECOND } from "../../drain/time.ts";
import type { Told } from "../report.ts";
import type { Run } from "../run.ts";
import { spanText, timeText } from "../time-text.ts";
import type { Markup } from "./markup.ts";
import { markup } from "./markup.ts";
import type { Chart } from "./chart.ts";

export interface AwayTime {
  readonly from: number;
  readonly to: number;
  readonly pod: string;
}

export interface Away {
  readonly app: string;
  readonly side: string;
  /** Seconds from zero. */
  readonly times: readonly AwayTime[];
}

const SIDES = ["with ebs-drain", "pods only"] as const;

/** Two rows for each application that had a pod away on either side. */
export function awayOf({ drained, unaided }: Told, chart: Chart): readonly Away[] {
  const runs = [drained, unaided];
  const pods = [...new Set(runs.flatMap(({ witness }) => witness.outages.map(({ pod }) => pod)))];
  const apps = [...new Set(pods.map(appOf))].sort();
  return apps.flatMap((app) =>
    runs.map((run, index) => ({ app, side: SIDES[index] ?? "", times: timesOf(run, app, chart) })),
  );
}

function appOf(pod: string): string {
  return pod.replace(/-\d+$/, "");
}

function timesOf({ witness, zero }: Run, app: string, chart: Chart): readonly AwayTime[] {
  return witness.outages
    .filter(({ pod }) => appOf(pod) === app)
    .map(({ pod, from, until }) => ({
      pod,
      from: (from - zero) / SECOND,
      to: until === undefined ? chart.to : Math.min(chart.to, (until - zero) / SECOND),
    }));
}

export function overviewMarkup(away: readonly Away[], chart: Chart): Markup {
  const place = (seconds: number): number =>
    Number(((100 * (seconds - chart.from)) / (chart.to - chart.from)).toFixed(3));
  return markup`<div class="overview" role="group" aria-label="Time that pods were away">
    ${away.map(
      ({ app, side, times }) =>
        markup`<div class="lane" role="group" aria-label="${app}, ${side}">
          <span class="name">${app} <small>${side}</small></span>
          <div class="track">
            ${times.map(
              ({ from, to, pod }) =>
                markup`<button
                  type="button"
                  class="bar bad"
                  style="left:${place(from)}%;width:${Number((place(to) - place(from)).toFixed(3))}%"
                  title="${pod}: away, ${timeText(from)} to ${timeText(to)}, ${spanText(to - from)}&#10;No pod of this name served in that time."
                >
                  <span>${pod}</span>
                </button>`,
            )}
            ${figureMarkup(times, place)}
          </div>
        </div>`,
    )}
  </div>`;
}

/** Beside the bars: to their right, or where there is no room, in the last one or to their left. */
function figureMarkup(times: readonly AwayTime[], place: (seconds: number) => number): Markup {
  const right = place(Math.max(0, ...times.map(({ to }) => to)));
  const left = place(Math.min(...times.map(({ from }) => from)));
  const last = times.find(({ to }) => place(to) === right);
  const isWide = last !== undefined && right - place(last.from) > ROOM;
  const [way, at] = right < 100 - ROOM ? ["", right] : isWide ? ["inside", right] : ["before", left];
  return markup`<span class="figure ${way}" style="left:${at}%">${figureOf(times)}</span>`;
}

/** Percent of the width that a figure takes, on a phone too. */
const ROOM = 25;

function figureOf(times: readonly AwayTime[]): string {
  if (times.length === 0) return "never away";
  return spanText(Math.max(...times.map(({ from, to }) => to - from)));
}
