/** A drain's progress where nobody looks at a terminal: a line for each change, with its time. */
import { type Instant, SECOND } from "../drain/time.ts";
import type { Progress } from "./drain-progress.ts";
import { spanText } from "./time-text.ts";

export function plainProgress(print: (line: string) => void, startedAt: Instant): Progress {
  return {
    show: ({ at }, changes) => {
      for (const change of changes) print(`${spanText((at - startedAt) / SECOND).padStart(8)}  ${change}`);
    },
    end: () => Promise.resolve(),
  };
}
