/** How a command is run from the command line: what it prints on, how its errors are told, and its exit code. */
import type { Terminal } from "./simulate.ts";

/** What was asked for cannot be done as it was asked; the message says what to change. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** 0: done, and nothing to complain of. */
export const DONE = 0;
/** The command did its work, and the answer is no: a drain at its time-out, a finding of doctor, a promise broken in a simulation. */
export const ANSWER_IS_NO = 1;
/** It could not do its work: wrong arguments, no such Node, no connection, no rights. */
export const COULD_NOT = 2;
/** Ended by Ctrl-C, as shells say it. */
export const INTERRUPTED = 130;

export type ExitCode = typeof DONE | typeof ANSWER_IS_NO | typeof COULD_NOT | typeof INTERRUPTED;

/** Runs it on the process's own terminal and sets the process's exit code. Bugs are thrown. */
export async function running(command: (terminal: Terminal) => Promise<ExitCode>): Promise<void> {
  const terminal: Terminal = {
    print: (line) => process.stdout.write(`${line}\n`),
    complain: (line) => process.stderr.write(`${line}\n`),
    colour: process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "",
  };
  process.exitCode = await told(command, terminal);
}

/** The command's exit code; an error that a user can do something about is told in a line. */
export async function told(
  command: (terminal: Terminal) => Promise<ExitCode>,
  terminal: Terminal,
): Promise<ExitCode> {
  try {
    return await command(terminal);
  } catch (error) {
    if (!isForUser(error)) throw error;
    terminal.complain(`error: ${error.message}`);
    return COULD_NOT;
  }
}

/** By name: the class of port errors belongs to code that is not loaded for `--help`. */
function isForUser(error: unknown): error is Error {
  return error instanceof UsageError || (error instanceof Error && error.name === "PortError");
}
