import { expect, it } from "vitest";
import {
  addCsiController,
  addCsiNodePods,
  addDeployment,
  addStatefulSet,
} from "../../lib/sim/cluster-scene.ts";
import { Ec2Fault } from "../../lib/sim/seams.ts";
import { Random } from "../../lib/sim/random.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import { cordon, forceDelete, makeWorld, uncordon } from "./cluster-world.ts";

const MINUTE = 60_000;
const SETS = ["db", "kafka", "search"];

interface Turmoil {
  readonly world: ClusterWorld;
  readonly random: Random;
  readonly node: string;
  readonly instance: string;
}

/** What may happen to a node, and how it is mended, so that the cluster can heal in the end. */
const TROUBLES: Readonly<Record<string, (turmoil: Turmoil) => (() => void) | undefined>> = {
  cordon: ({ world, node }) => {
    if (world.cluster.api.nodes.get(node) === undefined) return undefined;
    cordon(world, node);
    return () => world.cluster.api.nodes.get(node) && uncordon(world, node);
  },
  "delete pods": ({ world, node }) => {
    for (const { metadata } of world.cluster.api.podsOn(node)) {
      world.cluster.api.deletePod(metadata.namespace ?? "", metadata.name);
    }
    return undefined;
  },
  "force-delete a pod": ({ world, random }) => {
    const name = `${random.pick(SETS)}-0`;
    if (world.cluster.api.pods.get(name, "default") !== undefined) forceDelete(world, name);
    return undefined;
  },
  freeze: ({ world, node }) => {
    const kubelet = world.cluster.kubeletOf(node);
    kubelet?.freeze();
    return () => kubelet?.thaw();
  },
  disconnect: ({ world, node }) => {
    const kubelet = world.cluster.kubeletOf(node);
    kubelet?.disconnect();
    return () => kubelet?.connect();
  },
  "shut down": ({ world, node }) => {
    const kubelet = world.cluster.kubeletOf(node);
    kubelet?.beginShutdown();
    return () => kubelet?.boot();
  },
  terminate: ({ world, instance }) => {
    world.ec2.terminateInstance(instance);
    return undefined;
  },
  "stop and start": ({ world, instance }) => {
    world.ec2.stopInstance(instance);
    return () => world.ec2.startInstance(instance);
  },
  "stuck unmount": ({ world, node, random }) => {
    const volumes = world.cluster.kubeletOf(node)?.volumes;
    const handle = volumes?.mounted()[0];
    if (volumes === undefined || handle === undefined) return undefined;
    volumes.stick(handle, random.pick(["unpublish", "unstage"]));
    return () => volumes.unstick(handle);
  },
  "API server away": ({ world, random }) => {
    world.cluster.killApiServer(random.between(1_000, 3 * MINUTE));
    return undefined;
  },
  "controller manager restarts": ({ world, random }) => {
    world.cluster.restartControllerManager(random.between(1_000, MINUTE));
    return undefined;
  },
};

async function makeTurmoil(seed: number): Promise<{ readonly world: ClusterWorld; readonly log: string[] }> {
  const world = makeWorld({ seed });
  const random = new Random(seed * 7_919);
  const log: string[] = [];
  const shutdown = { total: 40_000, critical: 15_000 };
  addCsiNodePods(world.cluster);
  const instances = new Map<string, string>();
  for (const letter of "abcd") instances.set(`node-${letter}`, await world.addNode(letter, { shutdown }));
  addCsiController(world.cluster);
  for (const name of SETS)
    addStatefulSet(world.cluster, { name, replicas: 2, stopsAfter: random.between(0, 40_000) });
  addDeployment(world.cluster, {
    name: "web",
    replicas: 3,
    volumes: [{ kind: "ephemeral", volume: "scratch" }],
  });
  await world.run(2 * MINUTE);
  for (let step = 0; step < 6; step++) {
    const [node, instance] = random.pick([...instances].slice(0, 3));
    const name = random.pick(Object.keys(TROUBLES));
    log.push(`${name} ${node}`);
    const mend = tried(() => TROUBLES[name]?.({ world, random, node, instance }));
    await world.run(random.between(0, 2 * MINUTE));
    world.clock.after(random.between(0, 8 * MINUTE), () => tried(() => mend?.()));
    expect(unreported(world)).toEqual([]);
  }
  return { world, log };
}

/** EC2 may refuse what the state of an instance forbids. */
function tried<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof Ec2Fault) return undefined;
    throw error;
  }
}

/**
 * Mounted volumes that are not in volumesInUse although the Node is there to say so: the attach/detach controller relies on that
 * there are none.
 */
function unreported({ cluster }: ClusterWorld): readonly string[] {
  return cluster
    .mounted()
    .filter(({ node, volumeId }) => {
      const inUse = cluster.api.nodes.get(node)?.status.volumesInUse;
      return inUse?.includes(`kubernetes.io/csi/ebs.csi.aws.com^${volumeId}`) === false;
    })
    .map(({ volumeId }) => volumeId);
}

it("after any turmoil every workload runs again with its volumes, and nothing was ever mounted twice (I3)", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { world, log } = await makeTurmoil(seed);
    for (let minute = 0; minute < 40; minute++) {
      await world.run(MINUTE);
      expect(unreported(world)).toEqual([]);
      // A guest that powered off after it was mended.
      if (minute === 10) for (const { name } of world.cluster.nodes()) world.cluster.kubeletOf(name)?.boot();
    }
    const names = SETS.flatMap((name) => [`${name}-0`, `${name}-1`]);
    const lame = world.cluster
      .pods()
      .filter((pod) => names.includes(pod.name) && (pod.phase !== "Running" || pod.deleting));
    expect({ seed, log, lame }).toEqual({ seed, log, lame: [] });
    expect(world.cluster.mounted().length, `seed ${seed}`).toBeGreaterThanOrEqual(9);
  }
});
