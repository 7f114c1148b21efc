/** `ebs-drain simulate` on the command line. */
import { Command, InvalidArgumentError, Option } from "commander";
import { running } from "./running.ts";
import type { SimulateOptions } from "./simulate.ts";

/** A seed with which the contrast shows: whether a kubelet's last report comes in time is a matter of seconds. */
const SEED = 12;

export function simulateCommand(): Command {
  return new Command("simulate")
    .description("replay a machine's end in an embedded world with the deployed handlers' own code")
    .addOption(
      new Option("--scenario <name>", "the situation, one of --list (default: scale-in)").conflicts("event"),
    )
    .option(
      "--event <file>",
      "replay this event, JSON as EventBridge delivers it; the world is built around it",
    )
    .option("--list", "list the scenarios")
    .option("--seed <number>", "seed of everything that is left to chance", readSeed, SEED)
    .option("--log", "print the functions' log instead, one JSON object a line: every look and its decision")
    .addOption(new Option("--json", "print timelines and figures as JSON").conflicts("log"))
    .addOption(
      new Option(
        "--html <file>",
        "write both timelines to one page instead, with every bar explained",
      ).conflicts(["log", "json"]),
    )
    .action((options: SimulateOptions) =>
      running(async (terminal) => (await import("./simulate.ts")).simulate(options, terminal)),
    );
}

function readSeed(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(seed)) {
    throw new InvalidArgumentError("Give a whole number from 0.");
  }
  return seed;
}
