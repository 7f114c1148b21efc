/**
 * The embedded world: EC2, Auto Scaling, EventBridge and one EKS cluster in virtual time, with a note of all that happens. Whoever
 * composes it with the product's handlers sets `deliver`; without that, events fall on deaf ears and one sees what happens without
 * the product.
 */
import { LIFECYCLE_HOOK } from "../drain/names.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { AutoScalingPort, Ec2Port } from "../engine/ports.ts";
import type { GroupSpec } from "./auto-scaling-members.ts";
import { SimulatedAutoScaling } from "./auto-scaling.ts";
import { simulatedAwsPorts } from "./aws-ports.ts";
import { VirtualClock } from "./clock.ts";
import type { ClusterTiming } from "./cluster-context.ts";
import { type SimulatedClusterPort, simulatedClusterPort } from "./cluster-port.ts";
import { addCsiController, addCsiNodePods } from "./cluster-scene.ts";
import { SimulatedCluster } from "./cluster.ts";
import { type Ec2Delays, SimulatedEc2 } from "./ec2.ts";
import { type BusEvent, type EventDelivery, SimulatedEventBridge } from "./event-bridge.ts";
import { type FaultRates, SeededFaults } from "./faults.ts";
import { SimulatedHook } from "./hook.ts";
import type { Kubelet } from "./kubelet.ts";
import { Random } from "./random.ts";
import type { Happening } from "./seams.ts";

export const ACCOUNT = "111122223333";
export const REGION = "eu-west-1";
export const CLUSTER = "prod-1";
/** 2 November 2026, 09:30 UTC: a Monday morning. */
export const START: Instant = Date.UTC(2026, 10, 2, 9, 30);

export interface WorldOptions {
  readonly seed: number;
  /** Default: START. A replayed event has its own time. */
  readonly start?: Instant;
  readonly groups?: readonly GroupSpec[];
  /** CSI node pods carry the product's hook. */
  readonly hook?: boolean;
  readonly csiGraceSeconds?: number;
  readonly delivery?: Partial<EventDelivery>;
  readonly faults?: readonly FaultRates[];
  /** Milliseconds of an API call. */
  readonly latency?: readonly [number, number];
  readonly timing?: Partial<ClusterTiming>;
  readonly ec2Delays?: Partial<Ec2Delays>;
  /** Age of what EC2's and Auto Scaling's describe calls answer, in milliseconds. */
  readonly describeLag?: readonly [number, number];
}

/** The default group: our hook as the product's stack makes it. */
export const WORKERS: GroupSpec = {
  name: "workers-a",
  hooks: [{ name: LIFECYCLE_HOOK, heartbeatTimeout: 300, defaultResult: "CONTINUE" }],
};

export class World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly ec2: SimulatedEc2;
  readonly autoScaling: SimulatedAutoScaling;
  readonly bridge: SimulatedEventBridge;
  readonly cluster: SimulatedCluster;
  readonly faults: SeededFaults;
  readonly clusterPort: SimulatedClusterPort;
  readonly aws: { readonly ec2: Ec2Port; readonly autoScaling: AutoScalingPort };
  readonly hook: SimulatedHook | undefined;
  readonly happenings: Happening[] = [];
  /** Node names by instance, as they joined. */
  readonly #names = new Map<string, string>();
  /** The event rules' target. */
  deliver: (event: BusEvent) => void = () => undefined;

  constructor(options: WorldOptions) {
    const clock = new VirtualClock(options.start ?? START);
    const random = new Random(options.seed);
    const note = this.note;
    this.clock = clock;
    this.random = random;
    this.faults = new SeededFaults(clock, random.fork(), {
      rates: options.faults ?? [],
      latency: options.latency ?? [5, 40],
    });
    const lag = options.describeLag ?? [0, 0];
    const parts = { clock, random, note };
    this.ec2 = new SimulatedEc2({ ...parts, region: REGION, describeLag: lag, ...delaysOf(options) });
    this.autoScaling = new SimulatedAutoScaling({ ...parts, ec2: this.ec2, describeLag: lag });
    for (const group of options.groups ?? [WORKERS]) this.autoScaling.createGroup(group);
    this.bridge = new SimulatedEventBridge({
      ...parts,
      account: ACCOUNT,
      region: REGION,
      ...(options.delivery === undefined ? {} : { delivery: options.delivery }),
      deliver: (event) => this.deliver(event),
    });
    this.bridge.connect(this.ec2, this.autoScaling);
    this.hook = options.hook === true ? new SimulatedHook(this) : undefined;
    this.cluster = this.#newCluster(options);
    this.clusterPort = simulatedClusterPort(this.cluster, clock, this.faults);
    this.aws = simulatedAwsPorts(this.ec2, this.autoScaling, clock, this.faults);
    addCsiNodePods(this.cluster, {
      hook: options.hook === true,
      graceSeconds: options.csiGraceSeconds ?? 60,
    });
    addCsiController(this.cluster);
  }

  #newCluster(options: WorldOptions): SimulatedCluster {
    const { clock, random, ec2, faults, note, hook } = this;
    return new SimulatedCluster({
      clock,
      random,
      host: ec2,
      note,
      faults,
      ...(options.timing === undefined ? {} : { timing: options.timing }),
      createVolume: (zone, name) => ec2.createVolume({ zone, name }),
      ...(hook === undefined ? {} : { onCsiPodStopping: (stopping) => hook.hold(stopping) }),
    });
  }

  readonly note = (lane: string, subject: string, text: string): void => {
    this.happenings.push({ at: this.clock.now(), lane, subject, text });
  };

  /** An instance of the group that joins the cluster as soon as EC2 runs it; its kubelet. */
  launchNode(
    group: string,
    spec: { readonly zone?: string; readonly privateAddress?: string } = {},
  ): Kubelet {
    const instance = this.autoScaling.launch(group, spec);
    return this.joinNode(instance);
  }

  /** The machine's kubelet registers under its private DNS name. */
  joinNode(instance: string, name?: string): Kubelet {
    const machine = this.ec2.instance(instance);
    if (machine === undefined) throw new Error(`no instance ${instance}`);
    const nodeName = name ?? machine.privateDnsName;
    this.#names.set(instance, nodeName);
    return this.cluster.addNode({
      name: nodeName,
      instance,
      zone: machine.zone,
      firstBoot: SECOND,
    });
  }

  /** Names under which these machines' kubelets have joined. */
  namesOf(instances: readonly string[]): readonly string[] {
    return instances.flatMap((instance) => this.#names.get(instance) ?? []);
  }

  /** Runs until everything asked for stands: pods run, volumes are attached and mounted. */
  async settle(limit = 240 * SECOND): Promise<void> {
    const until = this.clock.now() + limit;
    const isSettled = (): boolean => {
      const pods = this.cluster.pods();
      return pods.length > 0 && pods.every((pod) => pod.phase === "Running" && !pod.deleting);
    };
    while (this.clock.now() < until) {
      await this.clock.advance(this.clock.now() + 5 * SECOND);
      if (isSettled()) return;
    }
  }
}

function delaysOf(options: WorldOptions): { delays?: Partial<Ec2Delays> } {
  return options.ec2Delays === undefined ? {} : { delays: options.ec2Delays };
}
