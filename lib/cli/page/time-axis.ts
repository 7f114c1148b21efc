/** One scale for both sides. Where on neither of them anything changes for long, the time is drawn short, and says how long it was. */
import type { Chart } from "./chart.ts";

/** A stretch in which nothing changes. Seconds, and percent of the width. */
export interface Break {
  readonly left: number;
  readonly width: number;
  readonly from: number;
  readonly to: number;
}

export interface Tick {
  readonly seconds: number;
  /** Percent of the width. */
  readonly left: number;
  readonly text: string;
  /** Left out where the page is narrow. */
  readonly minor: boolean;
}

export interface TimeAxis {
  /** Percent of the width. */
  readonly place: (seconds: number) => number;
  readonly breaks: readonly Break[];
  readonly ticks: readonly Tick[];
}

/** A piece of the axis: seconds, and its length in seconds as they are drawn. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly drawn: number;
}

/** Nothing changes for longer than this share of what is busy: then the time is drawn short. */
const QUIET_SHARE = 1 / 5;
/** At least so many seconds. */
const QUIET_LEAST = 25;
/** A short-drawn stretch is so much of the longest one that is drawn in full. */
const DRAWN_SHARE = 0.4;
const TICKS = 14;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600];

export function timeAxisOf(chart: Chart): TimeAxis {
  const pieces = piecesOf(chart);
  const length = pieces.reduce((sum, { drawn }) => sum + drawn, 0);
  const place = (seconds: number): number => (100 * drawnUntil(pieces, seconds)) / length;
  const breaks = pieces.flatMap(({ from, to, drawn }) =>
    drawn === to - from ? [] : [{ left: place(from), width: place(to) - place(from), from, to }],
  );
  return { place, breaks, ticks: ticksOf(pieces, length, place) };
}

function piecesOf(chart: Chart): readonly Piece[] {
  const times = [...new Set([chart.from, ...changesOf(chart), chart.to])].sort((a, b) => a - b);
  const gaps = times.slice(1).map((to, index) => ({ from: times[index] ?? to, to }));
  const quiet = quietOf(gaps.map(({ from, to }) => to - from));
  return gaps.map(({ from, to }) => ({
    from,
    to,
    drawn: to - from > quiet ? quiet * DRAWN_SHARE : to - from,
  }));
}

/** The longest stretch that is drawn in full: found from what is busy, which does not depend on how long the quiet lasts. */
function quietOf(gaps: readonly number[]): number {
  const busy = gaps.filter((gap) => gap <= QUIET_LEAST).reduce((sum, gap) => sum + gap, 0);
  return Math.max(QUIET_LEAST, busy * QUIET_SHARE);
}

function changesOf({ sides, from, to }: Chart): readonly number[] {
  const lanes = sides.flatMap((side) => side.lanes);
  return [
    ...lanes.flatMap(({ bars }) => bars.flatMap((bar) => [bar.from, bar.to])),
    ...lanes.flatMap(({ marks }) => marks.flatMap(({ at, routine }) => (routine === true ? [] : [at]))),
  ].filter((at) => at > from && at < to);
}

function drawnUntil(pieces: readonly Piece[], seconds: number): number {
  return pieces.reduce((sum, { from, to, drawn }) => {
    const share = Math.min(1, Math.max(0, (seconds - from) / (to - from)));
    return sum + share * drawn;
  }, 0);
}

function ticksOf(
  pieces: readonly Piece[],
  length: number,
  place: (seconds: number) => number,
): readonly Tick[] {
  const step = STEPS.find((each) => length / each <= TICKS) ?? 3_600;
  const whole = pieces.filter(({ from, to, drawn }) => drawn === to - from);
  const seconds = whole.flatMap(({ from, to }) => {
    const first = Math.ceil(from / step);
    return Array.from(
      { length: Math.max(0, Math.floor(to / step) - first + 1) },
      (_, index) => (first + index) * step,
    );
  });
  const shown = [...new Set(seconds)].filter((each) => each >= 0);
  return shown.map((each) => ({
    seconds: each,
    left: place(each),
    text: shortText(each),
    minor: (each / step) % 2 === 1,
  }));
}

/** Whole seconds, as short as it can be said: `45 s`, `6m 20s`, `2h 5m`. */
export function shortText(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 === 0 ? `${minutes}m` : `${minutes}m ${whole % 60}s`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
