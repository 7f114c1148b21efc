/** A terminal that keeps what is printed. */
import type { Terminal } from "../../lib/cli/simulate.ts";

export class KeptTerminal implements Terminal {
  readonly colour: boolean;
  readonly printed: string[] = [];
  readonly complaints: string[] = [];

  constructor(colour = false) {
    this.colour = colour;
  }

  readonly print = (line: string): void => void this.printed.push(...line.split("\n"));
  readonly complain = (line: string): void => void this.complaints.push(line);
}
