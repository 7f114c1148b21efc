/** Options that all commands on a real cluster share. */
import { type Command, Option } from "commander";

export interface ConnectionOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly region?: string;
  readonly profile?: string;
  /** Ask Kubernetes only, whatever AWS credentials there are. */
  readonly kubernetesOnly?: boolean;
  /** The deployment's configuration file: its policy and groups. */
  readonly config?: string;
}

export const OUTPUTS = ["table", "wide", "json", "yaml"] as const;
export type Output = (typeof OUTPUTS)[number];

export interface OutputOption {
  readonly output: Output;
}

export function withConnection(command: Command): Command {
  return command
    .optionsGroup("Connection:")
    .option("--kubeconfig <file>", "default: $KUBECONFIG, then ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig (default: its current one)")
    .option("--region <region>", "AWS region (default: $AWS_REGION, the profile's, the cluster's)")
    .option("--profile <name>", "AWS profile (default: $AWS_PROFILE, else the SDK's own search)")
    .option("--kubernetes-only", "ask nothing of AWS, whatever credentials there are")
    .option(
      "--config <file>",
      "the deployment's configuration (examples/deployment.yaml): policy and groups",
    );
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "how the answer is printed").choices(OUTPUTS).default("table"),
  );
}
