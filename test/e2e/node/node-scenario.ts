/** One way in which a real node, or its CSI node pod, goes away, with a database on it that has a volume. */
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "vitest";
import { createAll, object } from "../create-all.ts";
import { eventually } from "../eventually.ts";
import { attachmentName, ebsDriver } from "../pod-volumes.ts";
import { stateRoot } from "../run-settings.ts";
import { statefulSet } from "../workloads.ts";
import type { NodeStage } from "./node-stage.ts";
import { seconds } from "./node-timeline.ts";
import { STAND_IN_IMAGE } from "./stand-in-image.ts";

/** The folder for the timelines; else they lie with the run's logs and go with them. */
const timelinesVariable = "EBS_DRAIN_TIMELINES";

export interface ScenarioOptions {
  /** What the database needs to stop. */
  readonly stopSeconds?: number;
}

export class NodeScenario {
  readonly stage: NodeStage;
  /** Of the namespace. */
  readonly name: string;
  readonly volumeId: string;
  /** Unix milliseconds; of the last `goAway`, or of the beginning. */
  since = Date.now();
  readonly #file: string;

  private constructor(stage: NodeStage, name: string) {
    this.stage = stage;
    this.name = name;
    this.volumeId = stage.stage.region.createVolume();
    const folder = process.env[timelinesVariable] ?? path.join(stateRoot() ?? tmpdir(), "timelines");
    this.#file = path.join(folder, `${name}.txt`);
  }

  /** A database runs on the real node. The timeline is written at the test's end, whatever that is. */
  static async create(
    stage: NodeStage,
    name: string,
    test: TestContext,
    { stopSeconds = 0 }: ScenarioOptions = {},
  ): Promise<NodeScenario> {
    const scenario = new NodeScenario(stage, name);
    test.onTestFinished(() => scenario.#end());
    test.onTestFailed(() => console.log(scenario.stage.timeline.text(scenario.since)));
    await scenario.#runDatabase(stopSeconds);
    return scenario;
  }

  /** The volume's attachment to the real node. */
  get attachment(): RegExp {
    const volume = { driver: ebsDriver, handle: this.volumeId };
    const name = attachmentName(volume, this.stage.node.name).slice(0, 12);
    return new RegExp(`^attachment ${name}: gone`, "u");
  }

  /** As a node is drained: cordoned, then the database's pod and the driver's deleted at the same moment. */
  async goAway(): Promise<string> {
    const { stage } = this;
    const { api } = stage.stage;
    const { metadata } = await stage.csiPod();
    await stage.cordon();
    this.since = stage.timeline.note("cordoned; deleting the pods of database and driver");
    await Promise.all([
      api.delete(`/api/v1/namespaces/${this.name}/pods/db-0`),
      api.delete(`/api/v1/namespaces/kube-system/pods/${metadata.name}`),
    ]);
    return metadata.name;
  }

  /** When it happened first after `since`; waits for it. Unix milliseconds. */
  when(source: string | RegExp, text: RegExp, limitSeconds?: number): Promise<number> {
    return this.stage.timeline.when(source, text, this.since, limitSeconds);
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
    await api.delete(`/api/v1/namespaces/${name}/pods/db-0`, { gracePeriodSeconds: 1 });
    await eventually(`no attachment of ${volumeId} is left`, async () => {
      const { items } = await api.list<{
        readonly spec: { readonly source: { readonly persistentVolumeName?: string } };
      }>("/apis/storage.k8s.io/v1/volumeattachments");
      return !items.some(({ spec }) => spec.source.persistentVolumeName === `pv-${volumeId}`);
    });
  }
}
