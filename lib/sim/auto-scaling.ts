/**
 * Simulated Auto Scaling: groups whose instances wait in lifecycle hooks (`auto-scaling-actions.ts`) on their way out of service
 * (`auto-scaling-transitions.ts`). Errors are Ec2Faults with the service's own codes and texts.
 */
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type {
  ActionName,
  HookSpec,
  LifecycleAction,
  LifecycleRecord,
  LifecycleResult,
} from "./auto-scaling-actions.ts";
import type { GroupDescription, GroupMember, GroupSpec } from "./auto-scaling-members.ts";
import { GroupMembers } from "./auto-scaling-members.ts";
import type { AutoScalingDelays } from "./auto-scaling-transitions.ts";
import { Transitions } from "./auto-scaling-transitions.ts";
import type { Clock } from "./clock.ts";
import type { InstanceSpec } from "./ec2-instances.ts";
import type { Range } from "./ec2-records.ts";
import { drawn } from "./ec2-records.ts";
import type { SimulatedEc2 } from "./ec2.ts";
import type { Random } from "./random.ts";
import type { Note } from "./seams.ts";
import { Ec2Fault } from "./seams.ts";

export const AUTO_SCALING_DELAYS: AutoScalingDelays = {
  transition: [1 * SECOND, 5 * SECOND],
  healthCheck: [15 * SECOND, 90 * SECOND],
  replaceRootVolume: [20 * SECOND, 60 * SECOND],
};

export interface AutoScalingOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly ec2: SimulatedEc2;
  readonly note?: Note;
  readonly delays?: Partial<AutoScalingDelays>;
  /** Age of what describe calls answer, in milliseconds; each call draws its own. */
  readonly describeLag?: Range;
}

export class SimulatedAutoScaling {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ec2: SimulatedEc2;
  readonly #lag: Range;
  readonly #members: GroupMembers;
  readonly #transitions: Transitions;

