/** Situations in which Auto Scaling holds the instance in the lifecycle hook, so that there is time to drain it. */
import { HOUR, MINUTE, SECOND } from "../drain/time.ts";
import { leakAttachment } from "./cluster-scene-oddities.ts";
import { addClaim, addStatefulSet } from "./cluster-scene.ts";
import type { Scenario, Scene } from "./scenario.ts";
import { ZONE, launchInstance, threePods, twoNodes } from "./scenes.ts";
import type { World } from "./world.ts";

const THREE_PODS =
  "Three pods with EBS volumes run on the node: db-0 and db-1, of which a PodDisruptionBudget lets one be away at a time, and queue-0.";

function scaleIn(world: World, { instance }: Scene): void {
  world.autoScaling.scaleIn(instance);
}

function setBudget({ cluster }: World, maxUnavailable: number): void {
  const budget = cluster.api.budgets.require("db", "default");
  cluster.api.budgets.remove(budget);
  const { selector } = budget.spec;
  cluster.api.budgets.create({ name: "db", namespace: "default" }, { spec: { selector, maxUnavailable } });
}

export const DRAINS: readonly Scenario[] = [
  {
    name: "scale-in",
    title: "Auto Scaling takes a node out of its group",
    held: true,
    story: `${THREE_PODS} A new node is there already.`,
    build: (world, subject) => threePods(world, subject),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "hand-over",
    title: "the hook in the CSI node pod completes the action",
    held: true,
    story: `${THREE_PODS} The CSI node pods carry ebs-drain's hook: once the pods are gone the drain hands over to it, and it completes the action in the moment of the last detach.`,
    world: { hook: true },
    build: (world, subject) => threePods(world, subject),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "pdb-block",
    title: "a PodDisruptionBudget lets no pod go for 20 minutes",
    held: true,
    story: `${THREE_PODS} Today the budget allows none to be away; after 20 minutes, longer than one invocation of a Lambda may take, somebody mends it.`,
    build: (world, subject) => threePods(world, subject, { db: { budget: { maxUnavailable: 0 } } }),
    begin: (world, scene) => {
      scaleIn(world, scene);
      world.clock.after(20 * MINUTE, () => {
        setBudget(world, 1);
        world.note("event", "PodDisruptionBudget db", "mended: one pod may be away");
      });
    },
    most: HOUR,
  },
  {
    name: "deadline",
    title: "a PodDisruptionBudget never lets a pod go",
    held: true,
    story: `${THREE_PODS} The budget allows none to be away and nobody mends it: ebs-drain's own deadline comes, set to 30 minutes here.`,
    policy: { maxDuration: 30 * 60 },
    build: (world, subject) => threePods(world, subject, { db: { budget: { maxUnavailable: 0 } } }),
    begin: scaleIn,
    most: HOUR,
  },
  {
    name: "stuck-unmount",
    title: "the kubelet cannot unmount a volume for 12 minutes",
    held: true,
    story: `${THREE_PODS} The volume of queue-0 cannot be unmounted: its pod goes, the volume stays. After 12 minutes somebody mends it.`,
    build: (world, subject) => threePods(world, subject),
    begin: (world, scene) => {
      const kubelet = world.cluster.kubeletOf(scene.node ?? "");
      const handle = handleOf(world, "data-queue-0");
      kubelet?.volumes.stick(handle, "unstage");
      scaleIn(world, scene);
      world.clock.after(12 * MINUTE, () => {
        kubelet?.volumes.unstick(handle);
        world.note("event", "mount", "mended: the volume of queue-0 can be unmounted");
      });
    },
    most: HOUR,
  },
  {
    name: "dead-kubelet",
    title: "the kubelet hangs: it can stop and unmount nothing",
    held: true,
    story: `${THREE_PODS} The node's kubelet hangs just before Auto Scaling takes the node out.`,
    build: (world, subject) => threePods(world, subject),
    begin: (world, scene) => {
      world.cluster.kubeletOf(scene.node ?? "")?.freeze();
      scaleIn(world, scene);
    },
    most: HOUR,
  },
  {
    name: "leaked-attachment",
    title: "a VolumeAttachment is left that nobody will ever delete",
    held: true,
    story: `${THREE_PODS} A VolumeAttachment was left by a crash of kube-controller-manager; EC2 has nothing attached for it.`,
    build: async (world, subject) => {
      const scene = await threePods(world, subject);
      const handle = world.cluster.newVolume(ZONE, "pv-old");
      const volumeName = addClaim(world.cluster, { name: "data-old-0", handle, zone: ZONE });
      leakAttachment(world.cluster, { node: scene.node ?? "", handle, volumeName });
      return scene;
    },
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "late-join",
    title: "the Node registers after the instance was told to go",
    held: true,
    story:
      "An instance boots slowly and is told to go before its Node registers. A pod, db-0, waits for just this node: its volume is in the zone, and the other node there is cordoned.",
    build: async (world, subject) => {
      const others = await twoNodes(world, subject);
      for (const node of world.cluster.api.nodes.list()) {
        world.cluster.api.nodes.update(node, ({ spec }) => {
          spec.unschedulable = true;
        });
      }
      addStatefulSet(world.cluster, { name: "db" });
      const instance = launchInstance(world, subject);
      const { privateDnsName: node = "" } = world.ec2.instance(instance) ?? {};
      await world.clock.advance(world.clock.now() + 20 * SECOND);
      world.clock.after(45 * SECOND, () => world.joinNode(instance, node));
      return { instance, node, nodes: { ...others, [node]: "the late node" } };
    },
    begin: (world, scene) => {
      scaleIn(world, scene);
      world.clock.after(80 * SECOND, () => {
        for (const other of world.cluster.api.nodes.list()) {
          if (other.metadata.name === scene.node) continue;
          world.cluster.api.nodes.update(other, ({ spec }) => {
            spec.unschedulable = false;
          });
        }
        world.note("event", "other nodes", "uncordoned");
      });
    },
    most: 30 * MINUTE,
  },
  {
    name: "never-joined",
    title: "the instance never became a Node",
    held: true,
    story: "An instance of the group runs, but no kubelet ever registers from it. It is told to go.",
    build: async (world, subject) => {
      const nodes = await twoNodes(world, subject);
      const instance = launchInstance(world, subject);
      await world.clock.advance(world.clock.now() + 20 * SECOND);
      return { instance, nodes };
    },
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "warm-pool",
    title: "the instance goes back to the warm pool, and comes again",
    held: true,
    story: `${THREE_PODS} The group scales in and keeps the instance, stopped, in its warm pool. After 6 minutes it comes back.`,
    group: { poolState: "Stopped" },
    build: (world, subject) => threePods(world, subject),
    begin: (world, { instance }) => {
      world.autoScaling.returnToWarmPool(instance);
      world.clock.after(6 * MINUTE, () => world.autoScaling.takeFromWarmPool(instance));
    },
    least: 9 * MINUTE,
    most: 20 * MINUTE,
  },
  {
    name: "replace-root-volume",
    title: "the instance gets another root volume and goes on",
    held: true,
    story: `${THREE_PODS} An instance refresh replaces root volumes: the node is drained, and the same instance goes on.`,
    build: async (world, subject) => {
      const scene = await threePods(world, subject);
      world.ec2.onReboot(() => world.cluster.kubeletOf(scene.node ?? "")?.reboot());
      return scene;
    },
    begin: (world, { instance }) => world.autoScaling.replaceRootVolume(instance),
    least: 4 * MINUTE,
    most: 20 * MINUTE,
  },
  {
    name: "api-outage",
    title: "the API server is away for 5 minutes in the middle of the drain",
    held: true,
    story: `${THREE_PODS} Two seconds after the evictions began, the API server cannot be reached for 5 minutes.`,
    build: (world, subject) => threePods(world, subject),
    begin: (world, scene) => {
      scaleIn(world, scene);
      world.clock.after(8 * SECOND, () => world.cluster.killApiServer(5 * MINUTE, { clientsOnly: true }));
    },
    most: 30 * MINUTE,
  },
  {
    name: "lost-event",
    title: "EventBridge loses the event",
    held: true,
    story: `${THREE_PODS} No event arrives; the sweep, once a minute, finds the instance waiting.`,
    world: { delivery: { loss: 1 } },
    build: (world, subject) => threePods(world, subject),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "duplicate-events",
    title: "EventBridge delivers everything twice",
    held: true,
    story: `${THREE_PODS} Each event comes twice: one execution does the work.`,
    world: { delivery: { duplication: 1, lateDelay: [SECOND, 5 * SECOND] } },
    build: (world, subject) => threePods(world, subject),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "csi-controller",
    title: "the CSI controller itself runs on the node",
    held: true,
    story: `${THREE_PODS} So do both pods of the CSI controller: a detach waits until another pod has its leader's lease.`,
    build: (world, subject) => threePods(world, subject, { csiController: "on the node" }),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
  {
    name: "other-node-name",
    title: "the Node is not named like its instance",
    held: true,
    story: `${THREE_PODS} The Node's name is not the instance's private DNS name: it is found by its provider id.`,
    build: (world, subject) => threePods(world, subject, { nodeName: "storage-worker-7" }),
    begin: scaleIn,
    most: 15 * MINUTE,
  },
];

function handleOf({ cluster }: World, claim: string): string {
  const name = cluster.api.claims.require(claim, "default").spec.volumeName ?? "";
  const { source } = cluster.api.volumes.require(name).spec;
  return source.kind === "csi" ? source.handle : "";
}
