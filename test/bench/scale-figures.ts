/** What a run's requests come to: per drain, and per second. */
import { SECOND } from "../../lib/drain/time.ts";

export interface Request {
  /** Virtual time, milliseconds. */
  readonly at: number;
  /** Such as `kubernetes.getNode`. */
  readonly operation: string;
}

export const SERVICES = ["kubernetes", "ec2", "autoScaling"] as const;
export type Service = (typeof SERVICES)[number];

/** Requests that bring the whole cluster's objects: what they cost grows with it. */
const WHOLE_LISTS = ["kubernetes.listAttachmentRows", "kubernetes.listNodes"];

export interface ServiceFigures {
  readonly service: Service;
  readonly perDrain: number;
  /** The busiest second, and the mean from the first request to the last. */
  readonly peakPerSecond: number;
  readonly meanPerSecond: number;
}

export function figuresOf(requests: readonly Request[], drains: number): readonly ServiceFigures[] {
  return SERVICES.map((service) => {
    const own = requests.filter(({ operation }) => operation.startsWith(`${service}.`));
    return {
      service,
      perDrain: own.length / drains,
      peakPerSecond: peakOf(own),
      meanPerSecond: meanOf(own),
    };
  });
}

/** Lists of all attachments and of all Nodes, per drain. */
export function wholeLists(requests: readonly Request[], drains: number): number {
  return requests.filter(({ operation }) => WHOLE_LISTS.includes(operation)).length / drains;
}

/** The most requests that any span of one second holds. */
export function peakOf(requests: readonly Request[]): number {
  const times = requests.map(({ at }) => at).toSorted((a, b) => a - b);
  let first = 0;
  return times.reduce((most, at, index) => {
    while ((times[first] ?? at) <= at - SECOND) first++;
    return Math.max(most, index - first + 1);
  }, 0);
}

function meanOf(requests: readonly Request[]): number {
  const times = requests.map(({ at }) => at);
  const span = Math.max(SECOND, Math.max(...times) - Math.min(...times));
  return requests.length === 0 ? 0 : (requests.length * SECOND) / span;
}

/** By operation, the most first. */
export function operationsOf(
  requests: readonly Request[],
  drains: number,
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { operation } of requests) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  return [...counts].map(([name, count]) => [name, count / drains] as const).toSorted((a, b) => b[1] - a[1]);
}
