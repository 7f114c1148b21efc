/** Two timelines beside each other, in a fixed width. */
import { wrapped } from "./wrap.ts";
import type { Line, Weight } from "./timeline.ts";
import { timeText } from "./time-text.ts";

export interface Column {
  readonly title: string;
  readonly lines: readonly Line[];
}

export type Paint = (text: string, weight: Weight | "title" | "faint") => string;

/** Columns of the whole, of one time, and between the two timelines. */
export const WIDTH = 100;
const TIME = 11;
const GAP = " │ ";
const SIDE = (WIDTH - GAP.length) / 2;
/** Lines of the two sides that are so near each other share a row. */
const NEAR_SECONDS = 1;

export function sideBySide(left: Column, right: Column, paint: Paint): readonly string[] {
  const rows = pairs(left.lines, right.lines).flatMap(([a, b]) => beside(cell(a, paint), cell(b, paint)));
  return [
    ...beside([titleCell(left.title, paint)], [titleCell(right.title, paint)]),
    ...beside([pad("─".repeat(SIDE - 1))], [pad("─".repeat(SIDE - 1))]),
    ...rows,
  ];
}

function pairs(
  left: readonly Line[],
  right: readonly Line[],
): readonly (readonly [Line | undefined, Line | undefined])[] {
  const rows: [Line | undefined, Line | undefined][] = [];
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const a = left[l];
    const b = right[r];
    const distance = (a?.seconds ?? Number.POSITIVE_INFINITY) - (b?.seconds ?? Number.POSITIVE_INFINITY);
    const takesLeft = a !== undefined && (b === undefined || distance <= NEAR_SECONDS);
    const takesRight = b !== undefined && (a === undefined || distance >= -NEAR_SECONDS);
    rows.push([takesLeft ? a : undefined, takesRight ? b : undefined]);
    if (takesLeft) l++;
    if (takesRight) r++;
  }
  return rows;
}

function cell(line: Line | undefined, paint: Paint): readonly string[] {
  if (line === undefined) return [];
  return wrapped(line.text, SIDE - TIME).map((part, index) => {
    const time = index === 0 ? timeText(line.seconds).padStart(TIME - 2) : " ".repeat(TIME - 2);
    return `${paint(time, "faint")}  ${paint(part.padEnd(SIDE - TIME), line.weight)}`;
  });
}

function titleCell(title: string, paint: Paint): string {
  return paint(pad(title), "title");
}

function pad(text: string): string {
  return text.padEnd(SIDE);
}

function beside(left: readonly string[], right: readonly string[]): readonly string[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) =>
    `${left[index] ?? pad("")}${GAP}${right[index] ?? ""}`.trimEnd(),
  );
}
