import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { completionScript } from "../../lib/cli/completion.ts";
import { createProgram } from "../../lib/cli/program.ts";

const program = createProgram("ebs-drain");
const COMMANDS = program.commands.map((command) => command.name());

/** What bash would offer for the last of these words; `kubectl` answers two Nodes. */
function offered(...words: readonly string[]): readonly string[] {
  const script = [
    completionScript(program, "bash"),
    "kubectl() { printf 'node/a\\nnode/b\\n'; }",
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})`,
    `COMP_CWORD=${words.length - 1}`,
    "_ebs_drain",
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join("\n");
  const { stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
}

describe("completion", () => {
  it("offers every command, and the options of the one that was typed", () => {
    expect(offered("ebs-drain", "")).toEqual(expect.arrayContaining([...COMMANDS]));
    expect(offered("ebs-drain", "drain", "--f")).toEqual(["--force", "--force-after"]);
    expect(offered("ebs-drain", "install", "ho")).toEqual(["hook"]);
    expect(offered("ebs-drain", "install", "hook", "--im")).toEqual(["--image"]);
  });

  it("offers Nodes where a Node is meant, and an option's choices after it", () => {
    expect(offered("ebs-drain", "drain", "")).toEqual(expect.arrayContaining(["a", "b"]));
    expect(offered("ebs-drain", "doctor", "")).not.toContain("a");
    expect(offered("ebs-drain", "plan", "-o", "")).toEqual(["table", "wide", "json", "yaml"]);
    expect(offered("ebs-drain", "completion", "z")).toEqual(["zsh"]);
  });

  it("takes the same for zsh, by its emulation, and names each command to fish", () => {
    expect(completionScript(program, "zsh")).toContain("bashcompinit\n_ebs_drain() {");
    const fish = completionScript(program, "fish").split("\n");
    for (const command of COMMANDS) {
      expect(fish.some((line) => line.includes(` -f -a ${command} `))).toBe(true);
    }
    expect(fish.filter((line) => !line.startsWith("complete -c ebs-drain -n "))).toEqual([]);
  });
});
