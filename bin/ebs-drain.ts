#!/usr/bin/env node
/** The command line: composition only. Commands load what they need when they are called. */
import { enableCompileCache } from "node:module";
import { Command } from "commander";
import { doctorCommand } from "../lib/cli/doctor-command.ts";
import { drainCommand } from "../lib/cli/drain-command.ts";
import { installCommand } from "../lib/cli/install-command.ts";
import { planCommand } from "../lib/cli/plan-command.ts";
import { simulateCommand } from "../lib/cli/simulate-command.ts";
import { statusCommand } from "../lib/cli/status-command.ts";

// A second run starts in half the time.
enableCompileCache();

const program = new Command("ebs-drain")
  .description("Drains EC2 instances of EKS clusters and lets them go only when their EBS volumes are free.")
  .addCommand(drainCommand())
  .addCommand(planCommand())
  .addCommand(installCommand())
  .addCommand(statusCommand())
  .addCommand(doctorCommand())
  .addCommand(simulateCommand());

// Whoever reads may stop reading, as `head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

await program.parseAsync();
