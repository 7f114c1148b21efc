/** All commands, in the order of their help. */
import path from "node:path";
import { Command } from "commander";
import { completionCommand } from "./completion-command.ts";
import { doctorCommand } from "./doctor-command.ts";
import { drainCommand } from "./drain-command.ts";
import { installCommand } from "./install-command.ts";
import { planCommand } from "./plan-command.ts";
import { simulateCommand } from "./simulate-command.ts";
import { statusCommand } from "./status-command.ts";

/** As kubectl finds its plugin `ebs-drain`: of a dash in the name the file has an underscore. */
const PLUGIN = /^kubectl-ebs_drain/;

/** @param invokedAs the path by which the process was started */
export function createProgram(invokedAs: string): Command {
  const isPlugin = PLUGIN.test(path.basename(invokedAs));
  const program = new Command(isPlugin ? "kubectl ebs-drain" : "ebs-drain")
    .description(
      "Drains EC2 instances of EKS clusters and lets them go only when their EBS volumes are free.",
    )
    .addCommand(drainCommand())
    .addCommand(planCommand())
    .addCommand(statusCommand())
    .addCommand(doctorCommand())
    .addCommand(installCommand())
    .addCommand(simulateCommand())
    .addHelpText(
      "after",
      `
Examples:
  ebs-drain doctor
  ebs-drain drain ip-10-0-1-17.eu-west-1.compute.internal --dry-run
  ebs-drain status --watch

Colours are left out where NO_COLOR is set. As a kubectl plugin: kubectl ebs-drain status`,
    );
  return program.addCommand(completionCommand(program));
}
