/** An operator's task about the Node of observation-builder.ts. */
import type { ManualTask } from "../../lib/drain/task.ts";
import { workId } from "../../lib/drain/task.ts";
import { HOUR } from "../../lib/drain/time.ts";
import { BEGAN, INSTANCE, LAUNCHED, NODE } from "./observation-builder.ts";

export function manualTask(differs: Partial<ManualTask> = {}): ManualTask {
  return {
    kind: "manual",
    id: workId({ kind: "manual", instance: INSTANCE, launchTime: LAUNCHED }),
    cluster: "blue",
    group: "",
    instance: INSTANCE,
    launchTime: LAUNCHED,
    at: BEGAN,
    by: "operator",
    node: { name: NODE, uid: "node-uid" },
    until: BEGAN + HOUR,
    sources: "both",
    ...differs,
  };
}
