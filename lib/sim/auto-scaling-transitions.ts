/**
 * The ways out of service: to termination, back to the warm pool, to another root volume. Each goes through the group's hooks. What
 * AWS does not document is decided towards the harder case, and the comment says so.
 */
import type { InstanceState } from "../drain/machine.ts";
import type { LifecycleAction, LifecycleResult } from "./auto-scaling-actions.ts";
import { LifecycleActions } from "./auto-scaling-actions.ts";
import type { GroupMembers } from "./auto-scaling-members.ts";
import type { Clock } from "./clock.ts";
import type { Range } from "./ec2-records.ts";
import { drawn } from "./ec2-records.ts";
import type { SimulatedEc2 } from "./ec2.ts";
import type { Random } from "./random.ts";
import type { Note } from "./seams.ts";

/** Milliseconds. */
export interface AutoScalingDelays {
  /** From one lifecycle state to the next. */
  readonly transition: Range;
  /** Until the group notices that an instance is dead. */
  readonly healthCheck: Range;
  readonly replaceRootVolume: Range;
}

export interface TransitionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly ec2: SimulatedEc2;
  readonly members: GroupMembers;
  readonly note: Note;
  readonly delays: AutoScalingDelays;
  /** An instance died of somebody else's doing, and the group has noticed. */
  readonly onUnhealthy: (instance: string) => void;
}

type Way =
  | { readonly kind: "terminate"; readonly prefix: "" | "Warmed:" }
  | { readonly kind: "warm-pool" }
  | { readonly kind: "replace-root-volume" };

export class Transitions {
  readonly actions: LifecycleActions;
  readonly #options: TransitionsOptions;
  readonly #ways = new Map<string, Way>();
  readonly #timers = new Map<string, () => void>();
  readonly #listeners: ((action: LifecycleAction) => void)[] = [];
  /** Dead instances whose group has not noticed yet. */
  readonly #unnoticed = new Set<string>();

  constructor(options: TransitionsOptions) {
    this.#options = options;
    this.actions = new LifecycleActions(options.clock, options.random.fork(), (action, result) =>
      this.#onResult(action, result),
    );
    options.ec2.onStateChange((instance, state) => this.#onInstanceState(instance, state));
  }

  onAction(listener: (action: LifecycleAction) => void): void {
    this.#listeners.push(listener);
  }

  isTerminating(instance: string): boolean {
    return this.#ways.get(instance)?.kind === "terminate";
  }

  /** Begins a way; one under way ends, and its actions with it. */
  begin(instance: string, kind: Way["kind"]): void {
    const { lifecycleState } = this.#options.members.find(instance);
    const way: Way =
      kind === "terminate"
        ? { kind, prefix: lifecycleState.startsWith("Warmed:") ? "Warmed:" : "" }
        : { kind };
    const state = firstState(way);
    this.actions.endAll(instance);
    this.#ways.set(instance, way);
    this.#options.members.setState(instance, state);
    this.#later(instance, this.#options.delays.transition, () => this.#wait(instance, way, state));
  }

  /** Ends the way under way without a result. */
  end(instance: string): void {
    this.#timers.get(instance)?.();
    this.#ways.delete(instance);
    this.actions.endAll(instance);
  }

  #wait(instance: string, way: Way, state: string): void {
    const { spec } = this.#options.members.groupOf(instance);
    if (spec.hooks.length === 0) return this.#proceed(instance, "CONTINUE");
    this.#options.members.setState(instance, `${state}:Wait`);
    const opened = spec.hooks.map((hook) =>
      this.actions.open({
        group: spec.name,
        hook,
        instance,
        origin: way.kind === "terminate" && way.prefix === "Warmed:" ? "WarmPool" : "AutoScalingGroup",
        destination: destinationOf(way),
        replacesRootVolume: way.kind === "replace-root-volume",
      }),
    );
    for (const action of opened) for (const listener of this.#listeners) listener(action);
  }

  /** ABANDON stops the other hooks; CONTINUE waits for them. */
  #onResult(action: LifecycleAction, result: LifecycleResult): void {
    this.#options.note("group", action.instance, `${action.hook.name}: ${result}`);
    if (result === "ABANDON") this.actions.endAll(action.instance);
    if (this.actions.activeOf(action.instance).length === 0) this.#proceed(action.instance, result);
  }

