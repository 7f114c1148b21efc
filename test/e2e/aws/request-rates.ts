/** How often each API was asked, and how often in its busiest second. */

export interface TimedRequest {
  /** Unix milliseconds. */
  readonly at: number;
  /** Of the API, as its limits are counted: `ec2:DescribeInstances`, `get nodes`. */
  readonly name: string;
}

export interface RequestRate {
  readonly name: string;
  readonly total: number;
  /** Most requests within one second, wherever it begins. */
  readonly busiestSecond: number;
}

/** The most frequent first. */
export function requestRates(requests: readonly TimedRequest[]): readonly RequestRate[] {
  const times = Map.groupBy(requests, ({ name }) => name);
  return [...times]
    .map(([name, all]) => ({
      name,
      total: all.length,
      busiestSecond: busiestSecond(all.map(({ at }) => at).toSorted((a, b) => a - b)),
    }))
    .toSorted((a, b) => b.total - a.total);
}

/** A Markdown table. */
export function ratesTable(rates: readonly RequestRate[], machines: number): string {
  const rows = rates.map(
    ({ name, total, busiestSecond: most }) =>
      `| ${name} | ${total} | ${(total / machines).toFixed(1)} | ${most} |`,
  );
  return [
    "| request | in all | per machine | in the busiest second |",
    "| --- | --- | --- | --- |",
    ...rows,
  ].join("\n");
}

function busiestSecond(sorted: readonly number[]): number {
  let first = 0;
  let most = 0;
  for (const [last, at] of sorted.entries()) {
    while (at - (sorted[first] ?? at) >= 1_000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
