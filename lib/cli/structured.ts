/** Answers for machines. */
import type { Output } from "./connection-options.ts";

/** The value in the format asked for; undefined where that is for people. */
export async function structured(value: unknown, output: Output): Promise<string | undefined> {
  switch (output) {
    case "json":
      return JSON.stringify(value, undefined, 2);
    case "yaml": {
      const { stringify } = await import("yaml");
      // Through JSON: what is left out there is left out here.
      return stringify(JSON.parse(JSON.stringify(value)), { lineWidth: 0 }).trimEnd();
    }
    case "table":
    case "wide":
      return undefined;
    default:
      return output satisfies never;
  }
}
