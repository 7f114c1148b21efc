/** Requests of a piece of work, counted from its decision log (I11, I12). */
import type { LookRecord } from "../../lib/engine/ports.ts";

export interface RequestCount {
  readonly looks: number;
  /** Reads by port method, over all looks. */
  readonly reads: Readonly<Record<string, number>>;
  /** The most reads of Kubernetes that one look made. */
  readonly mostOfKubernetes: number;
}

export function countRequests(looks: readonly LookRecord[]): RequestCount {
  const reads: Record<string, number> = {};
  for (const { observation } of looks) {
    for (const [method, calls] of Object.entries(observation.calls)) {
      reads[method] = (reads[method] ?? 0) + calls;
    }
  }
  const perLook = looks.map(({ observation }) => sumOf(observation.calls, "kubernetes."));
  return { looks: looks.length, reads, mostOfKubernetes: Math.max(0, ...perLook) };
}

/** How many reads went to one service: `kubernetes.`, `ec2.` or `autoScaling.`. */
export function sumOf(calls: Readonly<Record<string, number>>, service: string): number {
  return Object.entries(calls)
    .filter(([method]) => method.startsWith(service))
    .reduce((sum, [, count]) => sum + count, 0);
}

/** One line for the test's output. */
export function requestsText({ looks, reads, mostOfKubernetes }: RequestCount): string {
  const all = Object.entries(reads)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([method, count]) => `${method} ${count}`);
  const mean = (sumOf(reads, "kubernetes.") / Math.max(1, looks)).toFixed(1);
  return `${looks} looks, ${mean} reads of Kubernetes per look (at most ${mostOfKubernetes}): ${all.join(", ")}`;
}
