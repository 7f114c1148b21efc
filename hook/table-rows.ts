/**
 * Rows of an API server's Table while it arrives: no more of it is in memory than one row. A whole answer parsed at once costs memory
 * by the size of the cluster, which is not the hook's business (H11).
 */
import { StringDecoder } from "node:string_decoder";

/** Everything of a Table but its rows. */
export type TableFrame = Readonly<Record<string, unknown>>;

/**
 * Calls `onRow` with the JSON of each row.
 * @returns the table without its rows
 * @throws SyntaxError where it is no Table or ends early: half a list taken for a whole one would say that nothing is attached
 */
export async function readTable(
  body: AsyncIterable<Buffer>,
  onRow: (json: string) => void,
): Promise<TableFrame> {
  const decoder = new StringDecoder("utf8");
  const scanner = new RowScanner(onRow);
  for await (const piece of body) scanner.push(decoder.write(piece));
  scanner.push(decoder.end());
  return scanner.frame();
}

/** Characters before the rows: columns and their descriptions take two thousand. What has more is no Table, and is not kept. */
const LONGEST_HEAD = 262_144;
const ROWS = /"rows"\s*:\s*\[/u;
const [QUOTE, BACKSLASH, OPEN, CLOSE, END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5d];

class RowScanner {
  readonly #onRow: (json: string) => void;
  #state: "head" | "rows" | "tail" = "head";
  #head = "";
  #tail = "";
  /** The row that has begun and not ended. */
  #row = "";
  #depth = 0;
  #inText = false;
  #isEscaped = false;

  constructor(onRow: (json: string) => void) {
    this.#onRow = onRow;
  }

  push(text: string): void {
    switch (this.#state) {
      case "head":
        this.#pushHead(text);
        return;
      case "rows":
        this.#pushRows(text);
        return;
      case "tail":
        this.#tail += text;
        return;
      default:
        this.#state satisfies never;
    }
  }

  frame(): TableFrame {
    if (this.#state === "rows") throw new SyntaxError("the table ends within its rows");
    const frame = JSON.parse(this.#head + this.#tail) as TableFrame | null;
    const isEmpty = this.#state === "head" && (frame?.["rows"] ?? null) === null;
    if (frame?.["kind"] !== "Table" || (this.#state === "head" && !isEmpty)) {
      throw new SyntaxError("the answer is not a Table");
    }
    return frame;
  }

  #pushHead(text: string): void {
    this.#head += text;
    const found = ROWS.exec(this.#head);
    if (found === null) {
      if (this.#head.length > LONGEST_HEAD) throw new SyntaxError("the answer is not a Table");
      return;
    }
    const end = found.index + found[0].length;
    const rest = this.#head.slice(end);
    this.#head = this.#head.slice(0, end);
    this.#state = "rows";
    this.#pushRows(rest);
  }

  #pushRows(text: string): void {
    let start = 0;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (this.#inText) this.#readText(code);
      else if (code === QUOTE) this.#inText = true;
      else if (code === OPEN) {
        if (this.#depth++ === 0) start = index;
      } else if (code === CLOSE) {
        if (--this.#depth > 0) continue;
        this.#onRow(this.#row + text.slice(start, index + 1));
        this.#row = "";
      } else if (code === END && this.#depth === 0) {
        this.#state = "tail";
        this.#tail = text.slice(index);
        return;
      }
    }
    if (this.#depth > 0) this.#row += text.slice(this.#row === "" ? start : 0);
  }

  #readText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#inText = false;
  }
}
