import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeView } from "../../lib/drain/cluster.ts";
import { DISRUPTION_REASON, OUT_OF_SERVICE_TAINT, WORK_ANNOTATION } from "../../lib/drain/names.ts";
import {
  cordonPatch,
  outOfServicePatch,
  untaintPatch,
  withdrawPatch,
  workPatch,
} from "../../lib/drain/node-patch.ts";
import type { Work } from "../../lib/drain/work-order.ts";
import type { PodRef } from "../../lib/engine/ports.ts";
import { confinementManifests } from "../../lib/kubernetes/confinement-manifests.ts";
import type { ClusterConnection } from "../../lib/kubernetes/connection.ts";
import { flowSchemaManifest } from "../../lib/kubernetes/flow-schema-manifests.ts";
import { addNode, addPod, freshName } from "../contract/cluster-cases.ts";
import type { ClusterHarness } from "../contract/cluster-harness.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startQuietControlPlane, tokenConnection } from "./quiet-control-plane.ts";
import { realClusterHarness } from "./real-cluster-harness.ts";

/** Administrators both, so that only admission can refuse; one of them is of the drain's group. */
const DRAIN = { user: "drain", groups: ["ebs-drain", "everything"] };
const OTHER = { user: "other", groups: ["everything"] };
const PATIENCE_MS = 20_000;
const WORK_ID = "gone-i-0a1b2c3d4e5f60718-t5x2y0";
const GONE_TAINT = { key: OUT_OF_SERVICE_TAINT, value: WORK_ID, effect: "NoExecute" };

let controlPlane: ControlPlane;
let connection: ClusterConnection;
let harness: ClusterHarness;
let agent: Agent;

beforeAll(async () => {
  controlPlane = await startQuietControlPlane([DRAIN, OTHER]);
  agent = new Agent({ connect: { ca: await readFile(controlPlane.caFile, "utf8") } });
  await controlPlane.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "everything" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "everything" }],
  });
  connection = await tokenConnection(controlPlane, async () => controlPlane.tokenFor(DRAIN.user));
  harness = await realClusterHarness(controlPlane.api, connection);
  for (const manifest of confinementManifests()) {
    const collection = manifest.kind.endsWith("Binding")
      ? "validatingadmissionpolicybindings"
      : "validatingadmissionpolicies";
    await controlPlane.api.create(`/apis/admissionregistration.k8s.io/v1/${collection}`, manifest);
  }
  await controlPlane.api.create("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", flowSchemaManifest());
  await until(
    "the policy holds",
    async () => (await asDrain(labelOf(await addNode(harness)))).status === 403,
  );
});

afterAll(async () => {
  await connection?.close();
  await agent?.destroy();
  await controlPlane?.stop();
});

interface Act {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly flowSchema: string;
}

const JSON_PATCH = "application/json-patch+json";
const MERGE = "application/merge-patch+json";

async function as(user: string, { method, path, body, type = "application/json" }: Act): Promise<Answer> {
  const response = await request(controlPlane.server + path, {
    dispatcher: agent,
    method: method as "GET",
    headers: { authorization: `Bearer ${controlPlane.tokenFor(user)}`, "content-type": type },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const flowSchema = String(response.headers["x-kubernetes-pf-flowschema-uid"] ?? "");
  return { status: response.statusCode, text: await response.body.text(), flowSchema };
}

const asDrain = (act: Act): Promise<Answer> => as(DRAIN.user, act);

function ofNode({ name }: NodeView, body: unknown, type = MERGE): Act {
  return { method: "PATCH", path: `/api/v1/nodes/${name}`, body, type };
}

function labelOf(node: NodeView): Act {
  return ofNode(node, { metadata: { labels: { mine: "now" } } });
}

function ofPod({ namespace, name }: PodRef, rest = ""): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}${rest}`;
}

function statusOf(pod: PodRef, status: unknown, metadata: object = {}): Act {
  const type = "application/strategic-merge-patch+json";
  return { method: "PATCH", path: ofPod(pod, "/status"), body: { metadata, status }, type };
}

function deletion(pod: PodRef, options: object): Act {
  return {
    method: "DELETE",
    path: ofPod(pod),
    body: { apiVersion: "v1", kind: "DeleteOptions", ...options },
  };
}

function eviction(pod: PodRef, deleteOptions: object | undefined): Act {
  const { namespace, name } = pod;
  const given = deleteOptions === undefined ? {} : { deleteOptions };
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name }, ...given };
  return { method: "POST", path: ofPod(pod, "/eviction"), body };
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS / 1_000} s until ${what}`);
    await sleep(50);
  }
}

const aPod = async (): Promise<PodRef> => addPod(harness, await addNode(harness));
const workOf = (node: NodeView): Work => ({
  id: WORK_ID,
  bootID: node.bootId,
  group: "workers-a",
  deadline: Date.now() + 3_600_000,
  cordoned: true,
  ignore: [],
});
const DISRUPTION = { type: "DisruptionTarget", status: "True", reason: DISRUPTION_REASON, message: "gone" };
const FAILED = { phase: "Failed", conditions: [DISRUPTION] };

