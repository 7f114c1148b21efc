import { NODE_ID_ANNOTATION } from "../../lib/drain/names.ts";
import type { ClusterPort } from "../../lib/engine/ports.ts";
import { ApiServer } from "../../lib/sim/api-server.ts";
import { ATTACHER_FINALIZER } from "../../lib/sim/attacher.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { LEASE_NAMESPACE } from "../../lib/sim/cluster-node-status.ts";
import type { NodeObject, VolumeObject } from "../../lib/sim/cluster-objects.ts";
import { simulatedClusterPort } from "../../lib/sim/cluster-port.ts";
import { NO_FAULTS } from "../../lib/sim/faults.ts";
import { Random } from "../../lib/sim/random.ts";
import { describeClusterContract } from "./cluster-contract.ts";
import type { ClusterHarness, NodeSeed, PodSeed, VolumeSeed } from "./cluster-harness.ts";

const START = Date.UTC(2026, 9, 1, 12);

describeClusterContract("the simulated cluster", async () => {
  const clock = new VirtualClock(START);
  const api = new ApiServer(clock, new Random(1));
  const served = { api, isReachable: () => true, hasLivingKubelet: () => false, kubeletOf: () => undefined };
  const port = simulatedClusterPort(served, clock, NO_FAULTS);
  return {
    port: moving(clock, port),
    ...arranging(api),
    ...arrangingMore(api),
    close: async () => undefined,
  };
});

/** The port's calls, with the clock moved until they are answered. */
function moving(clock: VirtualClock, port: ClusterPort): ClusterPort {
  return new Proxy(port, {
    get:
      (target, method: keyof ClusterPort) =>
      async (...args: readonly unknown[]) => {
        const ask = target[method] as (...args: readonly unknown[]) => Promise<unknown>;
        let isAnswered = false;
        const answer = clock.actor("the contract", () => ask(...args));
        const settled = answer.then(
          () => (isAnswered = true),
          () => (isAnswered = true),
        );
        await clock.advance(clock.now() + 60_000, () => isAnswered);
        await settled;
        return answer;
      },
  });
}

type Arranging = "addNode" | "addPod" | "addNamespace" | "endNamespace" | "addClaim" | "addVolume";

function arranging(api: ApiServer): Pick<ClusterHarness, Arranging> {
  return {
    addNode: async (seed) => void addNode(api, seed),
    addPod: async (seed) => addPod(api, seed),
    addNamespace: async () => undefined,
    endNamespace: async (name) => void api.terminatingNamespaces.add(name),
    addClaim: async ({ namespace, name, volumeName }) =>
      void api.claims.create({ name, namespace }, { spec: volumeName === undefined ? {} : { volumeName } }),
    addVolume: async ({ name, source }) =>
      void api.volumes.create({ name }, { spec: { source: sourceOf(source) } }),
  };
}

function arrangingMore(api: ApiServer): Omit<ClusterHarness, Arranging | "port" | "close"> {
  return {
    addAttachments: async (seeds) => {
      for (const { name, attacher, nodeName, source, nodeId } of seeds) {
        const annotations = nodeId === undefined ? {} : { annotations: { [NODE_ID_ANNOTATION]: nodeId } };
        api.attachments.create(
          { name, finalizers: [ATTACHER_FINALIZER], ...annotations },
          { spec: { attacher, nodeName, source }, status: { attached: true } },
        );
      }
    },
    failDetach: async (name, message) => {
      const attachment = api.attachments.require(name);
      api.attachments.delete(attachment);
      api.attachments.update(attachment, ({ status }) => {
        status.detachError = message;
      });
    },
    addCsiNode: async ({ name, nodeIds }) =>
      void api.csiNodes.create({ name }, { spec: { drivers: { ...nodeIds } } }),
    renewLease: async (name, renewTime) => {
      const lease = api.leases.get(name, LEASE_NAMESPACE);
      if (lease !== undefined) api.leases.remove(lease);
      api.leases.create({ name, namespace: LEASE_NAMESPACE }, { spec: { renewTime } });
    },
    addBudget: async ({ namespace, name, labels }) =>
      void api.budgets.create({ name, namespace }, { spec: { selector: labels, maxUnavailable: 0 } }),
    listEvents: async (node) =>
      api.events
        .filter((event) => event.node === node)
        .map(({ type, reason, message, component }) => ({ type, reason, message, component })),
  };
}

function addNode(api: ApiServer, seed: NodeSeed): NodeObject {
  const ready = seed.ready ?? { status: "True", reason: "KubeletReady", message: "" };
  return api.nodes.create(
    { name: seed.name, ...(seed.annotations === undefined ? {} : { annotations: { ...seed.annotations } }) },
    {
      spec: {
        ...(seed.providerId === undefined ? {} : { providerID: seed.providerId }),
        ...(seed.unschedulable === true ? { unschedulable: true } : {}),
        ...(seed.taints === undefined ? {} : { taints: [...seed.taints] }),
      },
      status: {
        nodeInfo: { bootID: seed.bootId ?? "boot-1" },
        conditions: [{ type: "Ready", ...ready, lastTransitionTime: START }],
        volumesInUse: [...(seed.volumesInUse ?? [])],
      },
    },
  );
}

function addPod(api: ApiServer, seed: PodSeed): { readonly uid: string } {
  const { namespace, name, node, labels, tolerations, priorityClass, claims, finalizers } = seed;
  const pod = api.pods.create(
    { name, namespace, labels: { ...labels }, finalizers: [...(finalizers ?? [])] },
    {
      spec: {
        nodeName: node,
        containers: ["main"],
        volumes: (claims ?? []).map((claimName) => ({ kind: "claim", claimName })),
        tolerations: tolerations ?? [],
        terminationGracePeriodSeconds: 30,
        stopsAfter: 0,
        ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass }),
      },
      status: { phase: "Running", ready: true, containersRunning: true },
    },
  );
  return { uid: pod.metadata.uid };
}

function sourceOf(source: VolumeSeed["source"]): VolumeObject["spec"]["source"] {
  switch (source.kind) {
    case "csi":
    case "in-tree":
      return source;
    case "nfs":
      return { kind: "other" };
    default:
      return source satisfies never;
  }
}
