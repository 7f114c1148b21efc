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

/** The sweep's own, once a minute whatever is drained. */
const SWEEP = [
  "kubernetes.listNodes",
  "autoScaling.listMembers",
  "ec2.describeInstances",
  "executions.listRunning",
];
/** Brings every attachment of the cluster. */
export const LIST_OF_ALL = "kubernetes.listAttachmentRows";

export function withoutSweep(requests: readonly Request[]): readonly Request[] {
  return requests.filter(({ operation }) => !SWEEP.includes(operation));
}

export function requestsOf(requests: readonly Request[], service: Service): readonly Request[] {
  return requests.filter(({ operation }) => operation.startsWith(`${service}.`));
}

export function countOf(requests: readonly Request[], operation: string): number {
  return requests.filter((request) => request.operation === operation).length;
}

/** The most requests that any span of one second holds. */
export function peakPerSecond(requests: readonly Request[]): number {
  const times = requests.map(({ at }) => at).toSorted((a, b) => a - b);
  let first = 0;
  return times.reduce((most, at, index) => {
    while ((times[first] ?? at) <= at - SECOND) first++;
    return Math.max(most, index - first + 1);
  }, 0);
}

/** By operation, the most first. */
export function operationsOf(
  requests: readonly Request[],
): readonly (readonly [operation: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { operation } of requests) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  return [...counts].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}
