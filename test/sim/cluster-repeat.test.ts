import { expect, it } from "vitest";
import { addCsiNodePods, addDeployment, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import type { Happening } from "../../lib/sim/seams.ts";
import { cordon, evictPod, makeWorld, whenRunning } from "./cluster-world.ts";

/** A quarter of an hour of five nodes and some twenty pods, one of the nodes drained and another one dying. */
async function live(seed: number): Promise<readonly Happening[]> {
  const world = makeWorld({ seed });
  addCsiNodePods(world.cluster);
  for (const letter of "abcde") await world.addNode(letter);
  for (const name of ["db", "kafka", "search"]) addStatefulSet(world.cluster, { name, replicas: 3 });
  addDeployment(world.cluster, { name: "web", replicas: 6 });
  for (const name of ["db-2", "kafka-2", "search-2"]) await whenRunning(world, name);
  const node = await whenRunning(world, "db-0");
  cordon(world, node);
  evictPod(world, "db-0");
  await world.run(60_000);
  const dying = world.cluster.pods().find(({ name }) => name === "kafka-0")?.nodeName ?? "";
  world.ec2.terminateInstance(world.cluster.kubeletOf(dying)?.options.instance ?? "");
  await world.run(900_000);
  return world.happenings;
}

it("lives the same life again from the same seed, and another one from another", async () => {
  const first = await live(1);
  expect(await live(1)).toEqual(first);
  expect(await live(2)).not.toEqual(first);
});

it("heals by itself in the end, whatever the seed, and never mounts a volume twice (I3)", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const happenings = await live(seed);
    const last = happenings.filter(
      ({ subject, text }) => subject === "kafka-0" && text.startsWith("running on"),
    );
    expect(last.length).toBeGreaterThanOrEqual(2);
  }
});
