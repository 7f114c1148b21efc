/** One machine's end: the machine, a spare one, and a database between them, in a namespace of its own. */
import type { TestContext } from "vitest";
import { PRODUCT } from "../../lib/drain/names.ts";
import type { DrainResult } from "../../lib/engine/drain-loop.ts";
import type { LookRecord } from "../../lib/engine/ports.ts";
import type { LifecycleRecord } from "../../lib/sim/auto-scaling-actions.ts";
import type { Pod } from "./api-objects.ts";
import { createAll, object } from "./create-all.ts";
import type { Machine, MachineOptions, Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import type { PodBehaviour } from "./pod-template.ts";
import { statefulSet } from "./workloads.ts";

/** Whatever a busy machine may need for what takes seconds; it only catches hangs. */
const LIMIT_SECONDS = 150;

export interface NodeEventView {
  readonly reason: string;
  readonly message: string;
  readonly reportingComponent: string;
}

export type Completion = Extract<LifecycleRecord, { kind: "complete" }>;

export class Scenario {
  readonly stage: Stage;
  /** Of the namespace and of the machines' label. */
  readonly name: string;
  readonly startedAt = Date.now();

  private constructor(stage: Stage, name: string) {
    this.stage = stage;
    this.name = name;
  }

  /** An empty scenario. Where its test fails, the decision log of its machines is printed. */
  static async create(stage: Stage, name: string, test: TestContext): Promise<Scenario> {
    const scenario = new Scenario(stage, name);
    await createAll(stage.api, [object("Namespace", { metadata: { name } })]);
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    // Without it no pod is admitted.
    await eventually(`${account} is there`, () => stage.api.get(account));
    test.onTestFailed(() => console.log(scenario.story()));
    return scenario;
  }

  launch(options: Omit<MachineOptions, "scenario"> = {}): Promise<Machine> {
    return this.stage.launch({ ...options, scenario: this.name });
  }

  /** A StatefulSet `db` of one pod with a volume, running on this machine; the volume's id. */
  async runDatabase(on: Machine, behaviour: PodBehaviour = {}): Promise<string> {
    const volumeId = this.stage.region.createVolume();
    const set = { name: "db", namespace: this.name, volumeIds: [volumeId] };
    await createAll(
      this.stage.api,
      statefulSet({ ...set, nodeSelector: { scenario: this.name }, ...behaviour }),
    );
    await this.running("db-0", on);
    return volumeId;
  }

  getPod(name: string): Promise<Pod | undefined> {
    return this.stage.api.get<Pod>(this.podPath(name));
  }

  podPath(name: string): string {
    return `/api/v1/namespaces/${this.name}/pods/${name}`;
  }

  /** The pod, once it runs there. */
  running(name: string, on: Machine): Promise<Pod> {
    const isMeant = (pod: Pod | undefined) =>
      pod?.spec.nodeName === on.node && pod.status?.phase === "Running" ? pod : undefined;
    const what = `${this.name}/${name} runs on ${on.node}`;
    return eventually(what, async () => isMeant(await this.getPod(name)), LIMIT_SECONDS);
  }

  /** The accepted completion of the machine's lifecycle action, once there is one. */
  completed({ instance }: Machine): Promise<Completion> {
    return eventually(
      `the action of ${instance} is completed`,
      () => this.completionOf(instance),
      LIMIT_SECONDS,
    );
  }

  completionOf(instance: string): Completion | undefined {
    return this.stage.region.autoScaling
      .getHistory()
      .filter((record): record is Completion => record.kind === "complete" && record.outcome === "accepted")
      .find((record) => record.instance === instance);
  }

  /** How the machine's executions ended, the oldest first, once none of them runs: `gone: freed`. */
  ended({ instance }: Machine): Promise<readonly string[]> {
    return eventually(
      `all work for ${instance} has ended`,
      () => {
        const executions = this.stage.functions.executionsFor(instance);
        if (executions.length === 0 || executions.some(({ status }) => status === "RUNNING"))
          return undefined;
        return executions.map(({ name, result, error }) => {
          const kind = name.slice(0, name.indexOf("-"));
          return `${kind}: ${(result as DrainResult | undefined)?.outcome ?? error}`;
        });
      },
      LIMIT_SECONDS,
    );
  }

  /** A look at the machine that fits, once there is one. */
  seen({ instance }: Pick<Machine, "instance">, what: string, isMeant: (look: LookRecord) => boolean) {
    const { functions } = this.stage;
    return eventually(what, () => functions.looksAt(instance).find(isMeant), LIMIT_SECONDS);
  }

  /** Our Events on a Node. */
  async eventsOn(node: string): Promise<readonly NodeEventView[]> {
    const selector = encodeURIComponent(`involvedObject.kind=Node,involvedObject.name=${node}`);
    const { items } = await this.stage.api.list<NodeEventView>(
      `/api/v1/namespaces/default/events?fieldSelector=${selector}`,
    );
    return items.filter(({ reportingComponent }) => reportingComponent === PRODUCT);
  }

  /** The decision log of the scenario's time, for whoever reads a failure. */
  story(): string {
    const { functions, region } = this.stage;
    const looks = functions.looks.map(({ observation: { at, task }, decision, failures }) => ({
      at,
      text: `${task.id} ${decision.phase} ${decision.rules.join()}: ${decision.reason} ${failures.join("; ")}`,
    }));
    const others = region.happenings.map(({ at, subject, text }) => ({ at, text: `${subject} ${text}` }));
    return [...looks, ...others]
      .filter(({ at }) => at >= this.startedAt)
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, text }) => `${new Date(at).toISOString().slice(11, 23)} ${text}`)
      .join("\n");
  }
}

/** `12.3 s` between two times in Unix milliseconds. */
export function seconds(from: number, to: number): string {
  return `${((to - from) / 1_000).toFixed(1)} s`;
}
