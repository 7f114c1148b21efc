/** Situations that no lifecycle hook holds: the instance goes when it goes. */
import { MINUTE, SECOND } from "../drain/time.ts";
import type { Scenario, Scene } from "./scenario.ts";
import { ZONE, threePods } from "./scenes.ts";
import type { World } from "./world.ts";

const THREE_PODS =
  "Three pods with EBS volumes run on the node: db-0 and db-1, of which a PodDisruptionBudget lets one be away at a time, and queue-0.";

function isTerminated(world: World, instance: string): boolean {
  return world.ec2.instance(instance)?.state === "terminated";
}

/** A new instance with the dead one's address, hence with its Node's name. */
function reuseAddress(world: World, { instance, node = "" }: Scene): void {
  const machine = world.ec2.instance(instance);
  const group = world.autoScaling.member(instance)?.group;
  if (machine === undefined || group === undefined) return;
  world.ec2.onStateChange((id) => {
    if (id !== instance || !isTerminated(world, instance)) return;
    const successor = world.autoScaling.launch(group, { privateAddress: machine.privateAddress, zone: ZONE });
    world.joinNode(successor, node);
    world.note("event", successor, "a new instance gets the address, and with it the Node's name");
  });
}

/** What a person does whom the Event NodeAdopted has told that the Node is another machine's by now. */
function deletePods(world: World, { node = "" }: Scene): void {
  const { cluster, clock } = world;
  cordon(world, node, true);
  clock.after(2 * MINUTE, () => cordon(world, node, false));
  const left = cluster.api
    .podsOn(node)
    .filter(({ metadata: { controller } }) => controller?.kind === "StatefulSet");
  world.note(
    "event",
    "somebody",
    "cordons the node, deletes the pods there, and uncordons it 2 minutes later",
  );
  for (const { metadata } of left) {
    cluster.api.deletePod(metadata.namespace ?? "", metadata.name, { uid: metadata.uid });
  }
}

function cordon({ cluster }: World, name: string, unschedulable: boolean): void {
  const node = cluster.api.nodes.get(name);
  if (node === undefined) return;
  cluster.api.nodes.update(node, ({ spec }) => {
    spec.unschedulable = unschedulable;
  });
}

export const ENDS: readonly Scenario[] = [
  {
    name: "spot",
    title: "EC2 takes a spot instance back, with two minutes' notice",
    held: false,
    story: `${THREE_PODS} queue-0 takes 5 minutes to stop if it is let: longer than the notice.`,
    build: (world, subject) =>
      threePods(world, subject, { queue: { graceSeconds: 600, stopsAfter: 5 * MINUTE } }),
    begin: (world, { instance, node = "" }, { spotAction }) => {
      if (spotAction === "hibernate") world.cluster.kubeletOf(node)?.hibernateNext();
      world.ec2.interruptSpot(instance, spotAction);
    },
    least: 2 * MINUTE + 30 * SECOND,
    most: 20 * MINUTE,
  },
  {
    name: "console-terminate",
    title: "somebody terminates the instance in the console",
    held: false,
    story: `${THREE_PODS} No hook holds a direct TerminateInstances: the machine goes at once, its volumes mounted.`,
    build: (world, subject) => threePods(world, subject),
    begin: (world, { instance }) => world.ec2.terminateInstance(instance),
    least: 2 * MINUTE,
    most: 30 * MINUTE,
  },
  {
    name: "console-stop",
    title: "somebody stops the instance in the console",
    held: false,
    story: `${THREE_PODS} The machine is stopped with its volumes mounted and attached: EC2 detaches nothing of a stopped one.`,
    build: (world, subject) => threePods(world, subject),
    begin: (world, { instance }) => world.ec2.stopInstance(instance),
    least: 2 * MINUTE,
    most: 30 * MINUTE,
  },
  {
    name: "adopted-node",
    title: "a new instance gets the dead one's address, and its kubelet the dead one's Node",
    held: false,
    story: `${THREE_PODS} The instance is terminated directly, and its address, hence its Node's name, goes to a new one at once. A Node with a living kubelet is never forced; after 3 minutes somebody who was told so moves the pods.`,
    world: {
      ec2Delays: { shuttingDown: [10 * SECOND, 11 * SECOND], pending: [SECOND, 2 * SECOND] },
      timing: { nodeReady: [100, 200] },
    },
    build: (world, subject) => threePods(world, subject),
    begin: (world, scene) => {
      reuseAddress(world, scene);
      world.ec2.terminateInstance(scene.instance);
      world.clock.after(3 * MINUTE, () => deletePods(world, scene));
    },
    most: 30 * MINUTE,
  },
];
