/** What `run.ts` tells the tests, by environment variables: both sides read their names here. */

/** The folder for the state of all control planes of a run; `run.ts` ends what is left in it, and removes it. */
export const stateRootVariable = "EBS_DRAIN_E2E_STATE";
/** "1" where slow tests are wanted. */
export const slowVariable = "EBS_DRAIN_E2E_SLOW";
/** The file in the state folder to which tests that were left out append their names. */
export const leftOutFile = "left-out-tests";

/** Undefined where vitest was started by hand, without `run.ts`. */
export function stateRoot(): string | undefined {
  return process.env[stateRootVariable] || undefined;
}

export function wantsSlowTests(): boolean {
  return process.env[slowVariable] === "1";
}
