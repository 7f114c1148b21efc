/** What goes wrong while a machine goes away. */
import type { Policy } from "../drain/policy.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { AttachmentObject } from "./cluster-objects.ts";
import { addForeignAttachment, losePersistentVolume } from "./cluster-scene-oddities.ts";
import { kubeletOfInstance, orRefused } from "./endings.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

export interface Strike {
  readonly world: World;
  readonly instance: string;
  readonly random: Random;
  readonly policy: Policy;
}

export interface Disturbance {
  readonly name: string;
  readonly strike: (strike: Strike) => void;
}

export const DISTURBANCES: readonly Disturbance[] = [
  {
    name: "kubelet dead",
    strike: ({ world, instance }) => kubeletOfInstance(world, instance)?.freeze(),
  },
  {
    name: "kubelet frozen for a while",
    strike: ({ world, instance, random }) => {
      const kubelet = kubeletOfInstance(world, instance);
      kubelet?.freeze();
      world.clock.after(random.between(20, 300) * SECOND, () => kubelet?.thaw());
    },
  },
  {
    name: "kubelet cut off from the API",
    strike: ({ world, instance, random }) => {
      const kubelet = kubeletOfInstance(world, instance);
      kubelet?.disconnect();
      world.clock.after(random.between(20, 300) * SECOND, () => kubelet?.connect());
    },
  },
  {
    name: "unmount stuck",
    strike: ({ world, instance, random }) => {
      const kubelet = kubeletOfInstance(world, instance);
      const handle = kubelet?.volumes.mounted()[0];
      if (kubelet === undefined || handle === undefined) return;
      kubelet.volumes.stick(handle, random.pick(["unpublish", "unstage"] as const));
      if (random.chance(0.7)) {
        world.clock.after(random.between(20, 240) * SECOND, () => kubelet.volumes.unstick(handle));
      }
    },
  },
  {
    name: "EC2 detach stuck",
    strike: ({ world, instance, random }) => {
      const handle = kubeletOfInstance(world, instance)?.volumes.mounted()[0];
      if (handle === undefined) return;
      world.ec2.volumes.stickDetach(handle);
      world.clock.after(random.between(20, 400) * SECOND, () => world.ec2.volumes.freeDetach(handle));
    },
  },
  {
    name: "API server away",
    strike: ({ world, random }) => world.cluster.killApiServer(random.between(10, 400) * SECOND),
  },
  {
    name: "API server away for clients only",
    strike: ({ world, random }) =>
      world.cluster.killApiServer(random.between(10, 400) * SECOND, { clientsOnly: true }),
  },
  {
    name: "controller manager restarts",
    strike: ({ world, random }) => world.cluster.restartControllerManager(random.between(1, 60) * SECOND),
  },
  {
    name: "attachment leaks",
    strike: ({ world, instance }) => {
      const handle = kubeletOfInstance(world, instance)?.volumes.mounted()[0];
      if (handle !== undefined) world.cluster.attachDetach.leakNextDetach(handle);
    },
  },
  {
    name: "attachment torn out by hand",
    strike: ({ world, instance, random }) => {
      const attachment = attachmentOf(world, instance);
      if (attachment === undefined) return;
      // With its finalizer taken off nobody detaches anything: Kubernetes has forgotten what EC2 still holds.
      if (random.chance(0.7)) world.cluster.api.attachments.remove(attachment);
      else world.cluster.api.attachments.delete(attachment);
    },
  },
  {
    name: "PersistentVolume lost",
    strike: ({ world, instance }) => {
      const source = attachmentOf(world, instance)?.spec.source;
      const name = source !== undefined && "volumeName" in source ? source.volumeName : undefined;
      if (name !== undefined && world.cluster.api.volumes.get(name) !== undefined) {
        losePersistentVolume(world.cluster, name);
      }
    },
  },
  {
    name: "another driver's attachment stays",
    strike: ({ world, instance }) => {
      const node = kubeletOfInstance(world, instance)?.options.name;
      const name = `efs-${instance}`;
      if (node === undefined || world.cluster.api.attachments.get(name) !== undefined) return;
      addForeignAttachment(world.cluster, { node, name });
    },
  },
  {
    name: "AWS away",
    strike: ({ world, random, policy }) => {
      const now = world.clock.now();
      // Longer than what is left after a beat, and no code of anybody's could keep the action alive.
      const until = now + Math.min(random.between(5, 40), policy.heartbeatTimeout / 4) * SECOND;
      world.faults.outage("ec2.", { kind: "fail", failure: "throttled" }, now, until);
      world.faults.outage("autoScaling.", { kind: "fail", failure: "throttled" }, now, until);
    },
  },
  {
    name: "401 for a while",
    strike: ({ world, random }) => {
      const now = world.clock.now();
      const until = now + random.between(10, 200) * SECOND;
      world.faults.outage("kubernetes.", { kind: "fail", failure: "unauthenticated" }, now, until);
    },
  },
  {
    name: "somebody uncordons",
    strike: ({ world, instance }) => {
      const node = world.cluster.api.nodes
        .list()
        .find((each) => each.spec.providerID?.endsWith(`/${instance}`) === true);
      if (node === undefined) return;
      world.cluster.api.nodes.update(node, ({ spec }) => {
        spec.unschedulable = false;
      });
    },
  },
  {
    name: "Node deleted",
    strike: ({ world, instance }) => {
      const node = world.cluster.api.nodes
        .list()
        .find((each) => each.spec.providerID?.endsWith(`/${instance}`) === true);
      if (node !== undefined) world.cluster.api.nodes.remove(node);
    },
  },
  {
    name: "terminated from the console",
    strike: ({ world, instance }) => orRefused(() => world.ec2.terminateInstance(instance)),
  },
  {
    name: "the address goes to a new machine",
    strike: ({ world, instance, random }) => reuseAddress(world, instance, random),
  },
  {
    name: "machine reboots",
    strike: ({ world, instance }) => {
      const kubelet = kubeletOfInstance(world, instance);
      if (kubelet?.isOn !== true || world.ec2.instance(instance)?.state !== "running") return;
      world.ec2.volumes.endGuest(instance);
      kubelet.powerOff();
      kubelet.boot();
    },
  },
  {
    name: "completed by somebody else",
    strike: ({ world, instance, random }) => {
      const action = world.autoScaling.activeActions(instance).find((each) => each.hook.name === "ebs-drain");
      if (action === undefined) return;
      const { group, hook, token } = action;
      const result = random.pick(["CONTINUE", "ABANDON"] as const);
      world.autoScaling.complete({ group, hook: hook.name, token }, result, "somebody else");
    },
  },
];

function attachmentOf(world: World, instance: string): AttachmentObject | undefined {
  const node = kubeletOfInstance(world, instance)?.options.name;
  return world.cluster.api.attachments.list().find(({ spec }) => spec.nodeName === node);
}

/** The machine is terminated; a new one gets its address, hence its Node's name, and adopts the Node where it is still there. */
function reuseAddress(world: World, instance: string, random: Random): void {
  const machine = world.ec2.instance(instance);
  const kubelet = kubeletOfInstance(world, instance);
  if (machine === undefined || kubelet === undefined) return;
  const { privateAddress, zone } = machine;
  const name = kubelet.options.name;
  orRefused(() => world.ec2.terminateInstance(instance));
  const tryLater = (left: number): void => {
    world.clock.after(random.between(5, 15) * SECOND, () => {
      if (world.ec2.instance(instance)?.state !== "terminated") {
        if (left > 0) tryLater(left - 1);
        return;
      }
      if (world.cluster.hasLivingKubelet(name)) return;
      // Another machine may have the address by then.
      orRefused(() => world.joinNode(world.autoScaling.launch("workers-a", { privateAddress, zone }), name));
    });
  };
  tryLater((10 * MINUTE) / (5 * SECOND));
}