describe("the policy lets the drain do what a drain does", () => {
  it("cordons, writes and takes back its work, with somebody's annotations and taints beside it (D5, D15)", async () => {
    const taints = [{ key: "team", value: "a", effect: "NoSchedule" as const }];
    const plain = await addNode(harness, { taints, annotations: { theirs: "stays" } });

    const cordoned = await harness.port.patchNode(plain.name, cordonPatch(plain, workOf(plain)));
    const again = await harness.port.patchNode(
      plain.name,
      workPatch(cordoned, { ...workOf(plain), ignore: ["csi-1"] }),
    );
    const withdrawn = await harness.port.patchNode(
      plain.name,
      withdrawPatch(again, { uncordon: true, isOurTaint: () => false }),
    );

    expect([cordoned.unschedulable, withdrawn.unschedulable, withdrawn.work]).toEqual([
      true,
      false,
      undefined,
    ]);
    expect(withdrawn.taints).toContainEqual(expect.objectContaining({ key: "team" }));
  });

  it("cordons a Node that has no annotation at all", async () => {
    const node = await addNode(harness);
    await expect(harness.port.patchNode(node.name, cordonPatch(node, workOf(node)))).resolves.toMatchObject({
      unschedulable: true,
    });
  });

  it("puts a dead machine out of service, fails and removes its pods, and takes its taint off (D14)", async () => {
    const node = await addNode(harness);
    const pod = await addPod(harness, node);

    const tainted = await harness.port.patchNode(node.name, outOfServicePatch(node, workOf(node), WORK_ID));
    await harness.port.failPod(pod, "the instance is gone", Date.now());
    await harness.port.deletePod(pod, 0);
    const untainted = await harness.port.patchNode(node.name, untaintPatch(tainted, WORK_ID));

    expect(tainted.taints).toContainEqual(expect.objectContaining(GONE_TAINT));
    expect(untainted.taints.map(({ key }) => key)).not.toContain(OUT_OF_SERVICE_TAINT);
    expect(await harness.port.listPodsOnNode(node.name)).toEqual([]);
  });

  it("evicts with the pod's own time or less, deletes with it, and removes a pod that has ended (D7, D10, D16)", async () => {
    const [first, second, third, ended] = await Promise.all([aPod(), aPod(), aPod(), aPod()]);
    await controlPlane.api.patch("strategic", ofPod(ended, "/status"), { status: { phase: "Succeeded" } });

    await harness.port.evictPod(first);
    await harness.port.evictPod(second, 5);
    await harness.port.deletePod(third);
    await expect(harness.port.deletePod(ended, 0)).resolves.not.toThrow();
  });

  it("tells Events of a Node, reads, and asks what it may", async () => {
    const event = {
      node: "n1",
      nodeUid: "u1",
      type: "Normal",
      reason: "DrainStarted",
      message: "started",
    } as const;
    await harness.port.recordEvent({ ...event, at: Date.now() });
    const question = {
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb: "get", resource: "nodes" } },
      },
    };

    expect((await asDrain(question)).status).toBe(201);
    await expect(harness.port.listNodes()).resolves.not.toEqual([]);
  });
});

const NODE_ACTS: readonly (readonly [string, (node: NodeView) => Act])[] = [
  ["labels a Node", labelOf],
  ["writes another annotation", (node) => ofNode(node, { metadata: { annotations: { mine: "now" } } })],
  [
    "takes somebody's annotation off with its own",
    (node) => ofNode(node, { metadata: { annotations: { theirs: null, [WORK_ANNOTATION]: "{}" } } }),
  ],
  ["puts a finalizer on", (node) => ofNode(node, { metadata: { finalizers: ["example.com/mine"] } })],
  [
    "adds a taint of another key",
    (node) => ofNode(node, { spec: { taints: [{ key: "mine", effect: "NoExecute" }] } }),
  ],
  ["takes somebody's taint off", (node) => ofNode(node, { spec: { taints: null } })],
  [
    "puts a Node out of service in nobody's name",
    (node) =>
      ofNode(
        node,
        [{ op: "add", path: "/spec/taints/-", value: { ...GONE_TAINT, value: "node-shutdown" } }],
        JSON_PATCH,
      ),
  ],
  [
    "changes the Node's other fields",
    (node) => ofNode(node, { spec: { podCIDR: "10.9.0.0/24", podCIDRs: ["10.9.0.0/24"] } }),
  ],
  ["deletes a Node", ({ name }) => ({ method: "DELETE", path: `/api/v1/nodes/${name}` })],
  [
    "writes a Node's status",
    ({ name }) => ({
      method: "PATCH",
      path: `/api/v1/nodes/${name}/status`,
      body: { status: { volumesInUse: [], conditions: [], nodeInfo: { bootID: "another" } } },
      type: MERGE,
    }),
  ],
];

