/** Lifecycle actions of simulated Auto Scaling: open, kept alive by heartbeats, completed, or run out; with a record of all of it. */
import type { Destination } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { HOUR, SECOND } from "../drain/time.ts";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { Ec2Fault } from "./seams.ts";

export type LifecycleResult = "CONTINUE" | "ABANDON";

export interface HookSpec {
  readonly name: string;
  /** Seconds. */
  readonly heartbeatTimeout: number;
  readonly defaultResult: LifecycleResult;
  readonly metadata?: string;
  /** Of each action, instead of a drawn one: for the replay of one recorded event. */
  readonly token?: string;
}

export interface LifecycleAction {
  readonly group: string;
  readonly hook: HookSpec;
  readonly instance: string;
  readonly token: string;
  readonly origin: "AutoScalingGroup" | "WarmPool";
  readonly destination: Destination;
  readonly replacesRootVolume: boolean;
  readonly openedAt: Instant;
  /** The end that no heartbeat postpones: min(48 h, 100 × heartbeat timeout). */
  readonly limit: Instant;
}

/** CompleteLifecycleAction's and RecordLifecycleActionHeartbeat's way to name an action. */
export interface ActionName {
  readonly group: string;
  readonly hook: string;
  readonly instance?: string | undefined;
  readonly token?: string | undefined;
}

interface RecordBase {
  readonly at: Instant;
  readonly group: string;
  readonly hook: string;
  readonly instance: string | undefined;
  readonly token: string | undefined;
}

/** What happened to lifecycle actions, in order. `by` names the caller; a refused call found no active action. */
export type LifecycleRecord = RecordBase &
  (
    | { readonly kind: "opened" }
    | { readonly kind: "heartbeat"; readonly by: string; readonly outcome: "accepted" | "refused" }
    | {
        readonly kind: "complete";
        readonly by: string;
        readonly result: LifecycleResult;
        readonly outcome: "accepted" | "refused";
        readonly named: "token" | "instance";
      }
    /** No heartbeat in time, or the limit: the hook's default result. */
    | { readonly kind: "expired"; readonly result: LifecycleResult }
    /** By another hook's ABANDON, or called off by the group. */
    | { readonly kind: "ended" }
  );

interface OpenAction {
  readonly action: LifecycleAction;
  cancelExpiry: () => void;
}

const MOST_WAIT = 48 * HOUR;

export class LifecycleActions {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onResult: (action: LifecycleAction, result: LifecycleResult) => void;
  readonly #open = new Map<string, OpenAction>();
  readonly #history: LifecycleRecord[] = [];

  /** `onResult` is told of a completion, ours or anybody's, and of a default result. */
  constructor(
    clock: Clock,
    random: Random,
    onResult: (action: LifecycleAction, result: LifecycleResult) => void,
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#onResult = onResult;
  }

  get history(): readonly LifecycleRecord[] {
    return this.#history;
  }

  open(spec: Omit<LifecycleAction, "token" | "openedAt" | "limit">): LifecycleAction {
    const openedAt = this.#clock.now();
    const most = Math.min(MOST_WAIT, 100 * spec.hook.heartbeatTimeout * SECOND);
    const action = {
      ...spec,
      token: spec.hook.token ?? newToken(this.#random),
      openedAt,
      limit: openedAt + most,
    };
    const entry: OpenAction = { action, cancelExpiry: () => undefined };
    this.#open.set(action.token, entry);
    this.#history.push({ ...this.#recordOf(action), kind: "opened" });
    this.#expireLater(entry);
    return action;
  }

  activeOf(instance: string): readonly LifecycleAction[] {
    return [...this.#open.values()].map(({ action }) => action).filter((each) => each.instance === instance);
  }

  /** Throws Ec2Fault ValidationError where there is no such active action. */
  heartbeat(name: ActionName, by: string): void {
    const entry = this.#find(name);
    const record = entry === undefined ? this.#recordOfName(name) : this.#recordOf(entry.action);
    const outcome = entry === undefined ? "refused" : "accepted";
    this.#history.push({ ...record, kind: "heartbeat", by, outcome });
    if (entry === undefined) throw noActive(name);
    this.#expireLater(entry);
  }

  /** Throws Ec2Fault ValidationError where there is no such active action. */
  complete(name: ActionName, result: LifecycleResult, by: string): void {
    const entry = this.#find(name);
    const record = entry === undefined ? this.#recordOfName(name) : this.#recordOf(entry.action);
    const outcome = entry === undefined ? "refused" : "accepted";
    const named = name.token === undefined ? "instance" : "token";
    this.#history.push({ ...record, kind: "complete", by, result, outcome, named });
    if (entry === undefined) throw noActive(name);
    this.#close(entry);
    this.#onResult(entry.action, result);
  }

  /** Ends what is open for the instance without a result. */
  endAll(instance: string): void {
    for (const entry of this.#open.values()) {
      if (entry.action.instance !== instance) continue;
      this.#close(entry);
      this.#history.push({ ...this.#recordOf(entry.action), kind: "ended" });
    }
  }

  #find(name: ActionName): OpenAction | undefined {
    const named = ({ action }: OpenAction): boolean =>
      action.group === name.group &&
      action.hook.name === name.hook &&
      (name.token === undefined ? action.instance === name.instance : action.token === name.token);
    return [...this.#open.values()].find(named);
  }

  #close(entry: OpenAction): void {
    entry.cancelExpiry();
    this.#open.delete(entry.action.token);
  }

  #expireLater(entry: OpenAction): void {
    const { hook, limit } = entry.action;
    const now = this.#clock.now();
    entry.cancelExpiry();
    entry.cancelExpiry = this.#clock.after(Math.min(hook.heartbeatTimeout * SECOND, limit - now), () => {
      const result = hook.defaultResult;
      this.#close(entry);
      this.#history.push({ ...this.#recordOf(entry.action), kind: "expired", result });
      this.#onResult(entry.action, result);
    });
  }

  #recordOf(action: LifecycleAction): RecordBase {
    const { group, hook, instance, token } = action;
    return { at: this.#clock.now(), group, hook: hook.name, instance, token };
  }

  #recordOfName(name: ActionName): RecordBase {
    const { group, hook, instance, token } = name;
    return { at: this.#clock.now(), group, hook, instance, token };
  }
}

function noActive(name: ActionName): Ec2Fault {
  const which = name.token === undefined ? `instance ID ${name.instance ?? ""}` : `token ${name.token}`;
  return new Ec2Fault("ValidationError", `No active Lifecycle Action found with ${which}`);
}

/** A UUID from seeded digits. */
export function newToken(random: Random): string {
  const digits = (count: number): string =>
    Array.from({ length: count }, () => random.between(0, 15).toString(16)).join("");
  return `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
}
