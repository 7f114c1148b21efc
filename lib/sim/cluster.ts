/**
 * The simulated cluster: an API server, kube-controller-manager's controllers, the scheduler, the cloud controller, the EBS CSI
 * driver's controller and one kubelet per machine, in the time of a `Clock` and with the machines of a `MachineHost`.
 */
import type { AttachmentView, NodeView, PodView } from "../drain/cluster.ts";
import { ApiServer } from "./api-server.ts";
import { AttachDetach } from "./attach-detach.ts";
import { startAttacher } from "./attacher.ts";
import { AttacherLeader } from "./cluster-attacher-leader.ts";
import { startCloudController, startOwnerCollector, startPodCollector } from "./cluster-collectors.ts";
import type { ClusterContext, ClusterTiming } from "./cluster-context.ts";
import { USUAL_TIMING } from "./cluster-context.ts";
import type { CsiPodStopping } from "./cluster-csi-pod.ts";
import type { ShutdownBudget } from "./cluster-node-shutdown.ts";
import { startProvisioner } from "./cluster-provisioner.ts";
import { startStaticPods } from "./cluster-static-pods.ts";
import { startTaintEviction } from "./cluster-taint-eviction.ts";
import { attachmentViewOf, nodeViewOf, podViewOf } from "./cluster-views.ts";
import { Gate } from "./cluster-work-queue.ts";
import type { Clock } from "./clock.ts";
import type { Faults } from "./faults.ts";
import { NO_FAULTS } from "./faults.ts";
import { Kubelet } from "./kubelet.ts";
import { NodeLifecycle } from "./node-lifecycle.ts";
import type { Random } from "./random.ts";
import { startScheduler } from "./scheduler.ts";
import type { MachineHost, Note } from "./seams.ts";
import { startWorkloadControllers } from "./workload-controllers.ts";

export interface SimulatedClusterOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly host: MachineHost;
  readonly note?: Note;
  /** What the CSI controller's own requests to EC2 meet: `csi.attachVolume`, `csi.detachVolume`. */
  readonly faults?: Faults;
  readonly timing?: Partial<ClusterTiming>;
  /** Makes an EBS volume in the zone; its id. Needed by scenes that name no volumes of their own. */
  readonly createVolume?: (zone: string, name: string) => string;
  /** The hook in the CSI node pods; without it they stop at once and the driver is deregistered. */
  readonly onCsiPodStopping?: (stopping: CsiPodStopping) => void;
  /** A guest has powered off after its graceful node shutdown. */
  readonly onPoweredOff?: (instance: string) => void;
}

export interface NodeSpec {
  readonly name: string;
  readonly instance: string;
  /** Default: `eu-west-1a`. */
  readonly zone?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly otherDrivers?: Readonly<Record<string, string>>;
  /** Graceful node shutdown, in milliseconds. */
  readonly shutdown?: ShutdownBudget;
  /** Milliseconds from power-on to the kubelet's first start. Default: at once where the machine runs already. */
  readonly firstBoot?: number;
}

export class SimulatedCluster {
  readonly api: ApiServer;
  readonly context: ClusterContext;
  readonly attachDetach: AttachDetach;
  readonly #options: SimulatedClusterOptions;
  readonly #lifecycle: NodeLifecycle;
  readonly #leader: AttacherLeader;
  /** By instance. */
  readonly #kubelets = new Map<string, Kubelet>();
  #isReachable = true;

