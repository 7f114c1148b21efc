/** Tests that last minutes by nature: they wait for times that Kubernetes has no flag for. */
import { appendFileSync } from "node:fs";
import path from "node:path";
import * as vitest from "vitest";
import { leftOutFile, slowVariable, stateRoot, wantsSlowTests } from "./run-settings.ts";

/**
 * Registers a test only where slow tests are wanted. Where they are not its name is handed to `run.ts`, which prints
 * it. A file needs at least one test of the ordinary kind: vitest takes a file without tests for a mistake.
 */
export function slowTest(name: string, run: () => Promise<void>, limitSeconds = 1800): void {
  if (wantsSlowTests()) {
    vitest.it(name, { timeout: limitSeconds * 1000 }, run);
    return;
  }
  const root = stateRoot();
  if (root === undefined) console.warn(`left out, it is slow (${slowVariable}=1 runs it): ${name}`);
  else appendFileSync(path.join(root, leftOutFile), `${name}\n`);
}
