/** Colours of a terminal, or none. */
import type { Paint } from "./side-by-side.ts";

const CODES = {
  plain: undefined,
  key: "1",
  good: "1;32",
  bad: "1;31",
  title: "1;4",
  faint: "2",
} as const satisfies Record<Parameters<Paint>[1], string | undefined>;

export function painter(colour: boolean): Paint {
  return (text, weight) => {
    const code = CODES[weight];
    return colour && code !== undefined ? `\u001B[${code}m${text}\u001B[0m` : text;
  };
}
