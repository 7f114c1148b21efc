/** Shell lines taken apart: enough of it for the commands that documents print. */

/** The words of each command of a script: of pipelines and lists one after the other, without redirections and assignments. */
export function simpleCommandsOf(script: string): readonly (readonly string[])[] {
  return script
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .flatMap((line) => commandsOfLine(line))
    .map(withoutRedirections)
    .filter(([program]) => program !== undefined);
}

/** Quoted text is one token; operators are tokens of their own; what follows a `#` at a word's begin is a comment. */
const TOKEN = /'([^']*)'|"((?:\\.|[^"\\])*)"|(&&|\|\||[|;&])|((?:[^\s'"|;&\\]|\\.)+)|(\s+)/g;

interface Word {
  text: string;
  quoted: boolean;
}

function commandsOfLine(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let word: Word | undefined;
  const close = (): void => {
    if (word !== undefined) commands.at(-1)?.push(word.text);
    word = undefined;
  };
  for (const [, single, double, operator, plain, space] of line.matchAll(TOKEN)) {
    if (operator !== undefined) {
      close();
      commands.push([]);
    } else if (space !== undefined) {
      close();
    } else {
      if (word === undefined && plain?.startsWith("#") === true) break;
      const quoted = single ?? double;
      word = { text: `${word?.text ?? ""}${quoted ?? plain ?? ""}`, quoted: quoted !== undefined };
    }
  }
  close();
  return commands;
}

function withoutRedirections(words: readonly string[]): readonly string[] {
  const kept = words.filter(
    (word, index) => !/^\d?[<>]/.test(word) && !/^\d?[<>]{1,2}$/.test(words[index - 1] ?? ""),
  );
  const first = kept.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return first === -1 ? [] : kept.slice(first);
}

/** Long flags and short ones, without values: `--image`, `-o`; up to `--`. */
export function flagsOf(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return (end === -1 ? words : words.slice(0, end))
    .filter((word) => /^--?[A-Za-z]/.test(word))
    .map((word) => word.replace(/=.*$/, ""));
}
