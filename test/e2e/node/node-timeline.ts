/**
 * What happened on a node, from all who took part, on one clock: the API as watches show it, the kubelet's log, the containers'
 * logs, the node's mounts, and EC2. Watches and samples may show a change late by some milliseconds, never early.
 */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ApiObject, CsiNode, Node, Pod, VolumeAttachment } from "../api-objects.ts";
import { eventually } from "../eventually.ts";
import { ObjectCache } from "../object-cache.ts";
import { ebsDriver } from "../pod-volumes.ts";
import type { Region } from "../region.ts";
import type { ControlPlane } from "../control-plane.ts";
import { csiNodeText, nodeTexts, podText, attachmentText } from "./api-texts.ts";
import { ContainerLogs, LogFile, readTimedLine } from "./log-files.ts";
import { readKubeletLine } from "./kubelet-log.ts";
import { type VolumeMounts, readVolumeMounts } from "./node-mounts.ts";
import type { RealNode } from "./real-node.ts";

/** Between two samples of mounts and logs. */
const sampleMs = 50;

export interface Moment {
  /** Unix milliseconds. */
  readonly at: number;
  /** `api`, `kubelet`, `mount`, `ec2`, `test`, what is followed besides, or pod and container of a log. */
  readonly source: string;
  readonly text: string;
}

export class NodeTimeline {
  readonly #moments: Moment[] = [];
  readonly #last = new Map<string, string>();
  readonly #node: RealNode;
  readonly #region: Region;
  readonly #logs: ContainerLogs;
  readonly #kubeletLog: LogFile;
  readonly #followed = new Map<string, LogFile>();
  readonly #caches: readonly { readonly start: () => Promise<void>; readonly stop: () => Promise<void> }[];
  #mounts: VolumeMounts = { staged: new Set(), published: new Set() };
  #happenings = 0;
  #isStopped = false;
  #sampling: Promise<void> = Promise.resolve();
  #failure: unknown;

