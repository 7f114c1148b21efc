/** HTML whose interpolations are escaped: what comes from an event's file is text, never markup. */

/** Text that is markup already. */
export class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Piece = string | number | Markup | readonly Markup[];

/** A template tag: strings and numbers are escaped, for text and for quoted attributes alike. */
export function markup(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(
    strings.reduce((text, part, index) => `${text}${textOf(pieces[index - 1] ?? "")}${part}`),
  );
}

function textOf(piece: Piece): string {
  if (typeof piece === "string") return escaped(piece);
  if (typeof piece === "number") return String(piece);
  return piece instanceof Markup ? piece.text : piece.map(({ text }) => text).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** A value for a script element of type application/json: nothing in it can end the element. */
export function json(value: unknown): Markup {
  return new Markup(JSON.stringify(value).replaceAll("<", String.raw`\u003c`));
}