  constructor(options: AutoScalingOptions) {
    const note = options.note ?? (() => undefined);
    this.#clock = options.clock;
    this.#random = options.random.fork();
    this.#ec2 = options.ec2;
    this.#lag = options.describeLag ?? [0, 0];
    this.#members = new GroupMembers(this.#clock, note, this.#lag[1]);
    this.#transitions = new Transitions({
      clock: this.#clock,
      random: options.random.fork(),
      ec2: this.#ec2,
      members: this.#members,
      note,
      delays: { ...AUTO_SCALING_DELAYS, ...options.delays },
      onUnhealthy: (instance) => this.#replaceDead(instance),
    });
  }

  createGroup(spec: GroupSpec): void {
    this.#members.addGroup(spec);
  }

  /** PutLifecycleHook, for the way to termination. Throws Ec2Fault ValidationError for an unknown group. */
  putHook(group: string, hook: HookSpec): void {
    this.#members.putHook(group, hook);
  }

  /** DeleteLifecycleHook. Throws Ec2Fault ValidationError. */
  deleteHook(group: string, name: string): void {
    this.#members.deleteHook(group, name);
  }

  /** A new instance of the group, Pending until EC2 runs it; its id. */
  launch(group: string, spec: Omit<InstanceSpec, "group"> = {}): string {
    const owner = this.#members.group(group);
    const instance = this.#ec2.runInstance({ ...spec, group });
    owner.desired++;
    this.#members.put({ instance, group, lifecycleState: "Pending", healthy: true });
    return instance;
  }

  /** TerminateInstanceInAutoScalingGroup: through the hooks. A no-op for one that is terminating already. */
  scaleIn(instance: string): void {
    const { group, lifecycleState } = this.#members.find(instance);
    if (this.#transitions.isTerminating(instance)) return;
    // What rests in the warm pool is not part of the desired capacity.
    if (!lifecycleState.startsWith("Warmed:")) this.#members.group(group).desired--;
    this.#transitions.begin(instance, "terminate");
  }

  /** Scale-in of a group with a warm pool and instance reuse: through the hooks, then into the pool. */
  returnToWarmPool(instance: string): void {
    this.#requireInService(instance);
    const group = this.#members.groupOf(instance);
    if (group.spec.poolState === undefined) {
      throw new Ec2Fault("ValidationError", `No warm pool found for Auto Scaling group ${group.spec.name}`);
    }
    group.desired--;
    this.#transitions.begin(instance, "warm-pool");
  }

  /** Scale-out from the warm pool: the same instance, with a new LaunchTime unless it kept running there. */
  takeFromWarmPool(instance: string): void {
    this.#members.groupOf(instance).desired++;
    const isRunning = this.#ec2.instance(instance)?.state === "running";
    this.#members.setState(instance, isRunning ? "InService" : "Pending");
    if (!isRunning) this.#ec2.startInstance(instance);
  }

  /** Instance refresh with strategy ReplaceRootVolume: through the hooks, then the same instance goes on. */
  replaceRootVolume(instance: string): void {
    this.#requireInService(instance);
    this.#transitions.begin(instance, "replace-root-volume");
  }

  /** The way out is called off: open actions end without a result and the instance, which still runs, is back in service. */
  callOff(instance: string): void {
    if (this.#ec2.instance(instance)?.state !== "running") {
      throw new Ec2Fault("ValidationError", `Instance ${instance} does not run`);
    }
    const isCounted = this.#members.find(instance).lifecycleState.startsWith("ReplacingRootVolume");
    this.#transitions.end(instance);
    if (!isCounted) this.#members.groupOf(instance).desired++;
    this.#members.setState(instance, "InService");
  }

  /** SetDesiredCapacity: launches, or scales in the oldest in service. */
  setDesiredCapacity(name: string, desired: number): void {
    const group = this.#members.group(name);
    while (group.desired < desired) this.launch(name);
    const inService = this.#members
      .list(this.#clock.now())
      .filter((member) => member.group === name && member.lifecycleState === "InService");
    for (const member of inService.slice(0, group.desired - desired)) this.scaleIn(member.instance);
  }

  /** RecordLifecycleActionHeartbeat by `by`. Throws Ec2Fault ValidationError. */
  heartbeat(name: ActionName, by: string): void {
    this.#members.group(name.group);
    this.#transitions.actions.heartbeat(name, by);
  }

  /** CompleteLifecycleAction by `by`. Throws Ec2Fault ValidationError. */
  complete(name: ActionName, result: LifecycleResult, by: string): void {
    this.#members.group(name.group);
    this.#transitions.actions.complete(name, result, by);
  }

  /** DescribeAutoScalingInstances, lag included: what is terminated is not there. */
  describeMembers(): readonly GroupMember[] {
    return this.#members.list(this.#asOf());
  }

  /** DescribeAutoScalingGroups, lag included. */
  describeGroups(): readonly GroupDescription[] {
    return this.#members.describeGroups(this.#asOf());
  }

  /** The truth about one member, without lag. */
  member(instance: string): GroupMember | undefined {
    return this.#members.get(instance);
  }

  /** Actions of any hook that are open for the instance now. */
  activeActions(instance: string): readonly LifecycleAction[] {
    return this.#transitions.actions.activeOf(instance);
  }

  /** Everything that happened to lifecycle actions: who, when, which, what came of it. */
  getHistory(): readonly LifecycleRecord[] {
    return this.#transitions.actions.history;
  }

  /** Told of each lifecycle action as it opens, other hooks' too. */
  readonly onLifecycleAction = (listener: (action: LifecycleAction) => void): void =>
    this.#transitions.onAction(listener);

  #replaceDead(instance: string): void {
    const { spec } = this.#members.groupOf(instance);
    this.scaleIn(instance);
    if (spec.replacesDead === true) this.launch(spec.name);
  }

  #requireInService(instance: string): void {
    const { lifecycleState } = this.#members.find(instance);
    if (lifecycleState === "InService") return;
    throw new Ec2Fault("ValidationError", `The instance ${instance} is in ${lifecycleState}, not InService`);
  }

  #asOf(): Instant {
    return this.#clock.now() - drawn(this.#random, this.#lag);
  }
}
