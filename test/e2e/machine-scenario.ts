/** One machine's end: the machine, a spare one, and a database between them, in a namespace of its own. */
import { PRODUCT } from "../../lib/drain/names.ts";
import type { LifecycleRecord } from "../../lib/sim/auto-scaling-actions.ts";
import type { ApiClient } from "./api-client.ts";
import type { Pod } from "./api-objects.ts";
import { createAll, object } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import type { Machine, MachineOptions } from "./machines.ts";
import type { PodBehaviour } from "./pod-template.ts";
import type { Region } from "./region.ts";
import { statefulSet } from "./workloads.ts";

/** Whatever a busy machine may need for what takes seconds; it only catches hangs. */
export const LIMIT_SECONDS = 150;

export interface NodeEventView {
  readonly reason: string;
  readonly message: string;
  readonly reportingComponent: string;
}

type Completion = Extract<LifecycleRecord, { kind: "complete" }>;

/** Where scenarios take place. */
export interface Place {
  readonly api: ApiClient;
  readonly region: Region;
  readonly launch: (options: MachineOptions) => Promise<Machine>;
}

export class MachineScenario {
  /** Of the namespace and of the machines' label. */
  readonly name: string;
  readonly startedAt = Date.now();
  readonly #place: Place;

  constructor(place: Place, name: string) {
    this.#place = place;
    this.name = name;
  }

  /** Makes the namespace. */
  async prepare(): Promise<void> {
    const { api } = this.#place;
    await createAll(api, [object("Namespace", { metadata: { name: this.name } })]);
    const account = `/api/v1/namespaces/${this.name}/serviceaccounts/default`;
    // Without it no pod is admitted.
    await eventually(`${account} is there`, () => api.get(account));
  }

  launch(options: Omit<MachineOptions, "scenario"> = {}): Promise<Machine> {
    return this.#place.launch({ ...options, scenario: this.name });
  }

  /** A StatefulSet `db` of one pod with a volume, running on this machine; the volume's id. */
  async runDatabase(on: Machine, behaviour: PodBehaviour = {}): Promise<string> {
    const volumeId = this.#place.region.createVolume();
    const set = { name: "db", namespace: this.name, volumeIds: [volumeId] };
    await createAll(
      this.#place.api,
      statefulSet({ ...set, nodeSelector: { scenario: this.name }, ...behaviour }),
    );
    await this.running("db-0", on);
    return volumeId;
  }

  getPod(name: string): Promise<Pod | undefined> {
    return this.#place.api.get<Pod>(this.podPath(name));
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
    return this.#place.region.autoScaling
      .getHistory()
      .filter((record): record is Completion => record.kind === "complete" && record.outcome === "accepted")
      .find((record) => record.instance === instance);
  }

  /** Our Events on a Node. */
  async eventsOn(node: string): Promise<readonly NodeEventView[]> {
    const selector = encodeURIComponent(`involvedObject.kind=Node,involvedObject.name=${node}`);
    const { items } = await this.#place.api.list<NodeEventView>(
      `/api/v1/namespaces/default/events?fieldSelector=${selector}`,
    );
    return items.filter(({ reportingComponent }) => reportingComponent === PRODUCT);
  }
}

/** `12.3 s` between two times in Unix milliseconds. */
export function seconds(from: number, to: number): string {
  return `${((to - from) / 1_000).toFixed(1)} s`;
}
