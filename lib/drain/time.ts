/** Milliseconds since the Unix epoch. Every `at`, `since`, `until` and `deadline` of the domain is one of these. */
export type Instant = number;

/** Length of a second in an {@link Instant}'s unit; policy and waits are written in seconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** ISO 8601 in UTC with milliseconds, for logs and annotations. */
export function isoOf(at: Instant): string {
  return new Date(at).toISOString();
}
