/** A real node whose kubelet delays shutdowns, and whose power goes off when the kubelet lets it. */
import { onTestFailed, onTestFinished } from "vitest";
import type { ApiObject, Condition, Node } from "../api-objects.ts";
import { driversOf } from "../cluster-looks.ts";
import { createAll } from "../create-all.ts";
import { eventually } from "../eventually.ts";
import { attachmentName, ebsDriver } from "../pod-volumes.ts";
import { GROUP, ZONE } from "../region.ts";
import { statefulSet } from "../workloads.ts";
import { csiNodePods } from "./csi-node-pods.ts";
import { NodeTimeline, seconds } from "./node-timeline.ts";
import { type RealNode, startRealNode } from "./real-node.ts";
import type { ShutdownBudget, ShutdownStage } from "./shutdown-stage.ts";
import { STAND_IN_IMAGE } from "./stand-in-image.ts";
import { SYSTEM_BUS_ADDRESS, SystemBus } from "./system-bus.ts";
import { timelineFile } from "./timeline-file.ts";

interface Parts {
  readonly stage: ShutdownStage;
  readonly node: RealNode;
  readonly bus: SystemBus;
  readonly timeline: NodeTimeline;
  readonly budget: ShutdownBudget;
}

/** What a container of the driver's node pod logs. */
type DriverContainer = "ebs-plugin" | "node-driver-registrar" | "ebs-drain-hook";

