/** I1 to I12, each shown by a small run or by the drawn runs of the simulated world, which are checked for all of them. */
import { expect } from "vitest";
import { decide } from "../../lib/drain/decide.ts";
import { initialMemory } from "../../lib/drain/memory.ts";
import { planSweep } from "../../lib/drain/sweep-plan.ts";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { look } from "../../lib/engine/look.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import { Ec2Fault } from "../../lib/sim/seams.ts";
import { SmallWorld, run } from "../engine/small-world.ts";
import { runSeed } from "../soak/soak-run.ts";
import {
  INSTANCE,
  NOW,
  OTHER_INSTANCE,
  attachment,
  failed,
  goneTask,
  instance,
  lifecycleTask,
  node,
  observation,
  pod,
  policy,
  read,
} from "./observation-builder.ts";
import type { RuleRow } from "./rule-row.ts";

const task = lifecycleTask({ at: NOW });

function busyNode(): SmallWorld {
  const world = new SmallWorld();
  world.pods = [pod("database", { claims: ["data"] }), pod("web")];
  world.attach("vol-1", "data");
  return world;
}

/** A budget blocks the database to the end. */
async function blockedToTheEnd(): Promise<{ readonly world: SmallWorld; readonly looks: number }> {
  const world = busyNode();
  world.refusing.set("uid-of-database", "disruption-budget");
  const { looks } = await run(world, task, { seconds: 3 * 3_600 });
  return { world, looks: looks.length };
}

