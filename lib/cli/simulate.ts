/** `ebs-drain simulate`: a machine's end, replayed in the embedded world with ebs-drain and without, and told line by line. */
import { readFile, writeFile } from "node:fs/promises";
import type { Scenario } from "../sim/scenario.ts";
import { SCENARIOS, scenarioOf } from "../sim/scenarios.ts";
import { nearest } from "../drain/near-miss.ts";
import { SignalError } from "../drain/signal.ts";
import { isoOf } from "../drain/time.ts";
import { dispatchAlone } from "./dispatch-alone.ts";
import { painter } from "./paint.ts";
import { GROUP, replayOf } from "./recorded-event.ts";
import type { Told } from "./report.ts";
import { jsonReport, textReport } from "./report.ts";
import type { Run, RunOptions } from "./run.ts";
import { runWithDrain, runWithPodDrainer } from "./run.ts";

export interface SimulateOptions {
  readonly seed: number;
  readonly scenario?: string;
  /** A file with an event as EventBridge delivers it. */
  readonly event?: string;
  /** The decision log instead of the timeline. */
  readonly log?: boolean;
  readonly json?: boolean;
  /** A file for the page with both timelines. */
  readonly html?: string;
  readonly list?: boolean;
}

export interface Terminal {
  /** One line. */
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
  readonly colour: boolean;
}

/** 0; 1 where the simulated drain broke a promise; 2 where what was asked for cannot be simulated. */
export type ExitCode = 0 | 1 | 2;

export async function simulate(options: SimulateOptions, terminal: Terminal): Promise<ExitCode> {
  if (options.list === true) return list(terminal);
  if (options.event !== undefined) return simulateEvent(options.event, options, terminal);
  const name = options.scenario ?? "scale-in";
  const scenario = scenarioOf(name);
  if (scenario === undefined) return complainOfName(name, terminal);
  return simulateScenario(scenario, { seed: options.seed, subject: { group: GROUP } }, options, terminal);
}

function list({ print }: Terminal): ExitCode {
  const width = Math.max(...SCENARIOS.map(({ name }) => name.length)) + 2;
  for (const { name, title } of SCENARIOS) print(`${name.padEnd(width)}${title}`);
  return 0;
}

function complainOfName(name: string, { complain }: Terminal): ExitCode {
  const names = SCENARIOS.map((scenario) => scenario.name);
  const near = nearest(name, names);
  complain(`no scenario "${name}"${near === undefined ? "" : `; did you mean ${near}?`}`);
  complain(`There are: ${names.join(", ")}.`);
  return 2;
}

async function simulateEvent(file: string, options: SimulateOptions, terminal: Terminal): Promise<ExitCode> {
  const reading = await readEvent(file);
  if ("problem" in reading) {
    terminal.complain(reading.problem);
    return 2;
  }
  const { event } = reading;
  try {
    const replay = replayOf(event);
    if (replay === undefined) {
      terminal.print(await dispatchAlone(event, options.seed));
      if (options.html === undefined) return 0;
      terminal.complain(`no page is written to ${options.html}: no machine's end comes of this event`);
      return 2;
    }
    const { scenario, subject, recorded } = replay;
    return await simulateScenario(scenario, { seed: options.seed, subject, recorded }, options, terminal);
  } catch (error) {
    if (!(error instanceof SignalError)) throw error;
    terminal.complain(`broken event: ${error.message}`);
    terminal.complain("Lambda would deliver it twice more, and then put it into the dead-letter queue (S6).");
    return 2;
  }
}

async function readEvent(file: string): Promise<{ readonly event: unknown } | { readonly problem: string }> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    return { problem: `cannot read ${file}: ${messageOf(error)}` };
  }
  try {
    return { event: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `${file} is not JSON: ${messageOf(error)}` };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One scenario for this subject, printed as the options say. */
export async function simulateScenario(
  scenario: Scenario,
  of: RunOptions,
  options: SimulateOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const drained = await runWithDrain(scenario, of);
  if (options.log === true) {
    for (const line of drained.embedded?.log ?? []) terminal.print(line);
  } else {
    const unaided = await runWithPodDrainer(scenario, of);
    const told: Told = { scenario, of, drained, unaided };
    if (options.html !== undefined) return writePage(options.html, told, terminal);
    const lines = options.json === true ? [jsonReport(told)] : textReport(told, painter(terminal.colour));
    for (const line of lines) terminal.print(line);
  }
  return judge(drained, terminal);
}

/** Loaded only where a page is asked for. */
async function writePage(file: string, told: Told, terminal: Terminal): Promise<ExitCode> {
  const { pageOf } = await import("./page/document.ts");
  try {
    await writeFile(file, pageOf(told));
  } catch (error) {
    terminal.complain(`cannot write ${file}: ${messageOf(error)}`);
    return 2;
  }
  terminal.print(`${file}: both timelines of ${told.scenario.name} in one page; open it in a browser`);
  return judge(told.drained, terminal);
}

/** I1 to I12 hold, or what happened is said. */
function judge({ violations }: Run, { complain }: Terminal): ExitCode {
  if (violations.length === 0) return 0;
  complain("ebs-drain broke its promise in this run:");
  for (const { invariant, at, text } of violations) complain(`  ${isoOf(at)} ${invariant}: ${text}`);
  return 1;
}