export class ShutdownMachine {
  /** Of its Node. */
  readonly name: string;
  readonly timeline: NodeTimeline;
  /** Of the scenario; Unix milliseconds. */
  since = Date.now();
  readonly #parts: Parts;
  #driverPod = "";
  #ending: Promise<void> | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.name = parts.node.name;
    this.timeline = parts.timeline;
  }

  static async boot(stage: ShutdownStage, budget: ShutdownBudget): Promise<ShutdownMachine> {
    const { controlPlane, region, install } = stage;
    const instance = await region.launch(GROUP);
    const node = await startRealNode(controlPlane, {
      name: region.ec2.instance(instance)?.privateDnsName ?? "",
      instanceId: instance,
      zone: ZONE,
      images: stage.images(),
      kubeletEnvironment: { DBUS_SYSTEM_BUS_ADDRESS: SYSTEM_BUS_ADDRESS },
    });
    try {
      const bus = await SystemBus.start(node);
      const timeline = await NodeTimeline.start(controlPlane, region, node);
      timeline.follow("logind", bus.logFile);
      await install.apply([csiNodePods(node, { version: node.name })]);
      const machine = new ShutdownMachine({ stage, node, bus, timeline, budget });
      await machine.restartKubelet();
      return machine;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  /** With one that delays shutdowns: a kubelet looks for the bus at its start only. Returns when pods may come. */
  async restartKubelet(): Promise<void> {
    const { node, stage, budget } = this.#parts;
    const restarted = this.timeline.note("the kubelet is restarted");
    await node.stopKubelet();
    await node.startKubelet({
      shutdownGracePeriod: `${budget.all}s`,
      shutdownGracePeriodCriticalPods: `${budget.critical}s`,
    });
    await this.when("logind", /kubelet delays shutdowns/u, restarted);
    this.#driverPod = await readyDriverPod(stage, this.name);
    await eventually("the node has no taints", async () => (await this.#node())?.spec.taints === undefined);
  }

  /** Runs a database with a volume on this machine, and then wherever there is room; the volume's id. */
  async runDatabase(name: string, stopSeconds: number): Promise<string> {
    const { stage } = this.#parts;
    const volumeId = stage.region.createVolume();
    const container = {
      name: "database",
      image: STAND_IN_IMAGE,
      imagePullPolicy: "Never",
      command: ["/bin/database", `-stop=${stopSeconds}s`],
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    };
    const affinity = { nodeAffinity: preferring(this.name) };
    const behaviour = { graceSeconds: 120, affinity, containers: [container] };
    this.since = Date.now();
    await createAll(stage.controlPlane.api, statefulSet({ name, volumeIds: [volumeId], ...behaviour }));
    await this.when("api", new RegExp(`^pod ${name}-0: Running on ${this.name}`, "u"));
    return volumeId;
  }

  /**
   * The machine is asked to go. It is right after a report of the node's status, so that the next one is ten seconds away and comes
   * later than a short stop of the pods.
   */
  async powerOff(scenario: string): Promise<void> {
    await this.#announce(scenario);
    this.#ending = this.#endWithKubelet();
  }

  /** The same, and a moment later it is called off. */
  async powerOffAndStay(scenario: string): Promise<void> {
    await this.#announce(scenario);
    await this.when("api", /^node's Ready: False node is shutting down/u);
    this.timeline.note("the shutdown is called off");
    await this.#parts.bus.callOff();
  }

  /** When the power went off; all of it is gone then. */
  async off(): Promise<number> {
    await this.#ending;
    return this.when("logind", /^power off/u);
  }

  /** When it happened first since the scenario began; waits for it. Unix milliseconds. */
  when(source: string | RegExp, text: RegExp, since = this.since): Promise<number> {
    return this.timeline.when(source, text, since);
  }

  /** The same, of the driver's node pod that was there when the shutdown began. */
  driverSaid(container: DriverContainer, text: RegExp): Promise<number> {
    return this.when(`${this.#driverPod}/${container}`, text);
  }

  /** Undefined where it never happened. */
  findDriverSaying(container: DriverContainer, text: RegExp): number | undefined {
    return this.timeline.find(`${this.#driverPod}/${container}`, text, this.since)?.at;
  }

  /** How the machine let go of the volume, with the hook: when each step was seen. */
  async release(volumeId: string) {
    const unmounted = await this.driverSaid("ebs-plugin", unstaged(volumeId));
    const empty = await this.when("api", /^volumesInUse: none/u, unmounted);
    // It has read itself what it says there.
    const answered = await this.driverSaid("ebs-drain-hook", /^answer .*no volume is in use any more/u);
    const driverEnds = await this.driverSaid("ebs-plugin", /got terminated/u);
    return { unmounted, empty, answered, driverEnds };
  }

  /** What the API shows of the volume's attachment to this machine. */
  attachment(volumeId: string, state: string): RegExp {
    const name = attachmentName({ driver: ebsDriver, handle: volumeId }, this.name).slice(0, 12);
    return new RegExp(`^attachment ${name}: ${state}`, "u");
  }

  /** The Node's `volumesInUse`, as the API has it now. */
  async volumesInUse(): Promise<readonly string[]> {
    return (await this.#node())?.status?.volumesInUse ?? [];
  }

  /** Writes the scenario's timeline, and prints its moments in seconds since the shutdown was announced. */
  async report(scenario: string, moments: Readonly<Record<string, number | undefined>>): Promise<void> {
    await this.timeline.write(timelineFile(scenario), this.since);
    const told = Object.entries(moments).map(([what, at]) => {
      return `${what} ${at === undefined ? "never" : seconds(at - this.since)}`;
    });
    console.log(`${scenario}: ${told.join(", ")}`);
  }

  /** Ends what is left of it. */
  async close(): Promise<void> {
    await this.timeline.stop();
    if (this.#ending === undefined) await this.#parts.node.stop();
    else await this.#ending;
  }

  async #announce(scenario: string): Promise<void> {
    const before = heartbeatOf(await this.#node());
    await eventually("the node's status is reported", async () => {
      return heartbeatOf(await this.#node()) !== before;
    });
    this.since = this.timeline.note("the machine is asked to power off");
    const { since, timeline } = this;
    onTestFinished(() => timeline.write(timelineFile(scenario), since));
    onTestFailed(() => console.log(timeline.text(since)));
    await this.#parts.bus.powerOff();
  }

  /** The kubelet dies with its lock; a moment later the rest does. */
  async #endWithKubelet(): Promise<void> {
    const { node, stage } = this.#parts;
    await this.when("logind", /^power off/u);
    stage.region.ec2.stopInstance(node.instanceId);
    await node.stop();
  }

  #node(): Promise<Node | undefined> {
    return this.#parts.stage.controlPlane.api.get<Node>(`/api/v1/nodes/${this.name}`);
  }
}

/** What the driver says when it has unmounted the volume from the machine. */
export function unstaged(volumeId: string): RegExp {
  return new RegExp(`NodeUnstageVolume ${volumeId}: .*error: <nil>`, "u");
}

function heartbeatOf(node: Node | undefined): string | undefined {
  return node?.status?.conditions?.find(({ type }) => type === "Ready")?.lastHeartbeatTime;
}

function preferring(node: string) {
  const expression = { key: "kubernetes.io/hostname", operator: "In", values: [node] };
  const preference = { matchExpressions: [expression] };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] };
}

interface DriverPod extends ApiObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The name of the driver's node pod there, once it is ready and the driver registered. */
async function readyDriverPod({ controlPlane: { api } }: ShutdownStage, node: string): Promise<string> {
  const label = encodeURIComponent("app=ebs-csi-node");
  const field = encodeURIComponent(`spec.nodeName=${node}`);
  const pods = `/api/v1/namespaces/kube-system/pods?labelSelector=${label}&fieldSelector=${field}`;
  const isReady = ({ status }: DriverPod) =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
  const pod = await eventually("the driver's node pod is ready", async () => {
    return (await api.list<DriverPod>(pods)).items.find((each) => isReady(each));
  });
  await eventually("the driver is registered", async () => {
    return (await driversOf(api, node)).some(({ name }) => name === ebsDriver);
  });
  return pod.metadata.name;
}
