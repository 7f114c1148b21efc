/** Static pods: the kubelet runs them from files; the API has only their mirrors, which come back however often they are deleted. */
import { SECOND } from "../drain/time.ts";
import type { ClusterContext } from "./cluster-context.ts";
import type { PodObject } from "./cluster-objects.ts";
import { isDeleting, isMirror } from "./cluster-objects.ts";

export function startStaticPods(context: ClusterContext, hasLivingKubelet: (node: string) => boolean): void {
  const { api, clock } = context;
  const isKept = ({ spec: { nodeName = "" } }: PodObject): boolean =>
    hasLivingKubelet(nodeName) && api.nodes.get(nodeName) !== undefined;
  api.pods.watch((pod, change) => {
    if (!isMirror(pod) || !isKept(pod)) return;
    if (change === "removed") clock.after(SECOND, () => isKept(pod) && createMirror(context, pod));
    else if (isDeleting(pod)) clock.after(0, () => api.pods.remove(pod));
  });
}

function createMirror({ api }: ClusterContext, { metadata, spec, status }: PodObject): void {
  const { name, namespace = "", labels, annotations } = metadata;
  if (api.pods.get(name, namespace) !== undefined) return;
  api.pods.create(
    { name, namespace, labels, ...(annotations === undefined ? {} : { annotations }) },
    { spec, status: { ...status } },
  );
}
