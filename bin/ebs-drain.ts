/** The command line: argument parsing and composition only. Commands load what they need when they are called. */
import { enableCompileCache } from "node:module";
import { Command, InvalidArgumentError, Option } from "commander";
import type { SimulateOptions } from "../lib/cli/simulate.ts";

// A second run starts in half the time.
enableCompileCache();

/** A seed with which the contrast shows: whether a kubelet's last report comes in time is a matter of seconds. */
const SEED = 12;

const program = new Command("ebs-drain").description(
  "Drains EC2 instances of EKS clusters and lets them go only when their EBS volumes are free.",
);

program
  .command("simulate")
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
  .action(async (options: SimulateOptions) => {
    const { simulate } = await import("../lib/cli/simulate.ts");
    process.exitCode = await simulate(options, {
      print: (line) => process.stdout.write(`${line}\n`),
      complain: (line) => process.stderr.write(`${line}\n`),
      colour: process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === "",
    });
  });

// Whoever reads may stop reading, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

await program.parseAsync();

function readSeed(text: string): number {
  const seed = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(seed)) {
    throw new InvalidArgumentError("Give a whole number from 0.");
  }
  return seed;
}
