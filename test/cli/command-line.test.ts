import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { type Command, CommanderError } from "commander";
import { describe, expect, it, vi } from "vitest";
import { createProgram } from "../../lib/cli/program.ts";

const ENTRY = path.join(import.meta.dirname, "..", "..", "bin", "ebs-drain.ts");
const run = promisify(execFile);

function allOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(allOf)];
}

const ALL = allOf(createProgram("ebs-drain"));

function helpOf(command: Command): string {
  let help = "";
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  return help;
}

/** In this process: starting one for each would take most of the tests' time. */
async function parsed(args: readonly string[]): Promise<{ readonly code: unknown; readonly errors: string }> {
  const program = createProgram("ebs-drain");
  let errors = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    errors += String(text);
    return true;
  });
  for (const command of allOf(program)) {
    command.exitOverride().configureOutput({ writeErr: (text) => void (errors += text) });
  }
  const before = process.exitCode;
  try {
    await program.parseAsync(args, { from: "user" });
    return { code: process.exitCode, errors };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode, errors };
  } finally {
    process.exitCode = before;
    write.mockRestore();
  }
}

describe("the command line", () => {
  it("describes every command, and every option of it", () => {
    const nameless = ALL.filter((command) => command.description().length < 10).map((command) =>
      command.name(),
    );
    const unexplained = ALL.flatMap(({ options }) => options)
      .filter(({ description }) => description === "")
      .map(({ flags }) => flags);
    expect([nameless, unexplained]).toEqual([[], []]);
  });

  it.each(["drain", "plan", "status", "doctor", "completion"])("shows examples in the help of %s", (name) => {
    const command = ALL.find((each) => each.name() === name);
    const help = command === undefined ? "" : helpOf(command);
    expect(help).toContain("Examples:");
    expect(help).toMatch(new RegExp(`^  .*ebs-drain ${name}`, "m"));
  });

  it.each(["drain", "plan", "status", "doctor"])(
    "says the exit codes, and takes kubectl's and AWS's options in %s",
    (name) => {
      const command = ALL.find((each) => each.name() === name);
      const help = command === undefined ? "" : helpOf(command);
      expect(help).toContain("Exit codes:");
      const flags = command?.options.map(({ long }) => long);
      expect(flags).toEqual(
        expect.arrayContaining([
          "--kubeconfig",
          "--context",
          "--region",
          "--profile",
          "--output",
          "--config",
        ]),
      );
    },
  );

  it("calls itself as kubectl's plugin is called", () => {
    expect(createProgram("/usr/bin/kubectl-ebs_drain").name()).toBe("kubectl ebs-drain");
    expect(createProgram("/usr/bin/ebs-drain").name()).toBe("ebs-drain");
  });

  it("loads neither AWS nor Kubernetes clients for its help", async () => {
    const loaded =
      "--import=data:text/javascript,import{registerHooks}from'node:module';registerHooks({load(u,c,n){if(/aws-sdk|client-node|listr2|lib.sim/.test(u))console.error(u);return n(u,c)}})";
    const { stdout, stderr } = await run(process.execPath, [loaded, ENTRY, "doctor", "--help"]);
    expect(stdout).toContain("Usage: ebs-drain doctor");
    expect(stderr).toBe("");
  });

  it.each([
    [["plan"], 2, "name a Node or an instance, or give --file"],
    [["plan", "n1", "--file", "x"], 2, "give a Node or --file, not both"],
    [["drain", "n1", "--timeout", "soon"], 1, "Give a duration such as 90s"],
    [["status", "--watch", "0"], 1, "Give whole seconds from 1 to 600"],
    [["status", "-o", "xml"], 1, "Allowed choices are table, wide, json, yaml"],
    [["plan", "--file", "-", "--config", "/nowhere"], 2, "cannot read /nowhere"],
  ] as const)("refuses %j with %i and what to do", async (args, code, words) => {
    const failed = await parsed(args);
    expect(failed.errors).toContain(words);
    expect(failed.code).toBe(code);
  });
});
