/** Ways in which a machine goes away, or seems to. */
import { MINUTE, SECOND } from "../drain/time.ts";
import type { Random } from "./random.ts";
import { Ec2Fault } from "./seams.ts";
import type { World } from "./world.ts";

export interface Ending {
  readonly name: string;
  readonly begin: (world: World, instance: string, random: Random) => void;
}

/** What the operator or AWS does may come at a moment when the service refuses it, as in reality. */
export function orRefused(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Ec2Fault)) throw error;
  }
}

export const ENDINGS: readonly Ending[] = [
  { name: "scale-in", begin: (world, instance) => orRefused(() => world.autoScaling.scaleIn(instance)) },
  { name: "scale-in", begin: (world, instance) => orRefused(() => world.autoScaling.scaleIn(instance)) },
  {
    name: "warm-pool",
    begin: (world, instance) => orRefused(() => world.autoScaling.returnToWarmPool(instance)),
  },
  {
    name: "warm-pool-and-back",
    begin: (world, instance, random) => {
      orRefused(() => world.autoScaling.returnToWarmPool(instance));
      world.clock.after(random.between(4, 9) * MINUTE, () =>
        orRefused(() => {
          if (world.autoScaling.member(instance)?.lifecycleState.startsWith("Warmed:Stopped") === true) {
            world.autoScaling.takeFromWarmPool(instance);
          }
        }),
      );
    },
  },
  {
    name: "replace-root-volume",
    begin: (world, instance) => orRefused(() => world.autoScaling.replaceRootVolume(instance)),
  },
  {
    name: "scale-in-called-off",
    begin: (world, instance, random) => {
      orRefused(() => world.autoScaling.scaleIn(instance));
      world.clock.after(random.between(10, 90) * SECOND, () =>
        orRefused(() => {
          if (world.autoScaling.activeActions(instance).length > 0) world.autoScaling.callOff(instance);
        }),
      );
    },
  },
  {
    name: "console-terminate",
    begin: (world, instance) => orRefused(() => world.ec2.terminateInstance(instance)),
  },
  {
    name: "console-terminate",
    begin: (world, instance) => orRefused(() => world.ec2.terminateInstance(instance)),
  },
  { name: "stop", begin: (world, instance) => orRefused(() => world.ec2.stopInstance(instance)) },
  {
    name: "stop-and-start",
    begin: (world, instance, random) => {
      orRefused(() => world.ec2.stopInstance(instance));
      world.clock.after(random.between(30, 180) * SECOND, () =>
        orRefused(() => {
          if (world.ec2.instance(instance)?.state === "stopped") world.ec2.startInstance(instance);
        }),
      );
    },
  },
  {
    name: "hibernate",
    begin: (world, instance) =>
      orRefused(() => {
        kubeletOfInstance(world, instance)?.hibernateNext();
        world.ec2.stopInstance(instance, { hibernate: true });
      }),
  },
  { name: "spot-terminate", begin: (world, instance) => orRefused(() => world.ec2.interruptSpot(instance)) },
  {
    name: "spot-stop",
    begin: (world, instance) => orRefused(() => world.ec2.interruptSpot(instance, "stop")),
  },
];

/** The kubelet that this very machine runs; undefined where another one has its name by now. */
export function kubeletOfInstance(world: World, instance: string): ReturnType<World["cluster"]["kubeletOf"]> {
  const node = world.cluster.nodes().find((each) => each.providerId?.endsWith(`/${instance}`));
  const kubelet = node === undefined ? undefined : world.cluster.kubeletOf(node.name);
  return kubelet?.options.instance === instance ? kubelet : undefined;
}
