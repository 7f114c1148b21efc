/** D3: which of a dead machine's attachments somebody would still remove. */
import type { VolumeVerdict } from "./decision.ts";
import type { Situation } from "./situation.ts";
import { SECOND } from "./time.ts";

/** A controller that knows a volume detaches it within a second of the taint; what is left after this has leaked. */
const LEAKED_AFTER = 60 * SECOND;

/**
 * EC2 itself detaches everything when an instance terminates, so "EC2 shows no attachment" is no sign of a
 * leak here: a VolumeAttachment counts as leaked only once the taint had its time and it is still there.
 */
export function isLeft(volume: VolumeVerdict, { memory, now }: Situation): boolean {
  switch (volume.verdict) {
    case "attached":
    case "detaching":
    case "busy":
    case "moved":
      return volume.attachment !== undefined;
    case "leaked":
      return memory.taintedAt === undefined || now - memory.taintedAt < LEAKED_AFTER;
    case "foreign":
    case "local":
    case "pinned":
    case "volumeless":
      return false;
    default:
      return volume.verdict satisfies never;
  }
}
