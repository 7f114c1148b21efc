/** What a drain changes in a cluster. Every change of a pod names its uid, so that none hits a namesake (I4). */
import {
  type CoreV1Event,
  CoreV1Api,
  PatchStrategy,
  type V1DeleteOptions,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { DISRUPTION_REASON, PRODUCT } from "../drain/names.ts";
import { shortHash } from "../drain/task.ts";
import { isoOf } from "../drain/time.ts";
import { EVENT_NAMESPACE } from "../engine/permissions.ts";
import type { ClusterChanges, NodeEvent, PodRef } from "../engine/ports.ts";
import { type Ask, hasCode } from "./calls.ts";
import type { ClusterConnection } from "./connection.ts";
import { given } from "./json-fields.ts";
import { nodeView } from "./node-views.ts";

/** Longer messages of Events are cut by whoever shows them. */
const LONGEST_MESSAGE = 1_000;

export function clusterChanges(connection: ClusterConnection, ask: Ask): ClusterChanges {
  const core = connection.makeApiClient(CoreV1Api);
  return {
    patchNode: async (name, patch) => {
      const node = await ask("patchNode", `patch of Node ${name}`, () =>
        core.patchNode({ name, body: patch }),
      );
      return nodeView(node);
    },
    evictPod: async (pod, graceSeconds) => {
      const { namespace, name } = pod;
      const body = { metadata: { namespace, name }, deleteOptions: deleteOptions(pod, graceSeconds) };
      await ask("evictPod", `eviction of pod ${namespace}/${name}`, () =>
        core.createNamespacedPodEviction({ namespace, name, body }),
      );
    },
    deletePod: async (pod, graceSeconds) => {
      const { namespace, name } = pod;
      await ask("deletePod", `delete of pod ${namespace}/${name}`, () =>
        core.deleteNamespacedPod({ namespace, name, body: deleteOptions(pod, graceSeconds) }),
      );
    },
    failPod: async (pod, message, at) => {
      const { namespace, name } = pod;
      const body = failedStatus(pod, message, isoOf(at));
      // Strategic: it merges conditions by their type, so it takes no read before and loses nobody's condition.
      const asStrategic = setHeaderOptions("Content-Type", PatchStrategy.StrategicMergePatch);
      await ask("failPod", `status patch of pod ${namespace}/${name}`, () =>
        core.patchNamespacedPodStatus({ namespace, name, body }, asStrategic),
      );
    },
    recordEvent: async (event) => {
      await ask("recordEvent", `Event ${event.reason} on Node ${event.node}`, async () => {
        try {
          await core.createNamespacedEvent({ namespace: EVENT_NAMESPACE, body: eventOf(event) });
        } catch (error) {
          if (!hasCode(error, 409)) throw error;
          // It is there already: an earlier try's answer was lost.
        }
      });
    },
  };
}

function deleteOptions(pod: PodRef, graceSeconds: number | undefined): V1DeleteOptions {
  return { preconditions: { uid: pod.uid }, ...given("gracePeriodSeconds", graceSeconds) };
}

/** As pod garbage collection fails the pods of a dead node. A uid that is not the pod's makes the patch invalid. */
function failedStatus(pod: PodRef, message: string, at: string) {
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: DISRUPTION_REASON,
    message,
    lastTransitionTime: at,
  };
  return { metadata: { uid: pod.uid }, status: { phase: "Failed", conditions: [condition] } };
}

function eventOf(event: NodeEvent): CoreV1Event {
  const at = new Date(event.at);
  return {
    metadata: { namespace: EVENT_NAMESPACE, name: eventName(event) },
    involvedObject: { apiVersion: "v1", kind: "Node", name: event.node, uid: event.nodeUid },
    type: event.type,
    reason: event.reason,
    message: event.message.slice(0, LONGEST_MESSAGE),
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
    source: { component: PRODUCT },
    reportingComponent: PRODUCT,
    reportingInstance: PRODUCT,
  };
}

/** The same Event has the same name, so that it is recorded once however often it is tried. At most 253 characters. */
function eventName(event: NodeEvent): string {
  const which = shortHash(`${event.nodeUid} ${event.type} ${event.reason} ${event.message}`);
  const node = event.node.slice(0, 220).replace(/[-.]+$/u, "");
  return `${node}.${event.at.toString(16)}.${which}`;
}
