/** The taint eviction controller: NoExecute taints end the pods that do not tolerate them, at once or after their seconds. */
import type { Taint } from "../drain/cluster.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import { draw } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";
import { isDeleting, isMatch } from "./cluster-objects.ts";
import { WorkQueue } from "./cluster-work-queue.ts";

const DISRUPTION = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

export function startTaintEviction(context: ClusterContext): void {
  const { api, clock, controllerManager, timing } = context;
  const tolerated = new Map<string, Instant>();
  const queue = new WorkQueue(
    clock,
    controllerManager,
    () => draw(context, timing.watch),
    (name) => {
      const taints = (api.nodes.get(name)?.spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");
      for (const pod of api.podsOn(name)) {
        const left = timeLeft(clock.now(), pod, taints, tolerated);
        if (left === undefined || isDeleting(pod)) continue;
        if (left > 0) queue.add(name, left);
        else end(pod);
      }
    },
  );
  const end = ({ metadata: { namespace = "", name, uid } }: PodObject): void => {
    context.note("pod", name, "deleted for a NoExecute taint");
    api.deletePod(namespace, name, { uid, disruption: DISRUPTION });
  };
  api.nodes.watch(({ metadata, spec }, change) => {
    if (change === "removed" || spec.taints === undefined) return;
    if (spec.taints.some(({ effect }) => effect === "NoExecute") || tolerated.size > 0)
      queue.add(metadata.name);
  });
  api.pods.watch(({ metadata, spec }, change) => {
    if (change === "removed") tolerated.delete(metadata.uid);
    else if (spec.nodeName !== undefined && hasNoExecute(context, spec.nodeName)) queue.add(spec.nodeName);
  });
}

function hasNoExecute({ api }: ClusterContext, name: string): boolean {
  return (api.nodes.get(name)?.spec.taints ?? []).some(({ effect }) => effect === "NoExecute");
}

/** Milliseconds the pod may still stay; `undefined`: for ever. `tolerated` remembers since when it is tolerated. */
function timeLeft(
  now: Instant,
  pod: PodObject,
  taints: readonly Taint[],
  tolerated: Map<string, Instant>,
): number | undefined {
  const { uid } = pod.metadata;
  const spans = taints.map((taint) => toleratedFor(pod, taint));
  const least = Math.min(Number.POSITIVE_INFINITY, ...spans);
  if (least === Number.POSITIVE_INFINITY) {
    tolerated.delete(uid);
    return undefined;
  }
  const since = tolerated.get(uid) ?? now;
  tolerated.set(uid, since);
  return since + least * SECOND - now;
}

function toleratedFor(pod: PodObject, taint: Taint): number {
  const fitting = pod.spec.tolerations.filter((toleration) => isMatch(toleration, taint));
  if (fitting.length === 0) return 0;
  return Math.min(...fitting.map(({ tolerationSeconds }) => tolerationSeconds ?? Number.POSITIVE_INFINITY));
}
