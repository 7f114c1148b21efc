import { describe, expect, it } from "vitest";
import { AcceptedCommands } from "../docs/accepted.ts";

describe("commands that are not run", () => {
  const commands = new AcceptedCommands(undefined);

  it.each([
    "npm ci",
    "npm run soak -- --seeds 10000",
    "npm start -- --html page.html",
    "ebs-drain install hook --image IMAGE --with kustomize",
    "kubectl ebs-drain install rbac",
    "npx node bin/ebs-drain.ts --help",
  ])("are understood where program, command and flags are there: %s", async (line) => {
    expect(await commands.judge(line.split(" "))).toEqual({ kind: "accepted" });
  });

  it.each([
    ["npm run soek", 'package.json has no script "soek"'],
    ["npm run soak -- --seedz 3", "test/soak/run.ts does not know --seedz"],
    ["npm start -- --htm page.html", "ebs-drain simulate does not know --htm"],
    ["ebs-drain instal hook", 'ebs-drain has no command "instal"'],
    ["ebs-drain install hok", 'ebs-drain install has no command "hok"'],
    ["ebs-drain install hook --imag IMAGE", "ebs-drain install hook does not know --imag"],
  ])("are refused with the word that is wrong: %s", async (line, why) => {
    expect(await commands.judge(line.split(" "))).toEqual({ kind: "refused", why });
  });

  it("of programs whose help is not to be had are told, not passed over", async () => {
    expect(await commands.judge(["helm", "upgrade"])).toEqual({ kind: "unknown-program", program: "helm" });
  });
});
