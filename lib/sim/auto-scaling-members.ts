/** The groups of simulated Auto Scaling and their instances, as kept and as described. */
import type { Instant } from "../drain/time.ts";
import type { HookSpec } from "./auto-scaling-actions.ts";
import type { Clock } from "./clock.ts";
import { Versions } from "./ec2-versions.ts";
import type { Note } from "./seams.ts";
import { Ec2Fault } from "./seams.ts";

export type PoolState = "Stopped" | "Hibernated" | "Running";

export interface GroupSpec {
  readonly name: string;
  /** Termination hooks, ours and others'. */
  readonly hooks: readonly HookSpec[];
  /** The instance lifecycle policy `TerminateHookAbandon: retain`. */
  readonly retainOnAbandon?: boolean;
  /** What instances are in while in the warm pool; absent: the group has none. */
  readonly poolState?: PoolState;
  /** Whether a dead instance gets a successor, as a real group's does; default no: the world launches what it needs. */
  readonly replacesDead?: boolean;
}

export interface GroupMember {
  readonly instance: string;
  readonly group: string;
  readonly lifecycleState: string;
  readonly healthy: boolean;
}

export interface GroupDescription {
  readonly name: string;
  readonly desired: number;
  readonly hooks: readonly HookSpec[];
  readonly poolState?: PoolState;
  readonly members: readonly GroupMember[];
}

export interface Group {
  spec: GroupSpec;
  desired: number;
}

export class GroupMembers {
  readonly #clock: Clock;
  readonly #note: Note;
  readonly #keepVersions: number;
  readonly #groups = new Map<string, Group>();
  readonly #members = new Map<string, Versions<GroupMember>>();

  constructor(clock: Clock, note: Note, keepVersions: number) {
    this.#clock = clock;
    this.#note = note;
    this.#keepVersions = keepVersions;
  }

  addGroup(spec: GroupSpec): void {
    this.#groups.set(spec.name, { spec, desired: 0 });
  }

  /** Throws Ec2Fault ValidationError for an unknown group. */
  group(name: string): Group {
    const group = this.#groups.get(name);
    if (group !== undefined) return group;
    throw new Ec2Fault(
      "ValidationError",
      `AutoScalingGroup name not found - AutoScalingGroup ${name} not found`,
    );
  }

  /** A hook of that name takes the place of what it was. Actions that are open keep what they began with. */
  putHook(group: string, hook: HookSpec): void {
    const owner = this.group(group);
    const others = owner.spec.hooks.filter(({ name }) => name !== hook.name);
    owner.spec = { ...owner.spec, hooks: [...others, hook] };
  }

  /** Throws Ec2Fault ValidationError where the group has no such hook. */
  deleteHook(group: string, name: string): void {
    const owner = this.group(group);
    const others = owner.spec.hooks.filter((hook) => hook.name !== name);
    if (others.length === owner.spec.hooks.length) {
      throw new Ec2Fault("ValidationError", `No Lifecycle Hook found with name ${name}`);
    }
    owner.spec = { ...owner.spec, hooks: others };
  }

  groupOf(instance: string): Group {
    return this.group(this.find(instance).group);
  }

  get(instance: string): GroupMember | undefined {
    return this.#members.get(instance)?.current;
  }

  /** Throws Ec2Fault ValidationError for an instance of no group. */
  find(instance: string): GroupMember {
    const member = this.get(instance);
    if (member !== undefined) return member;
    throw new Ec2Fault(
      "ValidationError",
      `Instance Id not found - No managed instance found for instance ID: ${instance}`,
    );
  }

  put(member: GroupMember): void {
    let versions = this.#members.get(member.instance);
    if (versions === undefined) {
      versions = new Versions(this.#keepVersions);
      this.#members.set(member.instance, versions);
    }
    versions.set(this.#clock.now(), member);
    this.#note("group", member.instance, member.lifecycleState);
  }

  setState(instance: string, lifecycleState: string): void {
    this.put({ ...this.find(instance), lifecycleState });
  }

  remove(instance: string): void {
    this.#members.get(instance)?.set(this.#clock.now(), undefined);
    this.#note("group", instance, "Terminated");
  }

  list(asOf: Instant): readonly GroupMember[] {
    return [...this.#members.values()].flatMap((versions) => versions.asOf(asOf) ?? []);
  }

  describeGroups(asOf: Instant): readonly GroupDescription[] {
    const members = this.list(asOf);
    return [...this.#groups.values()].map(({ spec, desired }) => ({
      name: spec.name,
      desired,
      hooks: spec.hooks,
      ...(spec.poolState === undefined ? {} : { poolState: spec.poolState }),
      members: members.filter((member) => member.group === spec.name),
    }));
  }
}
