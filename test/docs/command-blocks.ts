/** Commands that documents print: in fenced `sh` blocks, in indented blocks that begin with a program, and in line as `code`. */

/** What `docs:check` does with a block, told by an HTML comment before it, which readers do not see. */
export type Treatment =
  /** Without a comment. */
  | { readonly kind: "run" }
  /** `<!-- docs:check parse: needs a cluster -->`: it cannot be run here; programs, commands and flags have to be there. */
  | { readonly kind: "parse"; readonly why: string }
  /** `<!-- docs:check ci -->`: `.ci/run` runs it itself. */
  | { readonly kind: "ci" };

export interface CommandBlock {
  readonly file: string;
  /** Of the first command. */
  readonly line: number;
  readonly script: string;
  readonly treatment: Treatment;
}

/** What begins a block of commands; other indented blocks are pictures, output or settings. */
const PROGRAMS = [
  "npm",
  "npx",
  "node",
  "ebs-drain",
  "kubectl",
  "aws",
  "helm",
  "docker",
  "git",
  "curl",
  "export",
];
const BEGINS_WITH_PROGRAM = new RegExp(`^(\\$ )?(${PROGRAMS.join("|")}) `);
const COMMENT = /^<!-- docs:check (?:(ci)|parse: (\S.*?)) -->$/;

export function commandBlocksOf(file: string, text: string): readonly CommandBlock[] {
  const lines = text.split("\n");
  const blocks: CommandBlock[] = [];
  let treatment: Treatment = { kind: "run" };
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const marked = treatmentOf(line, `${file}:${index + 1}`);
    if (marked !== undefined) {
      treatment = marked;
      continue;
    }
    if (line.trim() === "") continue;
    const end = endOfBlock(lines, index);
    const body = end === undefined ? undefined : bodyOf(lines.slice(index, end));
    if (body !== undefined) {
      const first = line.startsWith("```") ? index + 2 : index + 1;
      blocks.push({ file, line: first, script: body, treatment });
    } else if (treatment.kind !== "run") {
      throw new Error(
        `${file}:${index + 1}: a docs:check comment stands before what is no block of commands`,
      );
    }
    treatment = { kind: "run" };
    if (end !== undefined) index = end - 1;
  }
  return blocks;
}

/** @throws for a comment that is meant for us and says nothing known */
function treatmentOf(line: string, where: string): Treatment | undefined {
  if (!line.startsWith("<!-- docs:check")) return undefined;
  const [, ci, why] = COMMENT.exec(line) ?? [];
  if (ci !== undefined) return { kind: "ci" };
  if (why !== undefined) return { kind: "parse", why };
  throw new Error(`${where}: expected "<!-- docs:check ci -->" or "<!-- docs:check parse: REASON -->"`);
}

/** The line after the block that begins here; undefined where none does. */
function endOfBlock(lines: readonly string[], start: number): number | undefined {
  const first = lines[start] ?? "";
  if (first.startsWith("```")) {
    const close = lines.findIndex((line, index) => index > start && line.startsWith("```"));
    return close === -1 ? lines.length : close + 1;
  }
  // A list's own lines are indented too.
  if (!/^ {4}\S/.test(first) || (lines[start - 1] ?? "").trim() !== "") return undefined;
  let end = start;
  while (/^ {4}/.test(lines[end] ?? "")) end++;
  return end;
}

function bodyOf(block: readonly string[]): string | undefined {
  const [first = ""] = block;
  if (first.startsWith("```")) {
    return /^```(sh|bash|shell|console)$/.test(first.trim()) ? block.slice(1, -1).join("\n") : undefined;
  }
  const body = block.map((line) => line.slice(4));
  const command = body.find((line) => !line.startsWith("#")) ?? "";
  return BEGINS_WITH_PROGRAM.test(command) ? body.join("\n") : undefined;
}

/** `npm run soak -- --seeds 10000` in a sentence or a table: its command and flags have to be there. */
export function inlineCommandsOf(file: string, text: string): readonly CommandBlock[] {
  return text.split("\n").flatMap((line, index) =>
    /^ {4}/.test(line)
      ? []
      : [...line.matchAll(/`((?:npm (?:run|start|test)|ebs-drain) ?[^`]*)`/g)].map(([, script = ""]) => ({
          file,
          line: index + 1,
          script,
          treatment: { kind: "parse" as const, why: "in a sentence" },
        })),
  );
}
