/** A simulated cluster with the simulated EC2, alone in virtual time. */
import { VirtualClock } from "../../lib/sim/clock.ts";
import type { SimulatedClusterOptions } from "../../lib/sim/cluster.ts";
import { SimulatedCluster } from "../../lib/sim/cluster.ts";
import type { Ec2Options } from "../../lib/sim/ec2.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import type { Happening } from "../../lib/sim/seams.ts";

export const START = Date.UTC(2026, 9, 1, 12);

export interface ClusterWorld {
  readonly clock: VirtualClock;
  readonly ec2: SimulatedEc2;
  readonly cluster: SimulatedCluster;
  readonly happenings: readonly Happening[];
  /** A running machine with a ready node `node-<letter>`; its instance id. */
  readonly addNode: (
    letter: string,
    spec?: Partial<Parameters<SimulatedCluster["addNode"]>[0]>,
  ) => Promise<string>;
  readonly run: (milliseconds: number) => Promise<void>;
  /** Runs until it is so; the milliseconds that took. Throws after `limit`. */
  readonly until: (what: string, isSo: () => boolean, limit?: number) => Promise<number>;
}

export function makeWorld(
  options: {
    readonly seed?: number;
    readonly cluster?: Partial<SimulatedClusterOptions>;
    readonly ec2?: Partial<Ec2Options>;
  } = {},
): ClusterWorld {
  const clock = new VirtualClock(START);
  const random = new Random(options.seed ?? 1);
  const happenings: Happening[] = [];
  const note = (lane: string, subject: string, text: string): void =>
    void happenings.push({ at: clock.now(), lane, subject, text });
  const ec2 = new SimulatedEc2({ clock, random: random.fork(), note, ...options.ec2 });
  const cluster = new SimulatedCluster({
    clock,
    random: random.fork(),
    host: ec2,
    note,
    createVolume: (zone, name) => ec2.createVolume({ zone, name }),
    ...options.cluster,
  });
  const until: ClusterWorld["until"] = async (what, isSo, limit = 600_000) => {
    const from = clock.now();
    await clock.advance(from + limit, isSo);
    if (!isSo()) throw new Error(`never: ${what}`);
    return clock.now() - from;
  };
  return {
    clock,
    ec2,
    cluster,
    happenings,
    until,
    run: (milliseconds) => clock.advance(clock.now() + milliseconds),
    addNode: async (letter, spec = {}) => {
      const instance = ec2.runInstance({ zone: spec.zone ?? "eu-west-1a" });
      cluster.addNode({ name: `node-${letter}`, instance, firstBoot: 0, ...spec });
      await until("node ready", () => cluster.nodes().some(({ name }) => name === `node-${letter}`));
      return instance;
    },
  };
}
