/** Completion scripts, made from the commands themselves. */
import type { Command, Option } from "commander";
import type { Shell } from "./completion-command.ts";

interface Completed {
  /** `drain`, `install hook`; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly Option[];
  readonly choices: readonly string[];
  /** Its argument is a Node. */
  readonly takesNode: boolean;
}

export function completionScript(program: Command, shell: Shell): string {
  const all = completedOf(program, "");
  switch (shell) {
    case "bash":
      return bashScript(all);
    case "zsh":
      // zsh runs bash's completions by an emulation of its own.
      return `autoload -U +X bashcompinit && bashcompinit\n${bashScript(all)}`;
    case "fish":
      return fishScript(all);
    default:
      return shell satisfies never;
  }
}

function completedOf(command: Command, path: string): readonly Completed[] {
  const own: Completed = {
    path,
    commands: command.commands,
    options: command.options,
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    takesNode: command.registeredArguments.some((argument) => argument.name() === "node"),
  };
  const below = command.commands.flatMap((each) => completedOf(each, `${path} ${each.name()}`.trim()));
  return [own, ...below];
}

const NODES = "kubectl get nodes -o name 2>/dev/null | cut -d/ -f2";

function flagsOf({ options }: Completed): readonly string[] {
  return [...options.flatMap(({ short, long }) => [short, long]), "--help"].filter(
    (flag) => flag !== undefined && flag !== null,
  );
}

function bashScript(all: readonly Completed[]): string {
  const withChoices = all.flatMap(({ options }) =>
    options.filter(({ argChoices }) => argChoices !== undefined),
  );
  const choices = new Map(
    withChoices.map((option) => [
      [option.short, option.long].filter((flag) => flag !== undefined).join("|"),
      (option.argChoices ?? []).join(" "),
    ]),
  );
  const files = all.flatMap(({ options }) => options.filter(takesFile).flatMap(({ long }) => long ?? []));
  const steps = all
    .filter(({ path }) => path !== "")
    .map(({ path }) => {
      const parent = path.includes(" ") ? path.slice(0, path.lastIndexOf(" ")) : "";
      return `      "${parent}/${path.slice(parent === "" ? 0 : parent.length + 1)}") path="${path}" ;;`;
    });
  const words = all.map((each) => {
    const own = [...each.commands.map((command) => command.name()), ...each.choices, ...flagsOf(each)].join(
      " ",
    );
    return `    "${each.path}") words="${own}${each.takesNode ? ` $(${NODES})` : ""}" ;;`;
  });
  return [
    "_ebs_drain() {",
    `  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" word words=""`,
    '  case "$prev" in',
    ...[...choices].map(
      ([flags, values]) => `    ${flags}) COMPREPLY=($(compgen -W "${values}" -- "$cur")); return ;;`,
    ),
    `    ${[...new Set(files)].join("|")}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`,
    "  esac",
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    '    case "$path/$word" in',
    ...steps,
    "    esac",
    "  done",
    '  case "$path" in',
    ...words,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    "}",
    "complete -F _ebs_drain ebs-drain",
  ].join("\n");
}

function takesFile({ flags }: Option): boolean {
  return /[<[](file|dir|folder)[>\]]/.test(flags);
}

function fishScript(all: readonly Completed[]): string {
  return all.flatMap(fishLines).join("\n");
}

function fishLines({ path, commands, options, choices, takesNode }: Completed): readonly string[] {
  const seen = path.split(" ").map((name) => `__fish_seen_subcommand_from ${name}`);
  const where = path === "" ? "__fish_use_subcommand" : seen.join("; and ");
  const start = `complete -c ebs-drain -n "${where}"`;
  return [
    ...commands.map((command) => `${start} -f -a ${command.name()} -d ${quoted(command.description())}`),
    ...(choices.length === 0 ? [] : [`${start} -f -a ${quoted(choices.join(" "))}`]),
    ...(takesNode ? [`${start} -f -a "(${NODES})"`] : []),
    ...options.map((option) => `${start} ${fishOption(option)}`),
  ];
}

function fishOption({ short, long, argChoices, required, optional, description }: Option): string {
  return [
    ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
    ...(long === undefined || long === null ? [] : [`-l ${long.slice(2)}`]),
    ...(required || optional ? ["-r"] : []),
    ...(argChoices === undefined ? [] : [`-f -a ${quoted(argChoices.join(" "))}`]),
    `-d ${quoted(description)}`,
  ].join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