  #proceed(instance: string, result: LifecycleResult): void {
    const { members, delays } = this.#options;
    const way = this.#ways.get(instance);
    if (way === undefined) return;
    if (way.kind === "terminate") return this.#terminate(instance, way.prefix, result);
    // Undocumented: what ABANDON does on these ways. An instance that could not be made ready is given up.
    if (result === "ABANDON") return this.#terminate(instance, "", "CONTINUE");
    members.setState(instance, `${firstState(way)}:Proceed`);
    if (way.kind === "warm-pool") {
      this.#later(instance, delays.transition, () => this.#rest(instance));
    } else {
      this.#later(instance, delays.replaceRootVolume, () => this.#replaceRootVolume(instance));
    }
  }

  #terminate(instance: string, prefix: "" | "Warmed:", result: LifecycleResult): void {
    const { members, ec2, delays } = this.#options;
    this.#ways.set(instance, { kind: "terminate", prefix });
    const retained = result === "ABANDON" && members.groupOf(instance).spec.retainOnAbandon === true;
    members.setState(instance, `${prefix}Terminating:${retained ? "Retained" : "Proceed"}`);
    if (retained) return;
    this.#later(instance, delays.transition, () => {
      const state = ec2.instance(instance)?.state;
      if (state === undefined || state === "terminated") members.remove(instance);
      else ec2.terminateInstance(instance);
    });
  }

  #rest(instance: string): void {
    const { members, ec2 } = this.#options;
    // It died on its way: there is nothing to put into the pool.
    if (ec2.instance(instance)?.state !== "running") return this.#terminate(instance, "Warmed:", "CONTINUE");
    const poolState = members.groupOf(instance).spec.poolState ?? "Stopped";
    if (poolState === "Running") this.#inWarmPool(instance);
    else ec2.stopInstance(instance, { hibernate: poolState === "Hibernated" });
  }

  #inWarmPool(instance: string): void {
    const { members } = this.#options;
    this.#ways.delete(instance);
    members.setState(instance, `Warmed:${members.groupOf(instance).spec.poolState ?? "Stopped"}`);
  }

  #replaceRootVolume(instance: string): void {
    const { members, ec2, delays } = this.#options;
    if (ec2.instance(instance)?.state !== "running") return this.#terminate(instance, "", "CONTINUE");
    ec2.replaceRootVolume(instance);
    members.setState(instance, "RootVolumeReplaced");
    this.#later(instance, delays.transition, () => {
      this.#ways.delete(instance);
      members.setState(instance, "InService");
    });
  }

  #onInstanceState(instance: string, state: InstanceState): void {
    const { members, delays } = this.#options;
    const member = members.get(instance);
    if (member === undefined) return;
    const now = member.lifecycleState;
    if (state === "running" && now === "Pending") {
      members.setState(instance, "InService");
    } else if (now === "Warmed:Pending:Proceed" && (state === "stopping" || state === "stopped")) {
      if (state === "stopped") this.#inWarmPool(instance);
    } else if (state === "terminated" && now.endsWith("Terminating:Proceed")) {
      this.#later(instance, delays.transition, () => members.remove(instance));
    } else if (isDying(state) && !this.isTerminating(instance) && !this.#unnoticed.has(instance)) {
      // Somebody else's doing: the group notices later and then runs its hooks on a dead instance.
      this.#unnoticed.add(instance);
      this.#later(instance, delays.healthCheck, () => this.#checkHealth(instance));
    }
  }

  #checkHealth(instance: string): void {
    const { members, ec2, onUnhealthy } = this.#options;
    this.#unnoticed.delete(instance);
    const member = members.get(instance);
    const state = ec2.instance(instance)?.state;
    if (member === undefined || (state !== undefined && !isDying(state))) return;
    members.put({ ...member, healthy: false });
    onUnhealthy(instance);
  }

  #later(instance: string, range: Range, run: () => void): void {
    this.#timers.get(instance)?.();
    this.#timers.set(instance, this.#options.clock.after(drawn(this.#options.random, range), run));
  }
}

function firstState(way: Way): string {
  switch (way.kind) {
    case "terminate":
      return `${way.prefix}Terminating`;
    case "warm-pool":
      return "Warmed:Pending";
    case "replace-root-volume":
      return "ReplacingRootVolume";
    default:
      return way satisfies never;
  }
}

function destinationOf(way: Way): LifecycleAction["destination"] {
  switch (way.kind) {
    case "terminate":
      return "EC2";
    case "warm-pool":
      return "WarmPool";
    case "replace-root-volume":
      return "AutoScalingGroup";
    default:
      return way satisfies never;
  }
}

function isDying(state: InstanceState): boolean {
  return state !== "pending" && state !== "running";
}
