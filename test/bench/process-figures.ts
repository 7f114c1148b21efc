/** What Linux tells of a process's memory and processor time. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

export interface Memory {
  /** Bytes, of all kinds: the program's file, shared with every other Node process of the machine, too. */
  readonly resident: number;
  /** Bytes that are this process's own. */
  readonly anonymous: number;
  /** Most resident bytes since the start, or since `resetPeak`. */
  readonly peak: number;
}

const KIB = 1_024;

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return {
    resident: kibibytes(status, "VmRSS") * KIB,
    anonymous: kibibytes(rollup, "Anonymous") * KIB,
    peak: kibibytes(status, "VmHWM") * KIB,
  };
}

/** The peak is what is resident now. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** Seconds of processor time since the process began, in user and kernel mode. */
export function processorSeconds(pid: number): number {
  return ticksOf(readFileSync(`/proc/${pid}/stat`, "utf8")) / ticksPerSecond();
}

/** @param text lines such as `VmRSS:   61440 kB` @throws where it has no such line */
export function kibibytes(text: string, field: string): number {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, "mu").exec(text)?.[1];
  if (found === undefined) throw new Error(`no ${field} in ${text.slice(0, 100)}`);
  return Number(found);
}

/** utime and stime of /proc/PID/stat: fields 14 and 15, counted behind the name, which may hold blanks and brackets. */
export function ticksOf(stat: string): number {
  const [utime = Number.NaN, stime = Number.NaN] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  const ticks = utime + stime;
  if (Number.isNaN(ticks)) throw new Error(`no processor time in ${stat.slice(0, 100)}`);
  return ticks;
}

let perSecond: number | undefined;

function ticksPerSecond(): number {
  return (perSecond ??= Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })));
}
