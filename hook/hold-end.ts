/** How a hold ended, for the answer, the log, the Event and the metrics. */
import type { HoldRule } from "../lib/drain/hold.ts";

export interface HoldEnd {
  /** H12: the driver is gone. H13: our own error, past the deadline. */
  readonly rule: HoldRule | "H12" | "H13";
  readonly reason: string;
  /** A complete list shows no attachment that counts: only then is a lifecycle action completed (H9). */
  readonly detached: boolean;
  /** Attachments that count and are still there. */
  readonly left: readonly string[];
  /** It was going away and something was waited for: worth an Event. */
  readonly held: boolean;
  readonly completion?: Completion;
}

/** H9. `already`: no such action is open any more, which is as good. */
export type Completion =
  | { readonly kind: "completed" | "already" }
  | { readonly kind: "failed"; readonly reason: string };

export function completionText(completion: Completion | undefined): string {
  switch (completion?.kind) {
    case undefined:
      return "";
    case "completed":
      return "; lifecycle action completed";
    case "already":
      return "; lifecycle action was completed already";
    case "failed":
      return `; lifecycle action left to the drain: ${completion.reason}`;
    default:
      return completion satisfies never;
  }
}
