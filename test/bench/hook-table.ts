/** The hook bench's figures as Markdown, and which of the targets they miss. */
import type { LimitedOutcome } from "./hook-rounds.ts";

/** Bytes, milliseconds, and seconds of processor time. */
export interface HookFigures {
  readonly attachments: number;
  readonly program: string;
  readonly idle: number;
  readonly anonymous: number;
  readonly peakInList: number;
  readonly received: number;
  readonly receivedWithoutList: number;
  /** Where the node stays. */
  readonly receivedStaying: number;
  readonly processor: number;
  /** From the question to the answer where the node stays. */
  readonly staying: number;
  /** From the last attachment's end to the answer. */
  readonly answer: number;
  readonly limited: LimitedOutcome;
}

const MB = 1_000_000;
const KB = 1_000;

interface Column {
  readonly title: string;
  readonly of: (figures: HookFigures) => string;
  /** What the two programs are compared by. */
  readonly value?: (figures: HookFigures) => number;
}

const COLUMNS: readonly Column[] = [
  { title: "attachments", of: ({ attachments }) => attachments.toLocaleString("en-US") },
  { title: "program", of: ({ program }) => program },
  amount("RSS idle", "MB", ({ idle }) => idle / MB),
  amount("anonymous", "MB", ({ anonymous }) => anonymous / MB),
  amount("peak RSS in the list", "MB", ({ peakInList }) => peakInList / MB),
  amount("received", "MB", ({ received }) => received / MB),
  amount("without the list", "kB", ({ receivedWithoutList }) => receivedWithoutList / KB),
  amount("node stays: received", "kB", ({ receivedStaying }) => receivedStaying / KB),
  amount("node stays: answer", "ms", ({ staying }) => staying),
  amount("last one gone → answer", "ms", ({ answer }) => answer),
  amount("CPU", "s", ({ processor }) => processor),
  { title: "within the limit", of: ({ limited }) => limitedText(limited) },
];

/** One row for each size and program, and one with what the last program takes of each, in multiples of the first's. */
export function hookTable(figures: readonly HookFigures[]): string {
  const sizes = [...new Set(figures.map(({ attachments }) => attachments))];
  const rows = sizes.flatMap((size) => {
    const ofSize = figures.filter(({ attachments }) => attachments === size);
    const cells = ofSize.map((each) => COLUMNS.map(({ of }) => of(each)));
    const [first, last] = [ofSize[0], ofSize.at(-1)];
    return first === undefined || last === undefined || first === last
      ? cells
      : [...cells, ratioRow(first, last)];
  });
  return [COLUMNS.map(({ title }) => title), COLUMNS.map(() => "---"), ...rows].map(row).join("\n");
}

/** Names and figures of what is missed, for the hook's figures at the largest size; the limits are those of `docs/performance.md`. */
export function missedTargets(figures: HookFigures): readonly string[] {
  const targets: readonly (readonly [string, number, number, string])[] = [
    ["RSS idle", figures.idle / MB, 70, "MB"],
    ["anonymous", figures.anonymous / MB, 20, "MB"],
    ["peak RSS in the list", figures.peakInList / MB, 85, "MB"],
    ["last one gone → answer", figures.answer, 10, "ms"],
    ["node stays: answer", figures.staying, 10, "ms"],
    ["received", figures.received / MB, 7.5, "MB"],
    ["received without the list", figures.receivedWithoutList / KB, 50, "kB"],
    ["CPU", figures.processor, 2, "s"],
  ];
  return [
    ...targets
      .filter(([, value, most]) => value > most)
      .map(([name, value, most, unit]) => `${name}: ${digits(value)} ${unit}, at most ${most} ${unit}`),
    ...(figures.limited.kind === "killed" || figures.limited.kind === "failed"
      ? [`${figures.limited.kind} within the memory limit`]
      : []),
  ];
}

function amount(name: string, unit: string, value: (figures: HookFigures) => number): Column {
  return { title: `${name}, ${unit}`, of: (figures) => digits(value(figures)), value };
}

function ratioRow(first: HookFigures, last: HookFigures): readonly string[] {
  return COLUMNS.map(({ title, value }) => {
    if (title === "program") return `${last.program} : ${first.program}`;
    return value === undefined ? "" : `× ${digits(value(last) / value(first))}`;
  });
}

function limitedText(outcome: LimitedOutcome): string {
  switch (outcome.kind) {
    case "ran":
      return `ran, ${digits(outcome.peak / MB)} MB charged`;
    case "killed":
      return "**killed**";
    case "failed":
      return "**failed**";
    case "impossible":
      return "not tried";
    default:
      return outcome satisfies never;
  }
}

/** Three digits that count, none after the point from 100 on. */
function digits(value: number): string {
  if (value >= 99.5) return Math.round(value).toLocaleString("en-US");
  return value >= 9.95 ? value.toFixed(1) : value.toFixed(2);
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
