/** One way in which a real node, or its CSI node pod, goes away, with a database on it that has a volume. */
import { onTestFailed, onTestFinished } from "vitest";
import { createAll, object } from "../create-all.ts";
import { eventually } from "../eventually.ts";
import { attachmentName, ebsDriver } from "../pod-volumes.ts";
import { statefulSet } from "../workloads.ts";
import { type CsiPod, type NodeStage, runtimeId } from "./node-stage.ts";
import { seconds } from "./node-timeline.ts";
import { STAND_IN_IMAGE } from "./stand-in-image.ts";
import { timelineFile } from "./timeline-file.ts";

export class NodeScenario {
  readonly stage: NodeStage;
  /** Of the namespace. */
  readonly name: string;
  readonly volumeId: string;
  /** Unix milliseconds: of `begin` or `goAway`. */
  since = Date.now();
  readonly #file: string;

  private constructor(stage: NodeStage, name: string) {
    this.stage = stage;
    this.name = name;
    this.volumeId = stage.stage.region.createVolume();
    this.#file = timelineFile(name);
  }

  /**
   * A database runs on the real node. The timeline is written at the test's end, whatever that is.
   * @param stopSeconds what the database needs to stop
   */
  static async create(stage: NodeStage, name: string, stopSeconds = 0): Promise<NodeScenario> {
    const scenario = new NodeScenario(stage, name);
    onTestFinished(() => scenario.#end());
    onTestFailed(() => console.log(stage.timeline.text(scenario.since)));
    await scenario.#runDatabase(stopSeconds);
    return scenario;
  }

  /** The volume's attachment to the real node. */
  get attachment(): RegExp {
    const volume = { driver: ebsDriver, handle: this.volumeId };
    const name = attachmentName(volume, this.stage.node.name).slice(0, 12);
    return new RegExp(`^attachment ${name}: gone`, "u");
  }

  /** EC2's word that the real node's machine has the volume no more. */
  get detached(): RegExp {
    return new RegExp(`^${this.volumeId} EC2: detached ${this.stage.machine.instance}`, "u");
  }

  /** As a node is drained: cordoned, then the database's pod and the driver's deleted at the same moment. */
  async goAway(): Promise<string> {
    const { stage } = this;
    const { api } = stage.stage;
    const { metadata } = await stage.csiPod();
    await stage.cordon();
    this.begin("cordoned; deleting the pods of database and driver");
    await Promise.all([
      api.delete(`/api/v1/namespaces/${this.name}/pods/db-0`),
      api.delete(`/api/v1/namespaces/kube-system/pods/${metadata.name}`),
    ]);
    return metadata.name;
  }

  /** From now on the scenario's time counts. */
  begin(what: string): void {
    this.since = this.stage.timeline.note(what);
  }

  /** When it happened first after the scenario's beginning, or a later moment; waits for it. Unix milliseconds. */
  when(source: string | RegExp, text: RegExp, since = this.since): Promise<number> {
    return this.stage.timeline.when(source, text, since);
  }

  /** Whether its pod still runs as it did at the beginning. */
  async isDatabaseUndisturbed(): Promise<boolean> {
    const pod = await this.stage.stage.api.get<CsiPod>(`/api/v1/namespaces/${this.name}/pods/db-0`);
    const { deletionTimestamp } = pod?.metadata ?? {};
    return deletionTimestamp === undefined && pod?.status?.containerStatuses?.[0]?.restartCount === 0;
  }

  /** `since` is zero; in seconds, for the log and the documentation. */
  report(moments: Readonly<Record<string, number | undefined>>): void {
    const told = Object.entries(moments).map(([what, at]) => {
      return `${what} ${at === undefined ? "never" : seconds(at - this.since)}`;
    });
    console.log(`${this.name}: ${told.join(", ")}`);
  }

  async #runDatabase(stopSeconds: number): Promise<void> {
    const { stage, name } = this;
    const { api } = stage.stage;
    await createAll(api, [object("Namespace", { metadata: { name } })]);
    await eventually("the namespace has its account", () =>
      api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`),
    );
    const container = {
      name: "db",
      image: STAND_IN_IMAGE,
      imagePullPolicy: "Never",
      command: ["/bin/database", `-stop=${stopSeconds}s`],
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    };
    const nodes = {
      matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [stage.node.name] }],
    };
    const preferred = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: nodes }],
    };
    await createAll(
      api,
      statefulSet({
        name: "db",
        namespace: name,
        volumeIds: [this.volumeId],
        graceSeconds: 120,
        affinity: { nodeAffinity: preferred },
        containers: [container],
      }),
    );
    await this.stage.timeline.when("mount", new RegExp(`^${this.volumeId} published`, "u"), this.since);
    await this.stage.timeline.when(
      "api",
      new RegExp(`^pod db-0: Running on ${stage.node.name}`, "u"),
      this.since,
    );
  }

  /** Leaves the real node as it was, and the timeline in its file. */
  async #end(): Promise<void> {
    const { stage, name, volumeId } = this;
    const { api } = stage.stage;
    await stage.timeline.write(this.#file, this.since - 2_000);
    await api.delete(`/apis/apps/v1/namespaces/${name}/statefulsets/db`, { propagationPolicy: "Orphan" });
    await stage.uncordon();
    await api.delete(`/api/v1/namespaces/${name}/pods/db-0`);
    // Whatever it still has to do: nobody waits for it.
    for (const container of await stage.containersOf("db-0", name)) {
      const id = runtimeId(container);
      if (id !== undefined && container.state?.running) await stage.node.runtime.kill(id);
    }
    await eventually(`no attachment of ${volumeId} is left`, async () => {
      const { items } = await api.list<{
        readonly spec: { readonly source: { readonly persistentVolumeName?: string } };
      }>("/apis/storage.k8s.io/v1/volumeattachments");
      return !items.some(({ spec }) => spec.source.persistentVolumeName === `pv-${volumeId}`);
    });
  }
}
