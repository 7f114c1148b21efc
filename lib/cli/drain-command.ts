/** `ebs-drain drain` on the command line. */
import { Command, InvalidArgumentError } from "commander";
import type { ConnectionOptions, OutputOption } from "./connection-options.ts";
import { withConnection, withOutput } from "./connection-options.ts";
import { running } from "./running.ts";

type DrainCommandOptions = ConnectionOptions &
  OutputOption & {
    readonly timeout: number;
    readonly dryRun?: boolean;
    readonly force?: boolean;
    readonly forceAfter: number;
  };

export function drainCommand(): Command {
  const command = new Command("drain")
    .description(
      "cordon a Node, evict its pods, and wait until its volumes are detached in Kubernetes and EC2",
    )
    .argument("<node>", "a Node's name or an instance id")
    .option("--timeout <duration>", "give up after this long, such as 90s, 30m or 2h", readDuration, 7_200)
    .option("--dry-run", "print what would be done, and change nothing")
    .option("--force", "delete pods that a PodDisruptionBudget still blocks after --force-after")
    .option("--force-after <duration>", "how long budgets are waited for with --force", readDuration, 1_800)
    .action((node: string, options: DrainCommandOptions) =>
      running(async (terminal) => {
        const { withOperator } = await import("./operator.ts");
        const { drain } = await import("./drain.ts");
        const { surroundings } = await import("./drain-surroundings.ts");
        const { dryRun = false, force = false, ...rest } = options;
        const asked = { ...rest, dryRun, force };
        return withOperator(options, (operator) =>
          drain(node, asked, operator, surroundings(terminal, asked.output)),
        );
      }),
    )
    .addHelpText(
      "after",
      `
Examples:
  ebs-drain drain ip-10-0-1-17.eu-west-1.compute.internal
  ebs-drain drain i-0f3a9c1d2b4e5f607 --timeout 30m
  ebs-drain drain ip-10-0-1-17.eu-west-1.compute.internal --dry-run -o wide
  ebs-drain drain ip-10-0-1-17.eu-west-1.compute.internal --force --force-after 10m --timeout 1h

DaemonSet and static pods stay. emptyDir volumes end with their pods. Ctrl-C ends after the step at hand; the Node stays
cordoned, and the last line says how to undo that. A second Ctrl-C ends at once.
Exit codes: 0 drained; 1 not drained in time; 2 it could not begin; 130 ended by Ctrl-C.`,
    );
  return withConnection(withOutput(command));
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
const LONGEST = 48 * 3_600;

/** Seconds of `90s`, `30m`, `1h30m` or a plain number of seconds. */
function readDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+)([smh])/g)];
  const isWhole = parts.length > 0 && parts.map(([part]) => part).join("") === text;
  const seconds = isWhole
    ? parts.reduce((sum, [, count, unit = "s"]) => sum + Number(count) * (UNITS[unit] ?? 1), 0)
    : /^\d+$/.test(text)
      ? Number(text)
      : Number.NaN;
  if (Number.isNaN(seconds) || seconds < 1 || seconds > LONGEST) {
    throw new InvalidArgumentError("Give a duration such as 90s, 30m or 1h30m, of 48 hours at most.");
  }
  return seconds;
}
