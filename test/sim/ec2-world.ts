/** Simulated EC2 on a clock of its own, for tests of its state machine. */
import { MINUTE } from "../../lib/drain/time.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import { Ec2Fault } from "../../lib/sim/seams.ts";

/** Not a whole second: EC2 cuts LaunchTime. */
export const START = Date.parse("2026-11-02T09:30:00.700Z");

export interface Ec2World {
  readonly clock: VirtualClock;
  readonly ec2: SimulatedEc2;
  readonly pass: (milliseconds: number) => Promise<void>;
  /** Of the group workers-a, a minute old. */
  readonly runningInstance: () => Promise<string>;
}

export function ec2World(): Ec2World {
  const clock = new VirtualClock(START);
  const ec2 = new SimulatedEc2({ clock, random: new Random(1) });
  const pass = (milliseconds: number): Promise<void> => clock.advance(clock.now() + milliseconds);
  const runningInstance = async (): Promise<string> => {
    const id = ec2.runInstance({ group: "workers-a" });
    await pass(MINUTE);
    return id;
  };
  return { clock, ec2, pass, runningInstance };
}

/** The code of the fault that this ends in, or `none`. */
export function faultOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Ec2Fault) return error.code;
    throw error;
  }
  return "none";
}
