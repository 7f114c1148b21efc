/** A simulated Auto Scaling group in virtual time, and what its tests ask of it. */
import { MINUTE } from "../../lib/drain/time.ts";
import type { HookSpec, LifecycleAction } from "../../lib/sim/auto-scaling-actions.ts";
import type { GroupSpec } from "../../lib/sim/auto-scaling-members.ts";
import type { AutoScalingDelays } from "../../lib/sim/auto-scaling-transitions.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { Random } from "../../lib/sim/random.ts";
import { Ec2Fault } from "../../lib/sim/seams.ts";

const START = Date.parse("2026-11-02T09:30:00Z");
export const OURS: HookSpec = { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" };
export const EKS: HookSpec = {
  name: "Terminate-LC-Hook",
  heartbeatTimeout: 1_800,
  defaultResult: "CONTINUE",
};

export class AutoScalingWorld {
  readonly clock = new VirtualClock(START);
  readonly ec2 = new SimulatedEc2({ clock: this.clock, random: new Random(1) });
  readonly autoScaling: SimulatedAutoScaling;

  constructor(delays: Partial<AutoScalingDelays> = {}) {
    this.autoScaling = new SimulatedAutoScaling({
      clock: this.clock,
      random: new Random(2),
      ec2: this.ec2,
      delays,
    });
  }

  readonly pass = (milliseconds: number): Promise<void> =>
    this.clock.advance(this.clock.now() + milliseconds);

  readonly stateOf = (instance: string): string | undefined =>
    this.autoScaling.member(instance)?.lifecycleState;

  /** A member of workers-a in service; its id. */
  readonly inService = async (spec: Partial<GroupSpec> = {}): Promise<string> => {
    this.autoScaling.createGroup({ name: "workers-a", hooks: [OURS], ...spec });
    const instance = this.autoScaling.launch("workers-a");
    await this.pass(MINUTE);
    return instance;
  };

  readonly actionOf = (instance: string, hook = "ebs-drain"): LifecycleAction => {
    const action = this.autoScaling.activeActions(instance).find((each) => each.hook.name === hook);
    if (action === undefined) throw new Error(`no active action of ${hook}`);
    return action;
  };
}

export function byToken(action: LifecycleAction): { group: string; hook: string; token: string } {
  return { group: action.group, hook: action.hook.name, token: action.token };
}

/** The service's code and text, or "none". */
export function messageOf(work: () => void): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Ec2Fault) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "none";
}
