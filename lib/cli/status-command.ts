/** `ebs-drain status` on the command line. */
import { Command, InvalidArgumentError } from "commander";
import type { ConnectionOptions, OutputOption } from "./connection-options.ts";
import { withConnection, withOutput } from "./connection-options.ts";
import { running } from "./running.ts";

const WATCH_SECONDS = 5;

type StatusOptions = ConnectionOptions & OutputOption & { readonly watch?: number | true };

export function statusCommand(): Command {
  const command = new Command("status")
    .description("every draining Node: stage, age, time left, and what blocks it; changes nothing")
    .argument("[node]", "only this Node, draining or not: its name or an instance id")
    .option(
      "-w, --watch [seconds]",
      `look again every ${WATCH_SECONDS} seconds, or as many as given`,
      readSeconds,
    )
    .action((node: string | undefined, { watch, ...options }: StatusOptions) =>
      running(async (terminal) => {
        const { withOperator } = await import("./operator.ts");
        const { status } = await import("./status.ts");
        const seconds = watch === true ? WATCH_SECONDS : watch;
        const asked = { output: options.output, ...(seconds === undefined ? {} : { watch: seconds }) };
        return withOperator(options, (operator) => status(node, asked, operator, terminal));
      }),
    )
    .addHelpText(
      "after",
      `
Examples:
  ebs-drain status
  ebs-drain status ip-10-0-1-17.eu-west-1.compute.internal -o wide
  ebs-drain status --watch 10
  ebs-drain status -o json | jq '.[] | select(.secondsLeft < 600)'

A pod is named with the PodDisruptionBudgets that let it go nowhere now, a volume with what Kubernetes and EC2 say of it.
Exit codes: 0 answered; 2 the cluster or AWS could not be asked.`,
    );
  return withConnection(withOutput(command));
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 600) {
    throw new InvalidArgumentError("Give whole seconds from 1 to 600.");
  }
  return seconds;
}
