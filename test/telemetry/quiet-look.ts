/** A look at a terminated machine that found nothing new; tests say what differs. */
import type { Decision } from "../../lib/drain/decision.ts";
import { initialMemory } from "../../lib/drain/memory.ts";
import type { Observation } from "../../lib/drain/observation.ts";
import type { Task } from "../../lib/drain/task.ts";
import type { Instant } from "../../lib/drain/time.ts";
import { nothingYet } from "../../lib/engine/observe.ts";

export function quietObservation(now: Instant, differs: Partial<Observation> = {}): Observation {
  const task: Task = {
    kind: "gone",
    id: "gone-i-0abc-t5x2y0",
    cluster: "blue",
    group: "workers-a",
    instance: "i-0abc",
    launchTime: now - 3_600_000,
    at: now - 10_000,
    by: "event",
    state: "terminated",
  };
  const memory = { ...initialMemory(now - 10_000), looks: 3, node: { name: "ip-10-0-0-1", uid: "n1" } };
  return { ...nothingYet(task, memory, now), calls: { "kubernetes.getNode": 1 }, ...differs };
}

export function quietDecision(now: Instant, differs: Partial<Decision> = {}): Decision {
  return {
    phase: "detaching",
    rules: ["D11"],
    reason: "one volume is still attached",
    actions: [],
    next: { kind: "again", inSeconds: 5 },
    verdicts: [],
    waitingFor: [],
    deadline: now + 600_000,
    ...differs,
  };
}