  private constructor({ api }: ControlPlane, region: Region, node: RealNode) {
    this.#node = node;
    this.#region = region;
    this.#logs = new ContainerLogs(node.podLogs);
    this.#kubeletLog = new LogFile(node.kubeletLog);
    const follow = <T extends ApiObject>(collection: string, note: (object: T, isGone: boolean) => void) => {
      const cache: ObjectCache<T> = new ObjectCache<T>(api, collection, (object) => {
        const { name, namespace } = object.metadata;
        note(object, cache.get(name, namespace) === undefined);
      });
      return cache;
    };
    const storage = "/apis/storage.k8s.io/v1";
    this.#caches = [
      follow<Pod>("/api/v1/pods", (pod, isGone) => {
        this.#change(`pod ${pod.metadata.name}`, podText(pod, isGone));
      }),
      follow<VolumeAttachment>(`${storage}/volumeattachments`, (found, isGone) => {
        if (found.spec.attacher !== ebsDriver) return;
        this.#change(`attachment ${found.metadata.name.slice(0, 12)}`, attachmentText(found, isGone));
      }),
      follow<Node>("/api/v1/nodes", (found) => {
        if (found.metadata.name !== node.name) return;
        for (const [what, text] of nodeTexts(found)) this.#change(what, text);
      }),
      follow<CsiNode>(`${storage}/csinodes`, (found) => {
        if (found.metadata.name === node.name) this.#change("drivers", csiNodeText(found));
      }),
    ];
  }

  static async start(controlPlane: ControlPlane, region: Region, node: RealNode): Promise<NodeTimeline> {
    const timeline = new NodeTimeline(controlPlane, region, node);
    await Promise.all(timeline.#caches.map((cache) => cache.start()));
    timeline.#sampling = timeline.#sample().catch((error: unknown) => {
      timeline.#failure = error;
    });
    return timeline;
  }

  /** Follows the log of one more stand-in on the node. */
  follow(source: string, file: string): void {
    this.#followed.set(source, new LogFile(file));
  }

  /** Notes what the test itself does. */
  note(text: string): number {
    const at = Date.now();
    this.#add({ at, source: "test", text });
    return at;
  }

  /** The first moment that fits, or undefined. */
  find(source: string | RegExp, text: RegExp, since = 0): Moment | undefined {
    const isOfSource = (name: string) => (typeof source === "string" ? name === source : source.test(name));
    return this.#moments
      .filter((moment) => moment.at >= since && isOfSource(moment.source) && text.test(moment.text))
      .toSorted((a, b) => a.at - b.at)[0];
  }

  /** When it happened first. Waits for it. @throws with the timeline's file where it does not */
  async when(source: string | RegExp, text: RegExp, since = 0, limitSeconds = 150): Promise<number> {
    const what = `${String(source)}: ${String(text)}`;
    const moment = await eventually(
      what,
      () => this.#unlessFailed(this.find(source, text, since)),
      limitSeconds,
    );
    return moment.at;
  }

  /** Everything since then, a line each: seconds since then, source, what. */
  text(since: number): string {
    return this.#moments
      .filter(({ at }) => at >= since)
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, source, text }) => `${seconds(at - since).padStart(8)} ${source.padEnd(36)} ${text}`)
      .join("\n");
  }

  async write(file: string, since: number): Promise<void> {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, `${this.text(since)}\n`);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#sampling;
    await this.#logs.close();
    for (const file of [this.#kubeletLog, ...this.#followed.values()]) await file.close();
    await Promise.all(this.#caches.map((cache) => cache.stop()));
  }

  #add(moment: Moment): void {
    this.#moments.push(moment);
  }

  #change(what: string, text: string): void {
    if (this.#last.get(what) === text) return;
    this.#last.set(what, text);
    this.#add({ at: Date.now(), source: "api", text: `${what}: ${text}` });
  }

  #unlessFailed<T>(found: T): T {
    if (this.#failure !== undefined) throw this.#failure;
    return found;
  }

  async #sample(): Promise<void> {
    while (!this.#isStopped) {
      await this.#readLogs();
      await this.#readMounts();
      const { happenings } = this.#region;
      for (const { at, subject, text } of happenings.slice(this.#happenings)) {
        this.#add({ at, source: "ec2", text: `${subject} ${text}` });
      }
      this.#happenings = happenings.length;
      await delay(sampleMs);
    }
  }

  async #readLogs(): Promise<void> {
    for (const line of await this.#kubeletLog.newLines()) {
      const found = readKubeletLine(line);
      if (found !== undefined) this.#add({ ...found, source: "kubelet" });
    }
    for (const [source, log] of this.#followed) {
      for (const line of await log.newLines()) this.#add({ ...readTimedLine(line), source });
    }
    for (const { at, pod, container, text } of await this.#logs.newLines()) {
      this.#add({ at, source: `${pod}/${container}`, text });
    }
  }

  /** EC2 has to know: a volume that the guest has mounted does not detach. */
  async #readMounts(): Promise<void> {
    const { namespaces, volumes, instanceId } = this.#node;
    const before = this.#mounts;
    const now = await readVolumeMounts(namespaces.mountsFile, volumes);
    this.#mounts = now;
    const note = (volume: string, what: string) => {
      this.#add({ at: Date.now(), source: "mount", text: `${volume} ${what}` });
    };
    for (const volume of added(now.staged, before.staged)) {
      note(volume, "staged");
      this.#region.ec2.setMounted(volume, instanceId, true);
    }
    for (const volume of added(before.staged, now.staged)) {
      note(volume, "unstaged");
      this.#region.ec2.setMounted(volume, instanceId, false);
    }
    for (const volume of added(now.published, before.published)) note(volume, "published");
    for (const volume of added(before.published, now.published)) note(volume, "unpublished");
  }
}

function added(now: ReadonlySet<string>, before: ReadonlySet<string>): readonly string[] {
  return [...now].filter((name) => !before.has(name));
}

export function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(3);
}
