import { expect, it } from "vitest";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import { NO_FAULTS } from "../../lib/sim/faults.ts";
import { simulatedClusterPort } from "../../lib/sim/cluster-port.ts";
import { makeWorld } from "./cluster-world.ts";

it("moves a StatefulSet's pod and its volume to another node after cordon and eviction", async () => {
  const world = makeWorld();
  const { cluster, clock } = world;
  await world.addNode("a");
  await world.addNode("b");
  const [[handle = ""] = []] = addStatefulSet(cluster, { name: "db" });
  const pod = () => cluster.pods().find(({ name }) => name === "db-0");
  await world.until("running", () => pod()?.phase === "Running");
  const first = pod()?.nodeName ?? "";
  const port = simulatedClusterPort(cluster, clock, NO_FAULTS);
  const done = clock.actor("drain", async () => {
    const node = await port.getNode(first);
    await port.patchNode(first, [
      { op: "test", path: "/metadata/uid", value: node?.uid },
      { op: "add", path: "/spec/unschedulable", value: true },
    ]);
    const [view] = await port.listPodsOnNode(first);
    if (view !== undefined) await port.evictPod(view);
  });
  await world.run(120_000);
  await done;
  expect(pod()).toMatchObject({ phase: "Running" });
  expect(pod()?.nodeName).not.toBe(first);
  expect(cluster.mounted().map(({ volumeId, node }) => [volumeId, node])).toEqual([
    [handle, pod()?.nodeName],
  ]);
});
