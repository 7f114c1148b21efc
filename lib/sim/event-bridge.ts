/**
 * Simulated EventBridge: what happens in simulated EC2 and Auto Scaling becomes event JSON in the services' own shapes, delivered
 * as EventBridge delivers: at some time, in any order, sometimes twice, sometimes never.
 */
import type { Instant } from "../drain/time.ts";
import { MINUTE, SECOND } from "../drain/time.ts";
import type { LifecycleAction } from "./auto-scaling-actions.ts";
import { newToken } from "./auto-scaling-actions.ts";
import type { SimulatedAutoScaling } from "./auto-scaling.ts";
import type { Clock } from "./clock.ts";
import type { Range } from "./ec2-records.ts";
import { drawn } from "./ec2-records.ts";
import type { SimulatedEc2, SpotNotice } from "./ec2.ts";
import type { Random } from "./random.ts";
import type { Note } from "./seams.ts";

export interface EventDelivery {
  /** Shares of the events, 0 to 1. */
  readonly loss: number;
  readonly duplication: number;
  readonly lateness: number;
  /** Milliseconds until delivery. */
  readonly delay: Range;
  /** The same for late events and for duplicates. */
  readonly lateDelay: Range;
}

export const RELIABLE_DELIVERY: EventDelivery = {
  loss: 0,
  duplication: 0,
  lateness: 0,
  delay: [200, 1_500],
  lateDelay: [30 * SECOND, 5 * MINUTE],
};

/** The fields every EventBridge event has. */
export interface BusEvent {
  readonly version: "0";
  readonly id: string;
  readonly "detail-type": string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface EventBridgeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly account?: string;
  readonly region?: string;
  readonly delivery?: Partial<EventDelivery>;
  /** The rules' target. */
  readonly deliver: (event: BusEvent) => void;
  readonly note?: Note;
}

type Happening = Pick<BusEvent, "source" | "detail-type" | "resources" | "detail">;

export class SimulatedEventBridge {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #account: string;
  readonly #region: string;
  readonly #delivery: EventDelivery;
  readonly #deliver: (event: BusEvent) => void;
  readonly #note: Note;

  constructor(options: EventBridgeOptions) {
    this.#clock = options.clock;
    this.#random = options.random.fork();
    this.#account = options.account ?? "111122223333";
    this.#region = options.region ?? "eu-west-1";
    this.#delivery = { ...RELIABLE_DELIVERY, ...options.delivery };
    this.#deliver = options.deliver;
    this.#note = options.note ?? (() => undefined);
  }

  /** From now on every happening of these services becomes an event. */
  connect(ec2: SimulatedEc2, autoScaling: SimulatedAutoScaling): void {
    ec2.onStateChange((instance, state) => this.#send(this.#stateChange(instance, state)));
    ec2.onSpotNotice((notice) => this.#send(spotWarning(notice)));
    autoScaling.onLifecycleAction((action) => this.#send(this.#terminateAction(action)));
  }

  /** The schedule, on time and without loss, because a schedule retries. The answer ends it. */
  startSweep(every: number = MINUTE): () => void {
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = this.#clock.after(every, () => {
        this.#deliver(this.#event(this.#schedule()));
        next();
      });
    };
    next();
    return () => cancel();
  }

  #send(happening: Happening): void {
    const event = this.#event(happening);
    if (this.#random.chance(this.#delivery.loss)) {
      this.#note("event", event.id, `lost: ${event["detail-type"]}`);
      return;
    }
    const late = this.#random.chance(this.#delivery.lateness);
    this.#deliverAfter(event, late ? this.#delivery.lateDelay : this.#delivery.delay);
    if (this.#random.chance(this.#delivery.duplication)) {
      this.#deliverAfter(event, this.#delivery.lateDelay);
    }
  }

  #deliverAfter(event: BusEvent, delay: Range): void {
    this.#clock.after(drawn(this.#random, delay), () => {
      this.#note("event", event.id, event["detail-type"]);
      this.#deliver(event);
    });
  }

  #event(happening: Happening): BusEvent {
    return {
      version: "0",
      id: newToken(this.#random),
      "detail-type": happening["detail-type"],
      source: happening.source,
      account: this.#account,
      time: this.#timeOf(this.#clock.now()),
      region: this.#region,
      resources: happening.resources,
      detail: happening.detail,
    };
  }

  /** Whole seconds, as nearly all events have it; some carry milliseconds. */
  #timeOf(at: Instant): string {
    const exact = new Date(at).toISOString();
    return this.#random.chance(0.1) ? exact : exact.replace(/\.\d{3}Z$/, "Z");
  }

  #stateChange(instance: string, state: string): Happening {
    return {
      source: "aws.ec2",
      "detail-type": "EC2 Instance State-change Notification",
      resources: [`arn:aws:ec2:${this.#region}:${this.#account}:instance/${instance}`],
      detail: { "instance-id": instance, state },
    };
  }

  #terminateAction(action: LifecycleAction): Happening {
    const arn = `arn:aws:autoscaling:${this.#region}:${this.#account}:autoScalingGroup:0b2f3c4d-1111-2222-3333-444455556666:autoScalingGroupName/${action.group}`;
    return {
      source: "aws.autoscaling",
      "detail-type": "EC2 Instance-terminate Lifecycle Action",
      resources: [arn],
      detail: {
        LifecycleActionToken: action.token,
        AutoScalingGroupName: action.group,
        LifecycleHookName: action.hook.name,
        EC2InstanceId: action.instance,
        LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING",
        ...(action.hook.metadata === undefined ? {} : { NotificationMetadata: action.hook.metadata }),
        Origin: action.origin,
        Destination: action.destination,
        ...(action.replacesRootVolume ? { Action: "ReplaceRootVolume" } : {}),
      },
    };
  }

  #schedule(): Happening {
    return {
      source: "aws.events",
      "detail-type": "Scheduled Event",
      resources: [`arn:aws:events:${this.#region}:${this.#account}:rule/ebs-drain-sweep`],
      detail: {},
    };
  }
}

/** The ARN has the zone where the region belongs: that is how EC2 writes it. */
function spotWarning(notice: SpotNotice): Happening {
  return {
    source: "aws.ec2",
    "detail-type": "EC2 Spot Instance Interruption Warning",
    resources: [`arn:aws:ec2:${notice.zone}:instance/${notice.instance}`],
    detail: { "instance-id": notice.instance, "instance-action": notice.action },
  };
}
