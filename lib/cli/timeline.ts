/** The story of a run, line by line: what happened in the world and what ebs-drain decided, compacted and in plain words. */
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { Run } from "./run.ts";
import { linesOfDrain } from "./timeline-of-drain.ts";
import { linesOfWorld } from "./timeline-of-world.ts";
import { linesOfWitness } from "./timeline-of-witness.ts";
import { namesOf } from "./timeline-names.ts";

/** `key`: a reader who skips the others still understands; `good` and `bad` are key lines that decide it. */
export type Weight = "plain" | "key" | "good" | "bad";

/** One happening. Several of the same kind become one line. */
export interface Entry {
  readonly at: Instant;
  /** `%s` stands for the subjects. */
  readonly say: string;
  readonly subjects: readonly string[];
  readonly weight: Weight;
  /** Told once, however often it happens. */
  readonly once?: boolean;
}

export interface Line {
  /** From the run's zero. */
  readonly seconds: number;
  readonly text: string;
  readonly weight: Weight;
}

/** Happenings of one kind within this time are one line. */
const TOGETHER = 1.5 * SECOND;

export function timelineOf(run: Run): readonly Line[] {
  const names = namesOf(run);
  const { embedded } = run;
  const over = storyEnd(run);
  const entries = [
    ...(embedded === undefined ? [] : linesOfDrain(embedded, run, names)),
    ...linesOfWorld(run, names),
    ...linesOfWitness(run, names),
  ].filter(
    ({ at, weight, say }) => at >= run.zero && at <= run.endedAt && (at <= over || isLasting(weight, say)),
  );
  return compacted(entries).map(({ at, say, subjects, weight }) => ({
    seconds: (at - run.zero) / SECOND,
    text: say.replace("%s", listed(subjects)),
    weight,
  }));
}

/** Every pod is up again and the action is over: what comes then is aftermath. */
export function storyEnd({ witness, endedAt }: Run): Instant {
  const ends = [
    ...witness.outages.map(({ until }) => until ?? endedAt),
    ...witness.actionEnds.map(({ at }) => at),
    ...witness.volumes.map(({ unattachedAt }) => unattachedAt ?? endedAt),
  ];
  return ends.length === 0 ? endedAt : Math.max(...ends);
}

function isLasting(weight: Weight, say: string): boolean {
  return weight !== "plain" || say.startsWith("EC2:");
}

/** In order; what is told once, once, and what happens together in one entry. */
export function compacted(entries: readonly Entry[]): readonly Entry[] {
  return together(withoutRepetitions([...entries].sort((a, b) => a.at - b.at)));
}

function withoutRepetitions(entries: readonly Entry[]): readonly Entry[] {
  const told = new Set<string>();
  return entries.filter(({ say, subjects, once }) => {
    const key = `${say} ${subjects.join()}`;
    if (once === true && told.has(key)) return false;
    told.add(key);
    return true;
  });
}

function together(entries: readonly Entry[]): readonly Entry[] {
  const lines: Entry[] = [];
  for (const entry of entries) {
    const same = lines.findIndex((line) => line.say === entry.say && entry.at - line.at <= TOGETHER);
    const line = lines[same];
    if (line === undefined || entry.subjects.length === 0) lines.push(entry);
    else {
      lines[same] = { ...line, subjects: [...new Set([...line.subjects, ...entry.subjects])] };
    }
  }
  return lines;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
