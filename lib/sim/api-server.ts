/** The simulated API server: objects with their metadata, watches, and the rules of deletion. */
import type { Instant } from "../drain/time.ts";
import { SECOND } from "../drain/time.ts";
import type { Clock } from "./clock.ts";
import type {
  ApiObject,
  AttachmentObject,
  BudgetObject,
  ClaimObject,
  CsiNodeObject,
  DisruptionTarget,
  EventObject,
  LeaseObject,
  Meta,
  NodeObject,
  PodObject,
  VolumeObject,
  WorkloadObject,
} from "./cluster-objects.ts";
import { isDeleting, isFinished } from "./cluster-objects.ts";
import { Gate } from "./cluster-work-queue.ts";
import type { Random } from "./random.ts";

/** A refusal of the API server, as its Status says it. */
export class ApiFault extends Error {
  readonly code: 403 | 404 | 409 | 422 | 429 | 500;
  /** `reason` of the Status' cause: DisruptionBudget, NamespaceTerminating. */
  readonly causeReason?: string;
  readonly budget?: string;

  constructor(
    code: ApiFault["code"],
    message: string,
    details: { readonly cause?: string; readonly budget?: string } = {},
  ) {
    super(message);
    this.name = "ApiFault";
    this.code = code;
    if (details.cause !== undefined) this.causeReason = details.cause;
    if (details.budget !== undefined) this.budget = details.budget;
  }
}

export type Change = "added" | "changed" | "removed";
export type Listener<T> = (object: T, change: Change) => void;

/** What a caller says of a new object's metadata; the server adds the rest. */
export type MetaDraft = Pick<Meta, "name"> &
  Partial<Pick<Meta, "namespace" | "labels" | "annotations" | "finalizers" | "controller">>;

interface Stamps {
  readonly now: () => Instant;
  readonly uid: () => string;
  readonly version: () => string;
}

export class Collection<T extends ApiObject> {
  readonly kind: string;
  readonly #stamps: Stamps;
  readonly #objects = new Map<string, T>();
  readonly #listeners: Listener<T>[] = [];

  constructor(kind: string, stamps: Stamps) {
    this.kind = kind;
    this.#stamps = stamps;
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(namespace === undefined ? name : `${namespace}/${name}`);
  }

  /** The object stored under this name; 404 otherwise. */
  require(name: string, namespace?: string): T {
    const object = this.get(name, namespace);
    if (object === undefined) throw new ApiFault(404, `${this.kind} "${name}" not found`);
    return object;
  }

