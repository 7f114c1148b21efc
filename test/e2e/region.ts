/**
 * The AWS region around a test's cluster: simulated EC2, Auto Scaling and EventBridge on the real clock, behind the services' own
 * wire format. What waits for an hour on that clock ends with the region.
 */
import { LIFECYCLE_HOOK } from "../../lib/drain/names.ts";
import { SimulatedAutoScaling } from "../../lib/sim/auto-scaling.ts";
import type { AutoScalingDelays } from "../../lib/sim/auto-scaling-transitions.ts";
import { startAwsHttp } from "../../lib/sim/aws-http.ts";
import { type Clock, RealClock } from "../../lib/sim/clock.ts";
import { type Ec2Delays, SimulatedEc2 } from "../../lib/sim/ec2.ts";
import { type BusEvent, SimulatedEventBridge } from "../../lib/sim/event-bridge.ts";
import { Random } from "../../lib/sim/random.ts";
import type { Happening } from "../../lib/sim/seams.ts";
import { eventually } from "./eventually.ts";

export const ACCOUNT = "111122223333";
export const REGION = "eu-west-1";
export const ZONE = `${REGION}a`;
/** Its instances are nodes of the cluster, and it has our lifecycle hook. */
export const GROUP = "workers-a";
/** Its instances are nodes of the cluster too, but it is nobody's business: no hook, and not in the settings. */
export const UNCARED_GROUP = "workers-b";
/** Of our lifecycle hook, in seconds. Half of what settings may say at least, so that a test need not wait a minute for a beat. */
export const HEARTBEAT_TIMEOUT = 60;

/** Faster than EC2, where nothing is learned by waiting; in milliseconds. */
const EC2_DELAYS: Partial<Ec2Delays> = {
  pending: [200, 400],
  stopping: [3_000, 3_000],
  shuttingDown: [1_000, 1_000],
  attach: [1_000, 1_500],
  detach: [1_000, 1_500],
};
const AUTO_SCALING_DELAYS: Partial<AutoScalingDelays> = {
  transition: [200, 500],
  // Longer than any test waits: a group that notices late is another story than the one a test tells.
  healthCheck: [600_000, 600_000],
};

/** A real clock that can be stopped: whatever still waits then never happens. */
export class StoppableClock implements Clock {
  readonly #real = new RealClock();
  readonly #pending = new Set<() => void>();
  #isStopped = false;

  readonly now = (): number => this.#real.now();

  readonly after = (milliseconds: number, run: () => void): (() => void) => {
    if (this.#isStopped) return () => undefined;
    const cancel = this.#real.after(Math.max(0, milliseconds), () => {
      this.#pending.delete(cancel);
      run();
    });
    this.#pending.add(cancel);
    return () => {
      this.#pending.delete(cancel);
      cancel();
    };
  };

  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#pending) cancel();
  }
}

export interface AttachmentChange {
  /** Unix milliseconds. */
  readonly at: number;
  /** `attaching`, `attached`, `detaching`, `busy` or `detached`, and the instance's id. */
  readonly what: string;
}

/** What becomes of the events about an instance. Held ones are delivered late, lost ones never. */
type Fate = "held" | "lost";

export class Region {
  readonly clock = new StoppableClock();
  readonly ec2: SimulatedEc2;
  readonly autoScaling: SimulatedAutoScaling;
  /** Every change in EC2 and Auto Scaling, and every event, in its order. */
  readonly happenings: Happening[] = [];
  /** Every event, delivered or not. */
  readonly events: BusEvent[] = [];
  /** The event rules' target. */
  deliver: (event: BusEvent) => void = () => undefined;
  readonly #bridge: SimulatedEventBridge;
  readonly #fates = new Map<string, Fate>();
  readonly #held: BusEvent[] = [];
  #http: Awaited<ReturnType<typeof startAwsHttp>> | undefined;

  private constructor(delays: Partial<Ec2Delays>) {
    const { clock } = this;
    const random = new Random(1);
    const note = (lane: string, subject: string, text: string): void => {
      this.happenings.push({ at: clock.now(), lane, subject, text });
    };
    const parts = { clock, random, note };
    this.ec2 = new SimulatedEc2({ ...parts, region: REGION, delays: { ...EC2_DELAYS, ...delays } });
    this.autoScaling = new SimulatedAutoScaling({ ...parts, ec2: this.ec2, delays: AUTO_SCALING_DELAYS });
    const hook = {
      name: LIFECYCLE_HOOK,
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      defaultResult: "CONTINUE",
    } as const;
    this.autoScaling.createGroup({ name: GROUP, hooks: [hook] });
    this.autoScaling.createGroup({ name: UNCARED_GROUP, hooks: [] });
    this.#bridge = new SimulatedEventBridge({
      ...parts,
      account: ACCOUNT,
      region: REGION,
      deliver: (event) => this.#arrive(event),
    });
    this.#bridge.connect(this.ec2, this.autoScaling);
  }

  static async start(delays: Partial<Ec2Delays> = {}): Promise<Region> {
    const region = new Region(delays);
    region.#http = await startAwsHttp(region);
    return region;
  }

  /** Where EC2 and Auto Scaling answer. */
  get url(): string {
    return this.#http?.url ?? "";
  }

  /** A running instance of the group; its id. */
  async launch(group: string, privateAddress?: string): Promise<string> {
    const address = privateAddress === undefined ? {} : { privateAddress };
    const instance = this.autoScaling.launch(group, { zone: ZONE, ...address });
    const isInService = () => this.autoScaling.member(instance)?.lifecycleState === "InService";
    await eventually(`${instance} is in service`, isInService);
    return instance;
  }

  /** An EBS volume as the CSI driver makes them; its id. */
  createVolume(): string {
    return this.ec2.createVolume({ zone: ZONE });
  }

  /** What EC2 did with a volume, the oldest first. */
  attachmentChanges(volumeId: string): readonly AttachmentChange[] {
    return this.happenings
      .filter(({ lane, subject }) => lane === "attachment" && subject === volumeId)
      .map(({ at, text }) => ({ at, what: text.replace(/^EC2: /, "") }));
  }

  /** From now on no event about this instance arrives. */
  loseEventsOf(instance: string): void {
    this.#fates.set(instance, "lost");
  }

  /** Events about this instance wait until `releaseEventsOf`. */
  holdEventsOf(instance: string): void {
    this.#fates.set(instance, "held");
  }

  releaseEventsOf(instance: string): void {
    this.#fates.delete(instance);
    for (const event of this.#held.splice(0)) this.#arrive(event);
  }

  /** The schedule, at another pace than its minute. The answer ends it. */
  startSweep(everySeconds: number): () => void {
    return this.#bridge.startSweep(everySeconds * 1_000);
  }

  async close(): Promise<void> {
    this.clock.stop();
    await this.#http?.close();
  }

  #arrive(event: BusEvent): void {
    this.events.push(event);
    switch (this.#fates.get(instanceOf(event))) {
      case "lost":
        break;
      case "held":
        this.#held.push(event);
        break;
      case undefined:
        this.deliver(event);
        break;
    }
  }
}

/** Empty where an event is about no instance. */
export function instanceOf({ detail }: BusEvent): string {
  const id = detail["EC2InstanceId"] ?? detail["instance-id"];
  return typeof id === "string" ? id : "";
}
