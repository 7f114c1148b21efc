/** Flags of a bench that do not fit. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** @throws UsageError that names flag and value */
export function wholeNumber(flag: string, text: string, least = 0): number {
  const value = Number(text);
  if (/^\d+$/u.test(text) && value >= least) return value;
  throw new UsageError(`${flag}: expected a whole number from ${least} on, got "${text}"`);
}
