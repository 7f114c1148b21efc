/** Tests that last minutes by nature: they wait for times that Kubernetes has no flag for. */
import { appendFileSync } from "node:fs";
import path from "node:path";
import * as vitest from "vitest";
import { leftOutFile, slowVariable, stateRoot, wantsSlowTests } from "./run-settings.ts";

/**
 * A `describe` block of slow tests: registered only where slow tests are wanted, else its name is handed to `run.ts`,
 * which prints it. Its file needs an ordinary test too: vitest takes a file without tests for a mistake.
 */
export function describeSlow(name: string, register: () => void): void {
  if (wantsSlowTests()) {
    vitest.describe(name, register);
    return;
  }
  const root = stateRoot();
  if (root === undefined) console.warn(`left out, it is slow (${slowVariable}=1 runs it): ${name}`);
  else appendFileSync(path.join(root, leftOutFile), `${name}\n`);
}
