/** `ebs-drain completion` on the command line. */
import { Argument, type Command, Command as NewCommand } from "commander";
import { running } from "./running.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** @param program whose commands and options are completed */
export function completionCommand(program: Command): Command {
  return new NewCommand("completion")
    .description("print a script that completes commands, options and Nodes' names in your shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell) =>
      running(async (terminal) => {
        const { completionScript } = await import("./completion.ts");
        terminal.print(completionScript(program, shell));
        return 0;
      }),
    )
    .addHelpText(
      "after",
      `
Examples:
  source <(ebs-drain completion bash)      # in ~/.bashrc
  source <(ebs-drain completion zsh)       # in ~/.zshrc, after compinit
  ebs-drain completion fish > ~/.config/fish/completions/ebs-drain.fish`,
    );
}
