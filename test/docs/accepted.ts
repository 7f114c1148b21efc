/** Whether a command that is not run here would be understood: its program, subcommand and flags are there. */
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { flagsOf } from "./simple-commands.ts";

const run = promisify(execFile);
const repository = path.resolve(import.meta.dirname, "..", "..");

export type Verdict =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly why: string }
  /** No help of the program is to be had here: only the shell has read it. */
  | { readonly kind: "unknown-program"; readonly program: string };

const ACCEPTED: Verdict = { kind: "accepted" };

/** Asks each help once. `kubectl` is a path, or undefined where there is none. */
export class AcceptedCommands {
  readonly #kubectl: string | undefined;
  readonly #helps = new Map<string, Promise<string>>();
  #options: Promise<string> | undefined;

  constructor(kubectl: string | undefined) {
    this.#kubectl = kubectl;
  }

  async judge(words: readonly string[]): Promise<Verdict> {
    const [program = "", ...rest] = words;
    if (program === "npm") return this.#npm(rest);
    if (program === "npx" && rest[0] === "node" && rest[1] === "bin/ebs-drain.ts")
      return this.#ebsDrain(rest.slice(2));
    if (program === "npx" && rest[0] === "cdk") return this.#cdk(rest.slice(1));
    if (program === "ebs-drain" || (program === "kubectl" && rest[0] === "ebs-drain")) {
      return this.#ebsDrain(program === "kubectl" ? rest.slice(1) : rest);
    }
    if (program === "kubectl" && this.#kubectl !== undefined)
      return this.#kubectlCommand(this.#kubectl, rest);
    return { kind: "unknown-program", program };
  }

  async #npm(words: readonly string[]): Promise<Verdict> {
    const [command = "", second = ""] = words.filter((word) => !word.startsWith("-"));
    if (!["run", "start", "test"].includes(command)) return ACCEPTED;
    const name = command === "run" ? second : command;
    const { scripts } = JSON.parse(await readFile(path.join(repository, "package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const script = scripts[name];
    if (script === undefined) return refused(`package.json has no script "${name}"`);
    const separator = words.indexOf("--");
    if (separator === -1) return ACCEPTED;
    const given = words.slice(separator + 1);
    if (script.startsWith("node bin/ebs-drain.ts ")) {
      return this.#ebsDrain([...script.split(" ").slice(2), ...given]);
    }
    return flagsOfScript(script, given);
  }

  /** The words before the first flag name the command; what is no subcommand is an argument. */
  async #ebsDrain(words: readonly string[]): Promise<Verdict> {
    const entry = [process.execPath, path.join(repository, "bin", "ebs-drain.ts")];
    let help = await this.#help(entry, []);
    const found: string[] = [];
    for (const word of words) {
      if (!new RegExp(`^  ${escaped(word)}(?:[| ]|$)`, "m").test(commandsIn(help))) break;
      found.push(word);
      help = await this.#help(entry, found);
    }
    const isLeaf = commandsIn(help) === "";
    const next = words[found.length];
    if (!isLeaf && next !== undefined && !next.startsWith("-"))
      return refused(`${["ebs-drain", ...found].join(" ")} has no command "${next}"`);
    return missingFlags(words, help, `ebs-drain ${found.join(" ")}`);
  }

  async #cdk(words: readonly string[]): Promise<Verdict> {
    const cdk = path.join(repository, "node_modules", ".bin", "cdk");
    const [command = ""] = words;
    const help = await this.#help([cdk], [command]);
    // Of a command that it does not know it prints the list of those it knows.
    if (!new RegExp(`^cdk ${escaped(command)}( |$)`, "m").test(help))
      return refused(`cdk has no command "${command}"`);
    return missingFlags(words, help, `cdk ${command}`);
  }

  async #kubectlCommand(kubectl: string, words: readonly string[]): Promise<Verdict> {
    const first = words.findIndex((word) => word.startsWith("-"));
    const names = first === -1 ? words : words.slice(0, first);
    const [verb = "", noun = ""] = names;
    const command =
      ["rollout", "config", "auth", "create"].includes(verb) && noun !== "" ? [verb, noun] : [verb];
    const help = await this.#help([kubectl], command);
    if (help === "") return refused(`kubectl has no command "${command.join(" ")}"`);
    return missingFlags(
      words,
      `${help}\n${await this.#globalOptions(kubectl)}`,
      `kubectl ${command.join(" ")}`,
    );
  }

  /** Of every command of kubectl; they have no help of their own. */
  async #globalOptions(kubectl: string): Promise<string> {
    this.#options ??= run(kubectl, ["options"]).then(({ stdout }) => stdout);
    return this.#options;
  }

  /** Empty where the command is not there. */
  #help([program = "", ...before]: readonly string[], command: readonly string[]): Promise<string> {
    const key = [program, ...before, ...command].join(" ");
    const known =
      this.#helps.get(key) ??
      run(program, [...before, ...command, "--help"]).then(
        ({ stdout }) => stdout,
        () => "",
      );
    this.#helps.set(key, known);
    return known;
  }
}

function refused(why: string): Verdict {
  return { kind: "refused", why };
}

function commandsIn(help: string): string {
  return /^Commands:\n((?: .*\n?)*)/m.exec(help)?.[1] ?? "";
}

function missingFlags(words: readonly string[], help: string, command: string): Verdict {
  const missing = flagsOf(words).filter(
    (flag) => !new RegExp(`(^|[\\s,])${escaped(flag)}([\\s,=:]|$)`, "m").test(help),
  );
  return missing.length === 0 ? ACCEPTED : refused(`${command.trim()} does not know ${missing.join(", ")}`);
}

/** Flags of the project's own scripts have no help: their source has to name them. */
async function flagsOfScript(script: string, words: readonly string[]): Promise<Verdict> {
  const file = /node (\S+\.ts)/.exec(script)?.[1];
  if (file === undefined) return ACCEPTED;
  const folder = path.join(repository, path.dirname(file));
  const names = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
  const source = (await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")))).join(
    "\n",
  );
  const missing = flagsOf(words).filter((flag) => {
    const name = escaped(flag.replace(/^--?/, ""));
    return !new RegExp(`--${name}[ "'=]|["']${name}["']|\\b${name}: \\{ type: `).test(source);
  });
  return missing.length === 0 ? ACCEPTED : refused(`${file} does not know ${missing.join(", ")}`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
