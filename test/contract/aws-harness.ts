/** What a contract test of the AWS ports needs, whichever face of the simulated services answers it. */
import type { AutoScalingPort, Ec2Port } from "../../lib/engine/ports.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import type { Clock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { SeededFaults } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";

export interface AwsServices {
  readonly ec2: SimulatedEc2;
  readonly autoScaling: SimulatedAutoScaling;
  readonly faults: SeededFaults;
}

export interface AwsHarness extends AwsServices {
  readonly ports: { readonly ec2: Ec2Port; readonly autoScaling: AutoScalingPort };
  /** Runs a test's body where its time passes. */
  readonly run: (work: () => Promise<void>) => Promise<void>;
  readonly pass: (milliseconds: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Entries of one page: small, so that every list has several. */
export const PAGE_SIZE = 5;

/** Services whose every change takes a few milliseconds, because one face has a real clock. */
export function quickServices(clock: Clock): AwsServices {
  const ec2 = new SimulatedEc2({
    clock,
    random: new Random(1),
    delays: {
      pending: [1, 5],
      stopping: [1, 5],
      shuttingDown: [1, 5],
      release: [1, 5],
      attach: [1, 5],
      detach: [1, 5],
    },
  });
  const autoScaling = new SimulatedAutoScaling({
    clock,
    random: new Random(2),
    ec2,
    delays: { transition: [1, 5], healthCheck: [1, 5], replaceRootVolume: [1, 5] },
  });
  const faults = new SeededFaults(clock, new Random(3), { latency: [0, 1] });
  return { ec2, autoScaling, faults };
}

/** Waits until it is so; throws where it is not so for long. */
export async function until(harness: AwsHarness, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    if (isSo()) return;
    await harness.pass(5);
  }
  throw new Error("waited in vain");
}
