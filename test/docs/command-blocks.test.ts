import { describe, expect, it } from "vitest";
import { commandBlocksOf, inlineCommandsOf } from "./command-blocks.ts";
import { flagsOf, simpleCommandsOf } from "./simple-commands.ts";

const blocksOf = (text: string) =>
  commandBlocksOf("a.md", text).map(({ line, script, treatment }) => [line, script, treatment.kind]);

describe("blocks of commands", () => {
  it("are fenced as sh, or indented and begin with a program", () => {
    expect(
      blocksOf(
        "Text\n\n```sh\nls a\nls b\n```\n\n    npm test\n    # comment\n\n    NODE  STAGE\n    a     b\n\n```yaml\nnpm: x\n```\n",
      ),
    ).toEqual([
      [4, "ls a\nls b", "run"],
      [8, "npm test\n# comment", "run"],
    ]);
  });

  it("are run, unless a comment right before them says otherwise, for them only", () => {
    const text =
      "<!-- docs:check parse: needs a cluster -->\n\n    kubectl get pods\n\n    npm start\n\n<!-- docs:check ci -->\n```sh\nnpm ci\n```\n";
    expect(blocksOf(text).map(([, , kind]) => kind)).toEqual(["parse", "run", "ci"]);
  });

  it.each([
    ["<!-- docs:check skip -->\n\n    npm test\n", /a\.md:1: expected/],
    ["<!-- docs:check parse: -->\n\n    npm test\n", /a\.md:1: expected/],
    ["<!-- docs:check ci -->\n\nText, then\n\n    npm test\n", /a\.md:3: .* no block of commands/],
  ])("refuse a comment that would be without effect: %j", (text, message) => {
    expect(() => commandBlocksOf("a.md", text)).toThrow(message);
  });

  it("are in sentences and tables too, to be understood", () => {
    const text = "| `npm run soak -- --seed 42` | `lib/x.ts` |\nSay `ebs-drain status --watch 10`.\n";
    expect(inlineCommandsOf("a.md", text).map(({ line, script }) => [line, script])).toEqual([
      [1, "npm run soak -- --seed 42"],
      [2, "ebs-drain status --watch 10"],
    ]);
  });
});

describe("shell lines", () => {
  it.each<[string, readonly (readonly string[])[]]>([
    [
      "npm ci && npm start   # a comment",
      [
        ["npm", "ci"],
        ["npm", "start"],
      ],
    ],
    ["a --x='b c' | d > out.yaml", [["a", "--x=b c"], ["d"]]],
    ["FOO=1 a \\\n  --b", [["a", "--b"]]],
    [
      "a -l 'x,!y' 2>/dev/null; b \"c # d\"",
      [
        ["a", "-l", "x,!y"],
        ["b", "c # d"],
      ],
    ],
    ["# nothing", []],
  ])("%j", (script, commands) => {
    expect(simpleCommandsOf(script)).toEqual(commands);
  });

  it("have flags, without their values, up to the double dash", () => {
    expect(flagsOf(["a", "--image=x", "-o", "json", "--", "--not"])).toEqual(["--image", "-o"]);
  });
});
