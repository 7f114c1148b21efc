import { describe, expect, it } from "vitest";
import { embed } from "../../lib/cli/embedded.ts";
import { MINUTE } from "../../lib/drain/time.ts";
import { WORKERS, World } from "../../lib/sim/world.ts";

const MACHINES = 100;

/** Instances whose action got CONTINUE. */
function completedIn({ autoScaling }: World): ReadonlySet<string | undefined> {
  const results = autoScaling
    .getHistory()
    .filter(
      (record) => record.kind === "complete" && record.outcome === "accepted" && record.result === "CONTINUE",
    );
  return new Set(results.map(({ instance }) => instance));
}

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
    const areCompleted = (): boolean => completedIn(world).size === MACHINES;
    for (let look = 0; look < 36 && !areCompleted(); look++) {
      await world.clock.advance(world.clock.now() + MINUTE / 12);
    }

    const { changes } = world.clusterPort;
    const cordoned = new Set(
      changes
        .filter(({ method, outcome }) => method === "patchNode" && outcome === "done")
        .map(({ node }) => node),
    );
    expect(cordoned).toEqual(new Set(world.namesOf(instances)));
    expect(completedIn(world)).toEqual(new Set(instances));
  });
});
