/** `ebs-drain plan` on the command line. */
import { Command } from "commander";
import type { ConnectionOptions, OutputOption } from "./connection-options.ts";
import { withConnection, withOutput } from "./connection-options.ts";
import { UsageError, running } from "./running.ts";

type PlanOptions = ConnectionOptions & OutputOption & { readonly file?: string };

export function planCommand(): Command {
  const command = new Command("plan")
    .description(
      "the decision that would be made about a machine now, with rule numbers and reasons; changes nothing",
    )
    .argument("[node]", "a Node's name or an instance id")
    .option(
      "--file <file>",
      "decide again what a log holds: lines of the decision log, or `-` for standard input",
    )
    .action((node: string | undefined, options: PlanOptions) =>
      running(async (terminal) => {
        const { file } = options;
        if (node !== undefined && file !== undefined) throw new UsageError("give a Node or --file, not both");
        if (file !== undefined) {
          const { policyOf } = await import("./deployment-file.ts");
          const { replay } = await import("./replay.ts");
          return replay(file, await policyOf(options.config), options, terminal);
        }
        if (node === undefined) throw new UsageError("name a Node or an instance, or give --file");
        const { withOperator } = await import("./operator.ts");
        const { plan } = await import("./plan.ts");
        return withOperator(options, (operator) => plan(node, options, operator, terminal));
      }),
    )
    .addHelpText(
      "after",
      `
Examples:
  ebs-drain plan ip-10-0-1-17.eu-west-1.compute.internal
  ebs-drain plan i-0f3a9c1d2b4e5f607 -o json | jq .decision.rules
  ebs-drain plan --file looks.jsonl --config deployment.yaml

Exit codes: 0 decided; 1 a logged decision differs from the one made now; 2 it could not be decided.`,
    );
  return withConnection(withOutput(command));
}
