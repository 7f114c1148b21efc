/**
 * What happened in the cluster, by watch, beside what happened in EC2 and Auto Scaling, on one clock. A watch may show a change
 * late, never early: "after the attachment was gone" holds all the more then.
 */
import { OUT_OF_SERVICE_TAINT } from "../../lib/drain/names.ts";
import type { ApiClient } from "./api-client.ts";
import type { Node, VolumeAttachment } from "./api-objects.ts";
import { eventually } from "./eventually.ts";
import { ObjectCache } from "./object-cache.ts";
import { attachmentName, ebsDriver } from "./pod-volumes.ts";
import type { Region } from "./region.ts";

/** Something that somebody did to a Node. */
export type NodeMark = "cordoned" | "uncordoned" | "out of service" | "back in service";

interface Entry {
  /** Unix milliseconds. */
  readonly at: number;
  readonly subject: string;
  readonly what: string;
}

export class Timeline {
  readonly #region: Region;
  readonly #entries: Entry[] = [];
  readonly #attachments: ObjectCache<VolumeAttachment>;
  readonly #nodes: ObjectCache<Node>;
  readonly #last = new Map<string, string>();

  private constructor(client: ApiClient, region: Region) {
    this.#region = region;
    const path = "/apis/storage.k8s.io/v1/volumeattachments";
    this.#attachments = new ObjectCache<VolumeAttachment>(client, path, (attachment) => {
      const { name } = attachment.metadata;
      this.#noteChange(name, this.#attachments.get(name) === undefined ? "gone" : stateOf(attachment));
    });
    this.#nodes = new ObjectCache<Node>(client, "/api/v1/nodes", ({ metadata: { name }, spec }) => {
      const isOut = spec.taints?.some(({ key }) => key === OUT_OF_SERVICE_TAINT) === true;
      this.#noteChange(`${name} cordon`, spec.unschedulable === true ? "cordoned" : "uncordoned");
      this.#noteChange(`${name} service`, isOut ? "out of service" : "back in service");
    });
  }

  static async start(client: ApiClient, region: Region): Promise<Timeline> {
    const timeline = new Timeline(client, region);
    await Promise.all([timeline.#attachments.start(), timeline.#nodes.start()]);
    return timeline;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#attachments.stop(), this.#nodes.stop()]);
  }

  /** When the volume's VolumeAttachment to the node was first seen so. Waits for it. */
  attachment(
    volumeId: string,
    node: string,
    what: "attached" | "gone",
    limitSeconds?: number,
  ): Promise<number> {
    const name = attachmentName({ driver: ebsDriver, handle: volumeId }, node);
    const isMeant = (entry: Entry) => entry.subject === name && entry.what === what;
    return this.#first(`the attachment of ${volumeId} to ${node} is ${what}`, isMeant, limitSeconds);
  }

  /** When the Node was first marked so. Waits for it. */
  marked(node: string, mark: NodeMark, limitSeconds?: number): Promise<number> {
    const isMeant = (entry: Entry) => entry.subject.startsWith(`${node} `) && entry.what === mark;
    return this.#first(`${node} is ${mark}`, isMeant, limitSeconds);
  }

  /** Every mark of the Node since it was first seen, the oldest first. */
  marksOf(node: string): readonly string[] {
    return this.#entries.filter(({ subject }) => subject.startsWith(`${node} `)).map(({ what }) => what);
  }

  /** When EC2's attachment of the volume to the instance was in that state, each time. */
  ec2Times(
    volumeId: string,
    instance: string,
    state: "attached" | "detaching" | "detached",
  ): readonly number[] {
    const changes = this.#region.attachmentChanges(volumeId);
    return changes.filter(({ what }) => what === `${state} ${instance}`).map(({ at }) => at);
  }

  /** When EC2 said so of the instance the first time. Waits for it. */
  async instance(instance: string, state: string, limitSeconds?: number): Promise<number> {
    const { happenings } = this.#region;
    const found = await eventually(
      `EC2 says ${instance} is ${state}`,
      () =>
        happenings.find(
          ({ lane, subject, text }) => lane === "ec2" && subject === instance && text === state,
        ),
      limitSeconds,
    );
    return found.at;
  }

  async #first(what: string, isMeant: (entry: Entry) => boolean, limitSeconds?: number): Promise<number> {
    const found = await eventually(what, () => this.#entries.find(isMeant), limitSeconds);
    return found.at;
  }

  #noteChange(subject: string, what: string): void {
    if (this.#last.get(subject) === what) return;
    this.#last.set(subject, what);
    this.#entries.push({ at: Date.now(), subject, what });
  }
}

function stateOf({ metadata, status }: VolumeAttachment): string {
  if (metadata.deletionTimestamp !== undefined) return "to be deleted";
  return status?.attached === true ? "attached" : "wanted";
}
