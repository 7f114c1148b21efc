/** The named situations. */
import type { Scenario } from "./scenario.ts";
import { DRAINS } from "./scenarios-of-drains.ts";
import { ENDS } from "./scenarios-of-ends.ts";

export const SCENARIOS: readonly Scenario[] = [...DRAINS, ...ENDS];

export function scenarioOf(name: string): Scenario | undefined {
  return SCENARIOS.find((scenario) => scenario.name === name);
}
