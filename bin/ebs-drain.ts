/** The command line: argument parsing and composition only. */
import { Command, InvalidArgumentError } from "commander";

const program = new Command("ebs-drain").description(
  "Drains EC2 instances of EKS clusters and lets them go only when their EBS volumes are free.",
);

program
  .command("simulate")
  .description("replay a node's end in an embedded world, with the deployed handlers' own code")
  .option("--seed <number>", "seed of everything that is left to chance", readSeed, 7)
  .action(async (options: { readonly seed: number }) => {
    const { simulate } = await import("../lib/cli/simulate.ts");
    process.exitCode = await simulate(options);
  });

await program.parseAsync();

function readSeed(text: string): number {
  const seed = Number(text);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new InvalidArgumentError("Not a whole number from 0.");
  return seed;
}
