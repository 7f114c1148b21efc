import { describe, expect, it } from "vitest";
import { embed } from "../../lib/cli/embedded.ts";
import { MINUTE } from "../../lib/drain/time.ts";
import { WORKERS, World } from "../../lib/sim/world.ts";

const MACHINES = 100;

describe("a hundred nodes at once", () => {
  it("get a hundred cordons, though every tenth patch meets a conflict, and complete a hundred actions (C13)", async () => {
    const faults = [{ operations: "kubernetes.patchNode", fail: 0.1, failures: ["conflict"] as const }];
    const world = new World({ seed: 1, faults });
    const instances = Array.from({ length: MACHINES }, () => {
      const kubelet = world.launchNode(WORKERS.name);
      return kubelet.options.instance;
    });
    await world.settle();
    embed(world, { group: WORKERS.name });
    for (const instance of instances) world.autoScaling.scaleIn(instance);
    await world.clock.advance(world.clock.now() + 3 * MINUTE);

    const { changes } = world.clusterPort;
    const cordoned = new Set(
      changes
        .filter(({ method, outcome }) => method === "patchNode" && outcome === "done")
        .map(({ node }) => node),
    );
    expect(cordoned).toEqual(new Set(world.namesOf(instances)));
    const completed = world.autoScaling
      .getHistory()
      .filter(
        (record) =>
          record.kind === "complete" && record.outcome === "accepted" && record.result === "CONTINUE",
      );
    expect(new Set(completed.map(({ instance }) => instance))).toEqual(new Set(instances));
  });
});
