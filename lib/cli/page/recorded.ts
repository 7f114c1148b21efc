/** What lanes are made from, and how a record's states become bars. */
import { SECOND } from "../../drain/time.ts";
import type { Instant } from "../../drain/time.ts";
import type { Happening } from "../../sim/seams.ts";
import type { Run } from "../run.ts";
import type { Names } from "../timeline-names.ts";
import { listed } from "../timeline.ts";
import type { Entry } from "../timeline.ts";
import type { Bar, Mark } from "./chart.ts";

export interface Recorded {
  readonly run: Run;
  readonly names: Names;
  /** Seconds from the run's zero: what is shown. */
  readonly from: number;
  readonly to: number;
}

/** From this moment on it is so; without `state`, nothing is. */
export interface Turn {
  readonly at: Instant;
  readonly state?: Omit<Bar, "from" | "to">;
}

/** A bar from each turn to the next, the last one to the end; cut to what is shown. */
export function barsOf(turns: readonly Turn[], recorded: Recorded): readonly Bar[] {
  return turns.flatMap(({ at, state }, index) => {
    if (state === undefined) return [];
    const next = turns[index + 1];
    const from = Math.max(secondsOf(at, recorded), recorded.from);
    const to = Math.min(next === undefined ? recorded.to : secondsOf(next.at, recorded), recorded.to);
    return to > from ? [{ from, to, ...state }] : [];
  });
}

export function marksOf(
  moments: readonly (Omit<Mark, "at"> & { readonly at: Instant })[],
  recorded: Recorded,
): readonly Mark[] {
  return moments
    .map((moment) => ({ ...moment, at: secondsOf(moment.at, recorded) }))
    .filter(({ at }) => at >= recorded.from && at <= recorded.to);
}

export function secondsOf(at: Instant, { run }: Recorded): number {
  return (at - run.zero) / SECOND;
}

/** Notes of this lane about this subject, in order. */
export function notesOf({ run }: Recorded, lane: string, subject?: string): readonly Happening[] {
  return run.world.happenings.filter(
    (each) => each.lane === lane && (subject === undefined || each.subject === subject),
  );
}

/** What follows the words, where the text begins with them. */
export function after(text: string, words: string): string | undefined {
  return text.startsWith(words) ? text.slice(words.length) : undefined;
}

/** A line of the timeline as a moment on a lane; its first words are the label. */
export function markOf({ at, say, subjects, weight }: Entry): Mark {
  const text = say.replace("%s", listed(subjects));
  return {
    at,
    sign: weight === "bad" ? "bad" : "dot",
    label: say.replace(/[:(%].*$/, "").trim(),
    explanation: `${text.charAt(0).toUpperCase()}${text.slice(1)}.`,
  };
}
