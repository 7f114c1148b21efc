/** The instances of simulated EC2: their states, how long each change takes, and what a describe call shows of them. */
import type { InstanceState } from "../drain/machine.ts";
import { GROUP_TAG } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { Clock } from "./clock.ts";
import type { Ec2Instance, Range, StateReason } from "./ec2-records.ts";
import { USER_HIBERNATE, USER_SHUTDOWN, drawn, newId } from "./ec2-records.ts";
import { Versions } from "./ec2-versions.ts";
import type { Random } from "./random.ts";
import type { Note } from "./seams.ts";
import { Ec2Fault } from "./seams.ts";

export interface InstanceSpec {
  readonly id?: string;
  /** Tag `aws:autoscaling:groupName`. */
  readonly group?: string;
  readonly tags?: Readonly<Record<string, string>>;
  /** The DNS name follows from it; one of a terminated instance may be used again. */
  readonly privateAddress?: string;
  readonly zone?: string;
  readonly spot?: boolean;
  readonly reservation?: string;
}

export interface InstancesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly region: string;
  readonly keepVersions: number;
  readonly note: Note;
  readonly delays: {
    readonly pending: Range;
    readonly stopping: Range;
    readonly shuttingDown: Range;
    readonly visible: number;
  };
  /** The guest's memory is gone: stopped without hibernation, or terminated. Told before the state is. */
  readonly onGuestEnd: (id: string) => void;
  readonly onState: (id: string, state: InstanceState, launchTime: Instant) => void;
}

interface Machine {
  readonly versions: Versions<Ec2Instance>;
  /** Ends the transition under way. */
  cancel: () => void;
}

const ROOT_DEVICE = "/dev/xvda";

export class SimulatedInstances {
  readonly #options: InstancesOptions;
  readonly #machines = new Map<string, Machine>();
  #addresses = 0;

  constructor(options: InstancesOptions) {
    this.#options = options;
  }

  run(spec: InstanceSpec): Ec2Instance {
    const { random, region, clock, delays } = this.#options;
    const id = spec.id ?? newId("i", random);
    const privateAddress = spec.privateAddress ?? this.#nextAddress();
    this.#requireFree(privateAddress);
    this.#machines.set(id, { versions: new Versions(this.#options.keepVersions), cancel: () => undefined });
    const instance: Ec2Instance = {
      id,
      launchTime: wholeSecond(clock.now()),
      state: "pending",
      privateDnsName: `ip-${privateAddress.replaceAll(".", "-")}.${region}.compute.internal`,
      privateAddress,
      rootDevice: ROOT_DEVICE,
      zone: spec.zone ?? `${region}a`,
      tags: { ...spec.tags, ...(spec.group === undefined ? {} : { [GROUP_TAG]: spec.group }) },
      spot: spec.spot ?? false,
      reservation: spec.reservation ?? newId("r", random),
    };
    this.#put(instance);
    this.#later(id, delays.pending, () => this.#change(id, { state: "running" }));
    return instance;
  }

  terminate(id: string, reason: StateReason): void {
    const instance = this.find(id);
    if (instance.state === "shutting-down" || instance.state === "terminated") return;
    this.#change(id, { state: "shutting-down", stateReason: reason, privateDnsName: "" });
    this.#later(id, this.#options.delays.shuttingDown, () => {
      this.#options.onGuestEnd(id);
      this.#change(id, { state: "terminated" });
      this.#options.clock.after(this.#options.delays.visible, () => {
        this.#machines.get(id)?.versions.set(this.#options.clock.now(), undefined);
      });
    });
  }

  stop(id: string, hibernate: boolean, reason: StateReason | undefined): void {
    const instance = this.find(id);
    if (instance.state === "stopping" || instance.state === "stopped") return;
    requireState(instance, "running", "stopped");
    this.#change(id, {
      state: "stopping",
      stateReason: reason ?? (hibernate ? USER_HIBERNATE : USER_SHUTDOWN),
    });
    this.#later(id, this.#options.delays.stopping, () => {
      if (!hibernate) this.#options.onGuestEnd(id);
      this.#change(id, { state: "stopped" });
    });
  }

  start(id: string): void {
    const instance = this.find(id);
    if (instance.state === "pending" || instance.state === "running") return;
    requireState(instance, "stopped", "started");
    const { stateReason: _, ...rest } = instance;
    // EC2 counts whole seconds; two launches never share one.
    const launchTime = Math.max(wholeSecond(this.#options.clock.now()), instance.launchTime + SECOND);
    this.#put({ ...rest, launchTime, state: "pending" });
    this.#later(id, this.#options.delays.pending, () => this.#change(id, { state: "running" }));
  }

  get(id: string): Ec2Instance | undefined {
    return this.#machines.get(id)?.versions.current;
  }

  /** Throws Ec2Fault where EC2 does not (any longer) know it. */
  find(id: string): Ec2Instance {
    const instance = this.get(id);
    if (instance === undefined) {
      throw new Ec2Fault("InvalidInstanceID.NotFound", `The instance ID '${id}' does not exist`);
    }
    return instance;
  }

  list(asOf: Instant): readonly Ec2Instance[] {
    return [...this.#machines.values()].flatMap((machine) => machine.versions.asOf(asOf) ?? []);
  }

  #later(id: string, range: Range, run: () => void): void {
    const machine = this.#machines.get(id);
    if (machine === undefined) return;
    machine.cancel();
    machine.cancel = this.#options.clock.after(drawn(this.#options.random, range), run);
  }

  #change(id: string, change: Partial<Ec2Instance>): void {
    this.#put({ ...this.find(id), ...change });
  }

  #put(instance: Ec2Instance): void {
    this.#machines.get(instance.id)?.versions.set(this.#options.clock.now(), instance);
    this.#options.note("ec2", instance.id, instance.state);
    this.#options.onState(instance.id, instance.state, instance.launchTime);
  }

  #requireFree(address: string): void {
    for (const machine of this.#machines.values()) {
      const instance = machine.versions.current;
      if (instance?.privateAddress === address && instance.state !== "terminated") {
        throw new Ec2Fault("InvalidIPAddress.InUse", `Address ${address} is in use.`);
      }
    }
  }

  #nextAddress(): string {
    this.#addresses++;
    return `10.0.${this.#addresses >> 8}.${this.#addresses & 255}`;
  }
}

function requireState(instance: Ec2Instance, state: InstanceState, verb: string): void {
  if (instance.state === state) return;
  throw new Ec2Fault(
    "IncorrectInstanceState",
    `This instance '${instance.id}' is not in a state from which it can be ${verb}.`,
  );
}

function wholeSecond(at: Instant): Instant {
  return Math.floor(at / SECOND) * SECOND;
}
