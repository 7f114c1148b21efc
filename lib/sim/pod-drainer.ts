/**
 * What many clusters have instead of ebs-drain: a drainer that knows pods and nothing of volumes. It cordons, evicts within the
 * PodDisruptionBudgets, and completes the lifecycle action as soon as the pods are gone. It sends no heartbeats.
 */
import { SECOND } from "../drain/time.ts";
import { ApiFault } from "./api-server.ts";
import type { ActionName } from "./auto-scaling-actions.ts";
import { evict } from "./cluster-eviction.ts";
import type { NodeObject, PodObject } from "./cluster-objects.ts";
import { isDeleting, isFinished, isMirror } from "./cluster-objects.ts";
import type { BusEvent } from "./event-bridge.ts";
import { Ec2Fault } from "./seams.ts";
import type { World } from "./world.ts";

/** An eviction that a budget refuses is asked again after this, as `kubectl drain` does. */
const EVICT_AGAIN = 5 * SECOND;
/** Until the event is read from the queue again after a failure. */
const READ_AGAIN = 20 * SECOND;
const LOOK_AGAIN = SECOND;

export class PodDrainer {
  readonly #world: World;
  readonly #instances = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  readonly deliver = ({ "detail-type": type, detail }: BusEvent): void => {
    const text = (key: string): string => String(detail[key]);
    if (type === "EC2 Instance-terminate Lifecycle Action") {
      this.#drain(text("EC2InstanceId"), {
        group: text("AutoScalingGroupName"),
        hook: text("LifecycleHookName"),
        token: text("LifecycleActionToken"),
      });
    } else if (type === "EC2 Spot Instance Interruption Warning" || isEnding(type, text("state"))) {
      this.#drain(text("instance-id"));
    }
  };

  #drain(instance: string, action?: ActionName): void {
    const { cluster, clock } = this.#world;
    if (action === undefined && this.#instances.has(instance)) return;
    this.#instances.add(instance);
    const node = cluster.isReachable()
      ? cluster.api.nodes.list().find(({ spec }) => spec.providerID?.endsWith(`/${instance}`) === true)
      : undefined;
    if (node === undefined) {
      this.#note(instance, cluster.isReachable() ? "finds no Node" : "cannot reach the API server");
      clock.after(READ_AGAIN, () => {
        if (action === undefined || this.#isOpen(instance)) this.#drain(instance, action);
      });
      return;
    }
    cluster.api.nodes.update(node, ({ spec }) => {
      spec.unschedulable = true;
    });
    this.#note(instance, "cordons the node");
    this.#evict(node, instance, action);
  }

  #isOpen(instance: string): boolean {
    return this.#world.autoScaling.activeActions(instance).length > 0;
  }

  #evict(node: NodeObject, instance: string, action: ActionName | undefined): void {
    const { cluster, clock } = this.#world;
    const again = (milliseconds: number): void =>
      void clock.after(milliseconds, () => this.#evict(node, instance, action));
    if (!cluster.isReachable()) return again(EVICT_AGAIN);
    const pods = cluster.api.podsOn(node.metadata.name).filter(isDrained);
    if (pods.length === 0) return this.#finish(instance, action);
    const refused = pods.filter((pod) => !isDeleting(pod) && !this.#ask(pod));
    again(refused.length > 0 ? EVICT_AGAIN : LOOK_AGAIN);
  }

  /** Whether the pod is on its way. */
  #ask({ metadata }: PodObject): boolean {
    const { name, namespace = "", uid } = metadata;
    try {
      evict(this.#world.cluster.api, { namespace, name }, { uid });
      this.#note(name, "evicted");
      return true;
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error;
      this.#note(name, error.budget === undefined ? error.message : `refused by ${error.budget}`);
      return false;
    }
  }

  #finish(instance: string, action: ActionName | undefined): void {
    if (action === undefined) return this.#note(instance, "the pods are gone: done");
    try {
      this.#world.autoScaling.complete(action, "CONTINUE", "pod drainer");
    } catch (error) {
      if (!(error instanceof Ec2Fault)) throw error;
      this.#note(instance, error.message);
    }
  }

  #note(subject: string, text: string): void {
    this.#world.note("drain", subject, text);
  }
}

function isEnding(type: string, state: string): boolean {
  return type === "EC2 Instance State-change Notification" && ["shutting-down", "stopping"].includes(state);
}

/** `kubectl drain` leaves DaemonSet and mirror pods. */
function isDrained(pod: PodObject): boolean {
  return (
    pod.metadata.controller?.kind !== "DaemonSet" && !isMirror(pod) && (isDeleting(pod) || !isFinished(pod))
  );
}
