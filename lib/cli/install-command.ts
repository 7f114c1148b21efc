/** `ebs-drain install` on the command line: prints manifests, or writes them to a folder, and never applies any. */
import { Command, InvalidArgumentError, Option } from "commander";
import type { InstallHookOptions, InstallRbacOptions, PullCheckOptions } from "./install.ts";
import { running } from "./running.ts";

export function installCommand(): Command {
  return new Command("install")
    .description("print the manifests of the hook and of roles; nothing is applied")
    .addCommand(hookCommand())
    .addCommand(pullCheckCommand())
    .addCommand(rbacCommand());
}

function hookCommand(): Command {
  const command = new Command("hook")
    .description("the hook in the EBS CSI driver's node pods")
    .requiredOption("--image <image>", "the hook's image, with a version: yours, there is no default")
    .addOption(
      new Option("--with <way>", "how it gets into the pods")
        .choices(["admission-policy", "kustomize", "server-side-apply"])
        .makeOptionMandatory(),
    );
  return placed(command)
    .option("--driver <name>", "the CSI driver's name", "ebs.csi.aws.com")
    .option(
      "--grace-seconds <seconds>",
      "how long the pods' end may take (default: 600; server-side-apply: 30, what the add-on gives)",
      readSeconds,
    )
    .option("--env <name=value...>", "more of the container's environment", readPairs)
    .option("--unprivileged", "as no user of the host and without the driver's socket (H12 is lost)")
    .option(
      "--node-selector <key=value...>",
      "admission-policy: only pods of nodes with these labels",
      readPairs,
    )
    .option("--daemonset <names...>", "the others: the driver's DaemonSets (default: ebs-csi-node)")
    .option("--host-network", "the others: their pods use the node's network")
    .option("--out <folder>", "write files to this folder instead of printing")
    .addHelpText("after", HOOK_EXAMPLES)
    .action((options: InstallHookOptions) =>
      running(async (terminal) => (await import("./install.ts")).installHook(options, terminal)),
    );
}

const HOOK_EXAMPLES = `
Examples:
  $ ebs-drain install hook --image registry.example.com/ebs-drain-hook:1.0.0 --with admission-policy | kubectl apply -f -
  $ ebs-drain install hook --image … --with admission-policy --node-selector ebs-drain.dev/canary=true
  $ ebs-drain install hook --image … --with kustomize --out ebs-drain-hook
docs/hook-install.md says which way is for whom.`;

function pullCheckCommand(): Command {
  const command = new Command("pull-check")
    .description("a DaemonSet that shows whether every node can pull the hook's image and run it")
    .requiredOption("--image <image>", "the hook's image, with a version");
  return placed(command)
    .option("--node-selector <key=value...>", "only on nodes with these labels", readPairs)
    .action((options: PullCheckOptions) =>
      running(async (terminal) => (await import("./install.ts")).installPullCheck(options, terminal)),
    );
}

function rbacCommand(): Command {
  const command = new Command("rbac")
    .description("roles and bindings, made from the table of what the code asks for")
    .addOption(new Option("--for <whom>", "whose").choices(["drain", "hook"]).default("drain"));
  return placed(command).action((options: InstallRbacOptions) =>
    running(async (terminal) => (await import("./install.ts")).installRbac(options, terminal)),
  );
}

/** Where the driver's node pods are. */
function placed(command: Command): Command {
  return command
    .option("--namespace <name>", "of the driver's node pods", "kube-system")
    .option("--service-account <name>", "of the driver's node pods", "ebs-csi-node-sa");
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 10 || seconds > 86_400) {
    throw new InvalidArgumentError("Give whole seconds from 10 to 86400.");
  }
  return seconds;
}

function readPairs(text: string, before: Readonly<Record<string, string>> = {}) {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Give name=value.");
  const name = text.slice(0, at);
  if (name in before) throw new InvalidArgumentError(`${name} is given twice.`);
  return { ...before, [name]: text.slice(at + 1) };
}
