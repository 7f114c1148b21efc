/** Which pods of a dead machine are removed by force (D14). */
import type { PodView } from "./cluster.ts";
import type { DoomedPod } from "./decision.ts";
import { valueOf } from "./observation.ts";
import type { Situation } from "./situation.ts";

/** Not mirror, not DaemonSet; a finished pod keeps no volume and is deleted only where somebody asked for that already. */
export function doomedPods({ pods, observation }: Situation): readonly DoomedPod[] {
  const finished = (valueOf(observation.pods) ?? []).filter(
    (pod) =>
      pod.deleting &&
      !pod.mirror &&
      pod.controller?.kind !== "DaemonSet" &&
      (pod.phase === "Succeeded" || pod.phase === "Failed"),
  );
  const target =
    (isFinished: boolean) =>
    (pod: PodView): DoomedPod => ({
      namespace: pod.namespace,
      name: pod.name,
      uid: pod.uid,
      finished: isFinished,
    });
  return [...pods.evictable.map(target(false)), ...finished.map(target(true))];
}