export const INVARIANT_RULES: readonly RuleRow[] = [
  {
    rule: "I1",
    shows: "no CONTINUE before the deadline while the volume stays attached, in either source",
    holds: async () => {
      for (const kubernetesLetsGo of [false, true]) {
        const world = busyNode();
        world.detachesAfter = 100_000;
        world.after(10, () => {
          if (kubernetesLetsGo) world.attachments = [];
        });
        await run(world, task, { seconds: 7_000 });
        expect(world.pods).toEqual([]);
        expect(world.results).toEqual([]);
      }
    },
  },
  {
    rule: "I2",
    shows: "an open action gets its explicit result at the deadline, though nothing can be read",
    holds: () => {
      const blind = observation({
        task: lifecycleTask({ at: NOW - 2 * HOUR }),
        node: failed("kubernetes.getNode"),
        pods: failed("kubernetes.listPodsOnNode"),
        ec2Volumes: failed("ec2.listAttachedVolumes"),
      });
      expect(decide(blind, policy()).actions).toContainEqual({ kind: "complete", result: "CONTINUE" });
    },
  },
  {
    rule: "I3",
    shows: "a volume that one machine has mounted attaches to no second one",
    holds: async () => {
      const clock = new VirtualClock(NOW);
      const ec2 = new SimulatedEc2({ clock, random: new Random(1) });
      const [first, second] = [ec2.runInstance({}), ec2.runInstance({})];
      await clock.advance(NOW + MINUTE);
      const volume = ec2.createVolume({});
      await clock.advance(NOW + 2 * MINUTE);
      ec2.attachVolume(volume, first);
      await clock.advance(NOW + 3 * MINUTE);
      expect(() => ec2.attachVolume(volume, second)).toThrow(Ec2Fault);
    },
  },
  {
    rule: "I4",
    shows: "a successor of the same name is never asked to go",
    holds: async () => {
      const world = busyNode();
      world.after(1, () => {
        world.pods = world.pods.map((each) => ({
          ...each,
          uid: `${each.uid}-2`,
          nodeName: "elsewhere",
          deleting: false,
        }));
      });
      await run(world, task, { seconds: 60 });
      expect(world.pods.filter(({ deleting }) => deleting)).toEqual([]);
    },
  },
  {
    rule: "I5",
    shows: "a budget is respected to the end unless force is on, and with force until its time",
    holds: async () => {
      const { world } = await blockedToTheEnd();
      expect(world.counts()).not.toHaveProperty("kubernetes.deletePod");
      const forced = busyNode();
      forced.refusing.set("uid-of-database", "disruption-budget");
      await run(forced, task, { seconds: 3_000, policy: { force: true, forceAfter: 1_800 } });
      const deleted = forced.calls.find(({ method }) => method === "kubernetes.deletePod");
      expect(deleted?.at).toBeGreaterThanOrEqual(NOW + 1_800 * SECOND);
      expect(forced.results).toEqual(["CONTINUE"]);
    },
  },
  {
    rule: "I6",
    shows: "a run that is blocked to the end ends at its deadline, in at most 1,000 looks",
    holds: async () => {
      const { world, looks } = await blockedToTheEnd();
      expect(looks).toBeLessThanOrEqual(1_000);
      expect(world.results).toEqual(["CONTINUE"]);
      expect(world.now).toBeLessThanOrEqual(NOW + 2 * HOUR - MINUTE + SECOND);
    },
  },
  {
    rule: "I7",
    shows: "a dry run changes nothing, of whatever kind",
    holds: async () => {
      for (const of of [task, goneTask({ at: NOW })]) {
        const world = busyNode();
        await look(of, initialMemory(NOW), policy(), world.ports, { dryRun: true });
        expect(world.changes()).toEqual([]);
        expect(world.metrics).toEqual([]);
      }
    },
  },
  {
    rule: "I8",
    shows: "what is left of ours on a node in service is undone by the sweep",
    holds: () => {
      const seen = {
        at: NOW,
        clusters: [{ name: "blue", groups: ["workers-a"], nodes: read([node()]) }],
        running: [],
        members: read([{ instance: INSTANCE, group: "workers-a", lifecycleState: "InService" }]),
        instances: read([instance()]),
      };
      expect(planSweep(seen, policy())).toMatchObject([
        { kind: "undo", cluster: "blue", instance: INSTANCE },
      ]);
    },
  },
  {
    rule: "I9",
    shows: "a Node that names another machine is not changed, and drawn runs break no invariant at all",
    holds: async () => {
      const world = busyNode();
      world.changeNode(() => ({ providerId: `aws:///eu-west-1a/${OTHER_INSTANCE}` }));
      await run(world, task, { seconds: 120 });
      const changes = world.changes().map((change) => change.split(" ")[0]);
      expect(changes.filter((change) => change !== "heartbeat" && change !== "complete")).toEqual([]);
      for (const seed of [1, 2, 3]) expect((await runSeed(seed)).violations).toEqual([]);
    },
  },
  {
    rule: "I10",
    shows: "beats are at most 0.75 of the time-out apart, and there are none after the end",
    holds: async () => {
      const { world } = await blockedToTheEnd();
      const gaps = world.beats.slice(1).map((at, index) => at - (world.beats[index] ?? 0));
      expect(Math.max(...gaps)).toBeLessThanOrEqual(0.75 * 300 * SECOND);
      expect(world.beats.length).toBeGreaterThan(45);
      expect(world.changes().at(-1)).not.toContain("heartbeat");
    },
  },
  {
    rule: "I11",
    shows: "a look costs what its node has, not what the cluster has, and lists are few",
    holds: async () => {
      const cost = async (others: number): Promise<Readonly<Record<string, number>>> => {
        const world = busyNode();
        for (let index = 0; index < others; index++) {
          world.attachments.push(
            attachment(`vol-x${index}`, { name: `x${index}`, nodeName: `other-${index}` }),
          );
        }
        await run(world, task);
        return world.counts();
      };
      const small = await cost(0);
      expect(await cost(300)).toEqual(small);
      expect(small["kubernetes.listAttachmentRows"]).toBe(2);
      expect(small["kubernetes.listNodes"] ?? 0).toBe(0);
    },
  },
  {
    rule: "I12",
    shows: "undisturbed, a drain asks EC2 at most six times",
    holds: async () => {
      const world = busyNode();
      Object.assign(world, { stopsAfter: 30, unmountsAfter: 10, detachesAfter: 15 });
      await run(world, task);
      expect(world.results).toEqual(["CONTINUE"]);
      const reads = world.calls.filter(({ method }) => method.startsWith("ec2."));
      expect(reads.length).toBeLessThanOrEqual(6);
    },
  },
];
