/**
 * What goes wrong between a caller and a simulated service: refusals, lost answers, latency. Shared by the simulated cluster and
 * the simulated AWS. Operations are named as in `PortError.operation`: `ec2.describeInstance`, `kubernetes.evictPod`, ….
 */
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { FailureKind } from "../engine/errors.ts";
import { PortError } from "../engine/errors.ts";
import type { Clock, VirtualClock } from "./clock.ts";
import type { Random } from "./random.ts";

export type Fault =
  /** Nothing happens; the caller is told this. */
  | { readonly kind: "fail"; readonly failure: FailureKind }
  /** The effect happens, but the caller gets a time-out. */
  | { readonly kind: "lost-answer" };

export interface Faults {
  /** Asked once per call, when it reaches the service. */
  readonly before: (operation: string) => Fault | undefined;
  /** Milliseconds from the call to its answer. */
  readonly latency: (operation: string) => number;
}

/** Milliseconds of an undisturbed call: within a region, seen from a Lambda. */
const USUAL_LATENCY = 20;
/** Milliseconds after which a caller gives up on an answer. */
export const ANSWER_TIMEOUT = 5 * SECOND;

export const NO_FAULTS: Faults = { before: () => undefined, latency: () => USUAL_LATENCY };

/** Operations by exact name, by service with a trailing dot (`kubernetes.`), or all of them (`""`). */
export type Operations = string;

function covers(operations: Operations, operation: string): boolean {
  if (operations === "" || operations === operation) return true;
  return operations.endsWith(".") && operation.startsWith(operations);
}

export interface FaultRates {
  readonly operations: Operations;
  /** Shares of the calls, 0 to 1. */
  readonly fail?: number;
  readonly lostAnswer?: number;
  /** What a failed call is told, picked at random. Default: the passing kinds network, throttled, server. */
  readonly failures?: readonly FailureKind[];
}

interface Outage {
  readonly operations: Operations;
  readonly fault: Fault;
  readonly from: Instant;
  readonly until: Instant;
}

interface Planned {
  readonly operations: Operations;
  readonly fault: Fault;
  left: number;
}

const PASSING: readonly FailureKind[] = ["network", "throttled", "server"];

/** Random faults by seed, and planned ones: a number of calls, or a span of time. */
export class SeededFaults implements Faults {
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #rates: readonly FaultRates[];
  readonly #latency: readonly [number, number];
  readonly #outages: Outage[] = [];
  readonly #planned: Planned[] = [];
  /** Told of every call when it reaches the service, whatever becomes of it. */
  onCall: (operation: string) => void = () => undefined;

  /** `latency`: least and most milliseconds of a call. */
  constructor(
    clock: Clock,
    random: Random,
    options: { readonly rates?: readonly FaultRates[]; readonly latency?: readonly [number, number] } = {},
  ) {
    this.#clock = clock;
    this.#random = random;
    this.#rates = options.rates ?? [];
    this.#latency = options.latency ?? [USUAL_LATENCY, USUAL_LATENCY];
  }

  /** The next `times` calls of these operations meet this fault. */
  plan(operations: Operations, fault: Fault, times = 1): void {
    this.#planned.push({ operations, fault, left: times });
  }

  /** Every call of these operations in [from, until) meets this fault. */
  outage(operations: Operations, fault: Fault, from: Instant, until: Instant): void {
    this.#outages.push({ operations, fault, from, until });
  }

  readonly before = (operation: string): Fault | undefined => {
    this.onCall(operation);
    return this.#nextPlanned(operation) ?? this.#outageOf(operation) ?? this.#drawn(operation);
  };

  readonly latency = (_operation: string): number => this.#random.between(this.#latency[0], this.#latency[1]);

  #nextPlanned(operation: string): Fault | undefined {
    const planned = this.#planned.find((each) => each.left > 0 && covers(each.operations, operation));
    if (planned === undefined) return undefined;
    planned.left--;
    return planned.fault;
  }

  #outageOf(operation: string): Fault | undefined {
    const now = this.#clock.now();
    return this.#outages.find(
      (outage) => outage.from <= now && now < outage.until && covers(outage.operations, operation),
    )?.fault;
  }

  #drawn(operation: string): Fault | undefined {
    const rates = this.#rates.find((each) => covers(each.operations, operation));
    if (rates === undefined) return undefined;
    const drawn = this.#random.next();
    const fail = rates.fail ?? 0;
    if (drawn < fail) return { kind: "fail", failure: this.#random.pick(rates.failures ?? PASSING) };
    if (drawn < fail + (rates.lostAnswer ?? 0)) return { kind: "lost-answer" };
    return undefined;
  }
}

/**
 * One call of an actor to a simulated service in virtual time: the request travels, `effect` happens unless a fault forbids it,
 * the answer travels back. Rejects with a PortError; what `effect` throws is passed on as it is.
 */
export async function callThroughFaults<T>(
  clock: VirtualClock,
  faults: Faults,
  operation: string,
  effect: () => T,
): Promise<T> {
  const latency = faults.latency(operation);
  // Half the way there, half the way back: two callers may cross between the effect and the answer.
  const outcome = await clock.call(latency / 2, () => {
    const fault = faults.before(operation);
    if (fault?.kind === "fail") throw faultError(operation, fault.failure);
    return { lost: fault !== undefined, ...settle(effect) };
  });
  await clock.sleep(outcome.lost ? ANSWER_TIMEOUT : latency / 2);
  if (outcome.lost) throw new PortError("network", operation, `${operation}: no answer in time`);
  if ("thrown" in outcome) throw outcome.thrown;
  return outcome.value;
}

type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

function settle<T>(effect: () => T): Settled<T> {
  try {
    return { value: effect() };
  } catch (error) {
    return { thrown: error };
  }
}

export function faultError(operation: string, failure: FailureKind): PortError {
  return new PortError(failure, operation, `${operation}: simulated fault (${failure})`);
}