  /** Whether this very object, by uid, is still stored. */
  has(object: T): boolean {
    return this.#objects.get(keyOf(object.metadata))?.metadata.uid === object.metadata.uid;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** A copy: the loop over it may change the collection. */
  list(): T[] {
    return [...this.#objects.values()];
  }

  watch(listener: Listener<T>): void {
    this.#listeners.push(listener);
  }

  /** 409 where the name is taken. */
  create(draft: MetaDraft, rest: Omit<T, "metadata">): T {
    const key = keyOf(draft);
    if (this.#objects.has(key)) throw new ApiFault(409, `${this.kind} "${draft.name}" already exists`);
    const metadata: Meta = {
      labels: {},
      finalizers: [],
      ...draft,
      uid: this.#stamps.uid(),
      resourceVersion: this.#stamps.version(),
      creationTimestamp: this.#stamps.now(),
    };
    const object = { ...rest, metadata } as T;
    this.#objects.set(key, object);
    this.#tell(object, "added");
    return object;
  }

  /** Changes the object in place, unless it is gone. Answers whether it was there. */
  update(object: T, change: (object: T) => void): boolean {
    if (!this.has(object)) return false;
    change(object);
    object.metadata.resourceVersion = this.#stamps.version();
    this.#tell(object, "changed");
    return true;
  }

  /** DELETE: at once without finalizers, otherwise asked for. */
  delete(object: T): void {
    if (!this.has(object)) return;
    if (object.metadata.finalizers.length === 0) return this.remove(object);
    if (isDeleting(object)) return;
    this.update(object, ({ metadata }) => {
      metadata.deletionTimestamp = this.#stamps.now();
    });
  }

  removeFinalizer(object: T, finalizer: string): void {
    this.update(object, ({ metadata }) => {
      metadata.finalizers = metadata.finalizers.filter((other) => other !== finalizer);
    });
    if (isDeleting(object) && object.metadata.finalizers.length === 0) this.remove(object);
  }

  remove(object: T): void {
    if (!this.has(object)) return;
    this.#objects.delete(keyOf(object.metadata));
    this.#tell(object, "removed");
  }

  #tell(object: T, change: Change): void {
    for (const listener of this.#listeners) listener(object, change);
  }
}

function keyOf(of: { readonly name: string; readonly namespace?: string }): string {
  return of.namespace === undefined ? of.name : `${of.namespace}/${of.name}`;
}

export interface PodDeletion {
  readonly uid?: string;
  /** Default: the pod's own. */
  readonly graceSeconds?: number;
  /** Why, where the caller marks it as a disruption. */
  readonly disruption?: DisruptionTarget;
}

export class ApiServer {
  readonly clock: Clock;
  /** Closed while the API server is away. */
  readonly gate = new Gate();
  readonly nodes: Collection<NodeObject>;
  readonly pods: Collection<PodObject>;
  readonly claims: Collection<ClaimObject>;
  readonly volumes: Collection<VolumeObject>;
  readonly attachments: Collection<AttachmentObject>;
  readonly csiNodes: Collection<CsiNodeObject>;
  readonly leases: Collection<LeaseObject>;
  readonly budgets: Collection<BudgetObject>;
  readonly statefulSets: Collection<WorkloadObject>;
  readonly replicaSets: Collection<WorkloadObject>;
  readonly daemonSets: Collection<WorkloadObject>;
  readonly events: EventObject[] = [];
  readonly terminatingNamespaces = new Set<string>();

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    let version = 0;
    const stamps: Stamps = {
      now: clock.now,
      uid: () => uidFrom(random),
      version: () => String(++version),
    };
    this.nodes = new Collection("nodes", stamps);
    this.pods = new Collection("pods", stamps);
    this.claims = new Collection("persistentvolumeclaims", stamps);
    this.volumes = new Collection("persistentvolumes", stamps);
    this.attachments = new Collection("volumeattachments.storage.k8s.io", stamps);
    this.csiNodes = new Collection("csinodes.storage.k8s.io", stamps);
    this.leases = new Collection("leases.coordination.k8s.io", stamps);
    this.budgets = new Collection("poddisruptionbudgets.policy", stamps);
    this.statefulSets = new Collection("statefulsets.apps", stamps);
    this.replicaSets = new Collection("replicasets.apps", stamps);
    this.daemonSets = new Collection("daemonsets.apps", stamps);
  }

  podsOn(node: string): PodObject[] {
    return this.pods.list().filter((pod) => pod.spec.nodeName === node);
  }

  /**
   * DELETE of a pod. One that no kubelet has, or whose phase is final, goes at once, as with grace 0; else it gets its
   * deletionTimestamp and the kubelet's last report removes it. A second request can only shorten the grace. 404, 409.
   */
  deletePod(namespace: string, name: string, deletion: PodDeletion = {}): void {
    const pod = this.pods.require(name, namespace);
    if (deletion.uid !== undefined && deletion.uid !== pod.metadata.uid) {
      throw new ApiFault(
        409,
        `the UID in the precondition (${deletion.uid}) is not the pod's (${pod.metadata.uid})`,
      );
    }
    const asked = deletion.graceSeconds ?? pod.spec.terminationGracePeriodSeconds;
    const grace = pod.spec.nodeName === undefined || isFinished(pod) ? 0 : asked;
    const current = pod.metadata.deletionGracePeriodSeconds;
    if (current === undefined || grace < current) {
      this.pods.update(pod, ({ metadata, status }) => {
        metadata.deletionTimestamp = this.clock.now() + grace * SECOND;
        metadata.deletionGracePeriodSeconds = grace;
        if (deletion.disruption !== undefined) status.disruptionTarget = deletion.disruption;
      });
    }
    if (grace === 0 && pod.metadata.finalizers.length === 0) this.pods.remove(pod);
  }
}

function uidFrom(random: Random): string {
  const hex = Array.from({ length: 4 }, () =>
    Math.floor(random.next() * 4_294_967_296)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
