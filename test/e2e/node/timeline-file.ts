/** Where a scenario's timeline is written. */
import { tmpdir } from "node:os";
import path from "node:path";
import { stateRoot } from "../run-settings.ts";

/** The folder for the timelines; else they lie with the run's logs and go with them. */
const variable = "EBS_DRAIN_TIMELINES";

export function timelineFile(scenario: string): string {
  const folder = process.env[variable] ?? path.join(stateRoot() ?? tmpdir(), "timelines");
  return path.join(folder, `${scenario}.txt`);
}
