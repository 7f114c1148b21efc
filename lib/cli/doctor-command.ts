/** `ebs-drain doctor` on the command line. */
import { Command } from "commander";
import type { ConnectionOptions, OutputOption } from "./connection-options.ts";
import { withConnection, withOutput } from "./connection-options.ts";
import { running } from "./running.ts";

type DoctorCommandOptions = ConnectionOptions &
  OutputOption & {
    readonly group: readonly string[];
    readonly clusterName?: string;
    readonly strict?: boolean;
  };

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description(
      "what would go wrong in a drain of this cluster: each finding with its reason and the command that mends it",
    )
    .option(
      "--group <names...>",
      "Auto Scaling groups (default: those of --config, else of the Nodes' instances)",
      [],
    )
    .option("--cluster-name <name>", "the EKS cluster's name (default: the kubeconfig's)")
    .option("--strict", "end with 1 for warnings, too")
    .action((options: DoctorCommandOptions) =>
      running(async (terminal) => {
        const { withOperator } = await import("./operator.ts");
        const { doctor } = await import("./doctor.ts");
        const { strict = false, ...rest } = options;
        return withOperator(options, (operator) => doctor({ ...rest, strict }, operator, terminal));
      }),
    )
    .addHelpText(
      "after",
      `
Examples:
  ebs-drain doctor
  ebs-drain doctor --config deployment.yaml --strict
  ebs-drain doctor --kubernetes-only -o json | jq '.[] | select(.level == "error")'

It changes nothing. Levels: FAIL, drains fail or volumes are torn away; warn, they take longer or need a person; ??, it could
not be looked at.
Exit codes: 0 no error; 1 an error, or with --strict a warning; 2 it could not begin.`,
    );
  return withConnection(withOutput(command));
}