  constructor(options: SimulatedClusterOptions) {
    const { clock, host } = options;
    const random = options.random.fork();
    this.#options = options;
    this.api = new ApiServer(clock, options.random.fork());
    this.context = {
      clock,
      random,
      host,
      api: this.api,
      note: options.note ?? (() => undefined),
      timing: { ...USUAL_TIMING, ...options.timing },
      faults: options.faults ?? NO_FAULTS,
      controllerManager: new Gate(this.api.gate),
    };
    this.attachDetach = new AttachDetach(this.context);
    this.#lifecycle = new NodeLifecycle(this.context);
    this.#leader = new AttacherLeader(this.context);
    startAttacher(this.context, this.#leader.gate);
    startScheduler(this.context);
    this.#startControllers();
    host.onStateChange((instance, state) => this.#kubelets.get(instance)?.machineChanged(state));
  }

  #startControllers(): void {
    const { api, timing } = this.context;
    startWorkloadControllers(this.context);
    startTaintEviction(this.context);
    startPodCollector(this.context);
    startOwnerCollector(this.context);
    startStaticPods(this.context, this.hasLivingKubelet);
    startProvisioner(this.context, this.#options.createVolume);
    if (timing.cloudController !== undefined) startCloudController(this.context, timing.cloudController);
    api.pods.watch((pod) => {
      if (pod.spec.nodeName !== undefined) this.kubeletOf(pod.spec.nodeName)?.observePod(pod);
    });
    api.attachments.watch(({ spec, status }) => {
      if (status.attached) this.kubeletOf(spec.nodeName)?.observeAttachment();
    });
  }

  /** A machine joins. A living one of the same name would be two kubelets under one Node: that throws. */
  addNode(spec: NodeSpec): Kubelet {
    if (this.hasLivingKubelet(spec.name)) throw new Error(`${spec.name} has a living kubelet`);
    const { onCsiPodStopping, onPoweredOff } = this.#options;
    const isRunning = this.context.host.instance(spec.instance)?.state === "running";
    const kubelet = new Kubelet(this.context, {
      zone: "eu-west-1a",
      labels: {},
      otherDrivers: {},
      ...(isRunning ? { firstBoot: 0 } : {}),
      ...spec,
      onContainersEnded: (uid) => this.#leader.containersEnded(uid),
      ...(onCsiPodStopping === undefined ? {} : { onCsiPodStopping }),
      ...(onPoweredOff === undefined ? {} : { onPoweredOff }),
    });
    this.#kubelets.set(spec.instance, kubelet);
    kubelet.boot();
    return kubelet;
  }

  /** An EBS volume for a scene that names none; its id. */
  newVolume(zone: string, name: string): string {
    const { createVolume } = this.#options;
    if (createVolume === undefined) throw new Error(`no createVolume for ${name}`);
    return createVolume(zone, name);
  }

  /** The kubelet that works under this Node's name, or did last. */
  kubeletOf(node: string): Kubelet | undefined {
    const all = [...this.#kubelets.values()].filter(({ options }) => options.name === node);
    return all.find(({ isOn }) => isOn) ?? all.at(-1);
  }

  readonly hasLivingKubelet = (node: string): boolean => this.kubeletOf(node)?.isOn ?? false;

  readonly isReachable = (): boolean => this.#isReachable;

  /** The API server is away; with `clientsOnly` the cluster itself still reaches it. */
  killApiServer(milliseconds: number, options: { readonly clientsOnly?: boolean } = {}): void {
    this.#isReachable = false;
    if (options.clientsOnly !== true) this.api.gate.close("outage");
    this.context.note("event", "API server", "away");
    this.context.clock.after(milliseconds, () => {
      this.#isReachable = true;
      this.#lifecycle.forget();
      this.api.gate.open("outage");
      this.context.note("event", "API server", "back");
    });
  }

  /** kube-controller-manager is away, and then knows only what the API says. */
  restartControllerManager(milliseconds: number): void {
    this.context.controllerManager.close("restart");
    this.context.clock.after(milliseconds, () => {
      this.attachDetach.restart();
      this.#lifecycle.forget();
      this.context.controllerManager.open("restart");
    });
  }

  nodes(): NodeView[] {
    return this.api.nodes.list().map(nodeViewOf);
  }

  pods(): PodView[] {
    return this.api.pods.list().map(podViewOf);
  }

  attachments(): AttachmentView[] {
    return this.api.attachments.list().map(attachmentViewOf);
  }

  /** EBS volumes that guests have mounted. */
  mounted(): { readonly node: string; readonly instance: string; readonly volumeId: string }[] {
    return [...this.#kubelets.values()].flatMap(({ options: { name, instance }, volumes }) =>
      volumes.mounted().map((volumeId) => ({ node: name, instance, volumeId })),
    );
  }
}
