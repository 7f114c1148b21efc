/** What the deployed dispatcher makes of an event that no machine's end comes of. */
import { SECOND } from "../drain/time.ts";
import type { DispatchResult } from "../engine/dispatch.ts";
import { worldOf } from "../sim/scenario.ts";
import { scenarioOf } from "../sim/scenarios.ts";
import { embed } from "./embedded.ts";
import { GROUP, hereOf } from "./recorded-event.ts";

/** One line. Rejects as the dispatcher does. */
export async function dispatchAlone(event: unknown, seed: number): Promise<string> {
  const scenario = scenarioOf("scale-in");
  if (scenario === undefined) throw new RangeError("no scenario to stand in for a cluster");
  const subject = { group: GROUP };
  const world = worldOf(scenario, subject, { seed });
  await scenario.build(world, subject);
  const { dispatch } = embed(world, { group: GROUP, here: hereOf(event) });
  const before = callsOf(world);
  const result = world.clock.actor("dispatch", () => dispatch(event));
  await world.clock.advance(world.clock.now() + 30 * SECOND);
  return textOf(await result, callsOf(world) - before);
}

function callsOf({ clusterPort }: ReturnType<typeof worldOf>): number {
  return Object.values(clusterPort.calls()).reduce((sum, count) => sum + count, 0);
}

function textOf(result: DispatchResult, calls: number): string {
  switch (result.kind) {
    case "ignored":
      return `ignored: ${result.reason}. Nothing is asked, nothing is changed.`;
    case "foreign":
      return `not ours: ${result.reason}. Nothing is changed: whoever owns it completes it (D1, D2).`;
    case "swept": {
      const { nodes, members, running, started, undone } = result.summary;
      return `swept: ${nodes} Nodes, ${members} instances, ${running} executions running; started ${started.length}, undone ${undone.length} (${calls} requests to Kubernetes).`;
    }
    case "started":
    case "already-started":
      return `${result.kind}: ${result.task.id}`;
    default:
      return result satisfies never;
  }
}