const POD_ACTS: readonly (readonly [string, (pod: PodRef) => Act])[] = [
  [
    "deletes without grace",
    (pod) => deletion(pod, { gracePeriodSeconds: 0, preconditions: { uid: pod.uid } }),
  ],
  [
    "deletes with less grace",
    (pod) => deletion(pod, { gracePeriodSeconds: 1, preconditions: { uid: pod.uid } }),
  ],
  ["deletes whatever has the name", (pod) => deletion(pod, {})],
  [
    "deletes all pods of a namespace",
    ({ namespace }) => ({
      method: "DELETE",
      path: `/api/v1/namespaces/${namespace}/pods?fieldSelector=status.phase=Running`,
    }),
  ],
  ["evicts whatever has the name", (pod) => eviction(pod, undefined)],
  [
    "evicts without grace",
    (pod) => eviction(pod, { gracePeriodSeconds: 0, preconditions: { uid: pod.uid } }),
  ],
  ["fails without saying why", (pod) => statusOf(pod, { phase: "Failed" })],
  [
    "fails in another's name",
    (pod) =>
      statusOf(pod, { phase: "Failed", conditions: [{ ...DISRUPTION, reason: "EvictionByEvictionAPI" }] }),
  ],
  ["calls a pod ended well", (pod) => statusOf(pod, { ...FAILED, phase: "Succeeded" })],
  [
    "writes another condition",
    (pod) =>
      statusOf(pod, {
        ...FAILED,
        conditions: [DISRUPTION, { type: "Ready", status: "False", reason: "mine" }],
      }),
  ],
  ["writes another field of the status", (pod) => statusOf(pod, { ...FAILED, message: "mine" })],
  ["labels with the status", (pod) => statusOf(pod, FAILED, { labels: { mine: "now" } })],
  [
    "labels a pod",
    (pod) => ({ method: "PATCH", path: ofPod(pod), body: { metadata: { labels: { a: "b" } } }, type: MERGE }),
  ],
  [
    "makes a pod",
    ({ namespace }) => ({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/pods`,
      body: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: freshName("made") },
        spec: { containers: [{ name: "main", image: "none" }] },
      },
    }),
  ],
];

const OTHER_ACTS: readonly (readonly [string, Act])[] = [
  [
    "makes a secret",
    {
      method: "POST",
      path: "/api/v1/namespaces/default/secrets",
      body: { apiVersion: "v1", kind: "Secret", metadata: { name: "mine" } },
    },
  ],
  [
    "tells an Event in another's name",
    {
      method: "POST",
      path: "/api/v1/namespaces/default/events",
      body: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "mine" },
        involvedObject: { kind: "Node", name: "n1" },
        source: { component: "kubelet" },
      },
    },
  ],
  [
    "takes the policy off",
    { method: "DELETE", path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/everything" },
  ],
];

const REFUSED = {
  status: 403,
  text: expect.stringContaining("ValidatingAdmissionPolicy 'ebs-drain'") as string,
};

describe("the policy refuses the drain, administrator though it be, where it", () => {
  it.each(NODE_ACTS)("%s", async (_, act) => {
    const node = await addNode(harness, {
      taints: [{ key: "team", value: "a", effect: "NoSchedule" }],
      annotations: { theirs: "stays" },
    });

    expect(await asDrain(act(node))).toMatchObject(REFUSED);
  });

  it("takes an out-of-service taint off that is another's", async () => {
    const node = await addNode(harness, {
      taints: [{ ...GONE_TAINT, value: "node-shutdown", effect: "NoExecute" }],
    });

    expect(await asDrain(ofNode(node, { spec: { taints: null } }))).toMatchObject(REFUSED);
  });

  it.each(POD_ACTS)("%s", async (_, act) => {
    expect(await asDrain(act(await aPod()))).toMatchObject(REFUSED);
  });

  it.each(OTHER_ACTS)("%s", async (_, act) => {
    expect(await asDrain(act)).toMatchObject(REFUSED);
  });
});

describe("others", () => {
  it("are not confined", async () => {
    expect((await as(OTHER.user, labelOf(await addNode(harness)))).status).toBe(200);
    const pod = await aPod();
    expect((await as(OTHER.user, deletion(pod, { gracePeriodSeconds: 0 }))).status).toBe(200);
  });
});

describe("the drain's requests", () => {
  it("have the priority level that its FlowSchema names, and others' have not", async () => {
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/ebs-drain";
    const schema = await controlPlane.api.get<{ metadata: { uid: string }; status?: unknown }>(path);
    const list: Act = { method: "GET", path: "/api/v1/nodes?limit=1" };

    await until("the schema holds", async () => (await asDrain(list)).flowSchema === schema?.metadata.uid);
    expect((await as(OTHER.user, list)).flowSchema).not.toBe(schema?.metadata.uid);
  });
});
