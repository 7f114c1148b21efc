import { setTimeout as sleep } from "node:timers/promises";
import { AuthorizationV1Api } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLUSTER_PERMISSIONS, type RbacRule, type RbacVerb } from "../../lib/engine/permissions.ts";
import type { ClusterPort } from "../../lib/engine/ports.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import type { ClusterConnection } from "../../lib/kubernetes/connection.ts";
import { type RbacObject, clusterRules, rbacManifests } from "../../lib/kubernetes/rbac-manifests.ts";
import { addNode, addPod, failureOf, freshName, refused } from "../contract/cluster-cases.ts";
import type { ClusterHarness } from "../contract/cluster-harness.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startQuietControlPlane, tokenConnection } from "./quiet-control-plane.ts";
import { realClusterHarness } from "./real-cluster-harness.ts";

/** A user as EKS makes it of the drain's role and access entry: of the group, and no administrator. */
const DRAIN = { user: "drain", groups: ["ebs-drain"] };
const NOBODY = { user: "nobody", groups: [] };
/** The API server's authorizer learns of a changed role by watch. */
const PATIENCE_MS = 10_000;

let controlPlane: ControlPlane;
let harness: ClusterHarness;
const connections = new Map<string, ClusterConnection>();
beforeAll(async () => {
  controlPlane = await startQuietControlPlane([DRAIN, NOBODY]);
  for (const manifest of rbacManifests()) {
    await controlPlane.api.create(collectionOf(manifest), manifest);
  }
  harness = await realClusterHarness(controlPlane.api, await connectionOf(DRAIN.user));
});
afterAll(async () => {
  for (const connection of connections.values()) await connection.close();
  await controlPlane?.stop();
});

const METHODS = Object.keys(CLUSTER_PERMISSIONS) as (keyof ClusterPort)[];

describe("a user of the group ebs-drain", () => {
  it.each(METHODS)("may %s with exactly the roles of the permission table", async (method) => {
    await until("the roles hold", () => isAllowed(method));
    await expect(CALLS[method]()).resolves.not.toThrow();
  });

  it.each(verbs())("may not $method without $verb on $rule.resource", async ({ method, rule, verb }) => {
    await grant(clusterRules().flatMap((each) => (each === rule ? without(each, verb) : [each])));
    await until("the verb is gone", async () => !(await isAllowed(method)));
    const failure = await failureOf(CALLS[method]());
    expect(failure).toMatchObject(refused(method, "forbidden"));
    expect(failure.message).toContain(`${verb} on ${rule.resource}`);
    await grant(clusterRules());
    await until("the verb is back", () => isAllowed(method));
  });

  it.each(["default", "kube-node-lease", "kube-system"])(
    "may do nothing else in namespace %s",
    async (namespace) => {
      await until("the roles hold", () => isAllowed("getNode"));
      const everybody = await permitted(NOBODY.user, namespace);
      const ours = [...(await permitted(DRAIN.user, namespace))].filter((each) => !everybody.has(each));
      const expected = clusterRules()
        .filter((rule) => rule.namespace === undefined || rule.namespace === namespace)
        .flatMap((rule) => rule.verbs.map((verb) => `${verb} ${rule.resource}.${rule.apiGroup}`));
      expect(ours.toSorted()).toEqual(expected.toSorted());
    },
  );
});

describe("a user of no group", () => {
  it("may not even read", async () => {
    const port = createClusterPort(await connectionOf(NOBODY.user));
    expect(await failureOf(port.listNodes())).toMatchObject(refused("listNodes", "forbidden"));
    expect(await failureOf(port.getLease("n1"))).toMatchObject(refused("getLease", "forbidden"));
  });
});

/** One call of each method that succeeds where it is allowed. */
const CALLS: { readonly [Method in keyof ClusterPort]: () => Promise<unknown> } = {
  getNode: () => harness.port.getNode(freshName("absent")),
  listNodes: () => harness.port.listNodes(),
  listPodsOnNode: () => harness.port.listPodsOnNode(freshName("absent")),
  getClaim: () => harness.port.getClaim("default", freshName("absent")),
  getVolume: () => harness.port.getVolume(freshName("absent")),
  getAttachment: () => harness.port.getAttachment(freshName("absent")),
  listAttachmentRows: () => harness.port.listAttachmentRows({ withNodeIds: true }),
  getCsiNode: () => harness.port.getCsiNode(freshName("absent")),
  getLease: () => harness.port.getLease(freshName("absent")),
  patchNode: async () => {
    const name = freshName("node");
    await harness.addNode({ name });
    await harness.port.patchNode(name, [{ op: "add", path: "/spec/unschedulable", value: true }]);
  },
  evictPod: async () => harness.port.evictPod(await aPod()),
  deletePod: async () => harness.port.deletePod(await aPod(), 0),
  failPod: async () => harness.port.failPod(await aPod(), "gone", Date.now()),
  recordEvent: () =>
    harness.port.recordEvent({
      node: "n1",
      nodeUid: freshName("uid"),
      type: "Normal",
      reason: "DrainStarted",
      message: "started",
      at: Date.now(),
    }),
};

async function aPod() {
  return addPod(harness, await addNode(harness));
}

function verbs(): readonly {
  readonly method: keyof ClusterPort;
  readonly rule: RbacRule;
  readonly verb: RbacVerb;
}[] {
  return METHODS.flatMap((method) =>
    CLUSTER_PERMISSIONS[method].flatMap((rule) => rule.verbs.map((verb) => ({ method, rule, verb }))),
  );
}

function without(rule: RbacRule, verb: RbacVerb): readonly RbacRule[] {
  const left = rule.verbs.filter((each) => each !== verb);
  return left.length === 0 ? [] : [{ ...rule, verbs: left }];
}

/** Gives the roles these rules; one that has none left is emptied. */
async function grant(rules: readonly RbacRule[]): Promise<void> {
  const wanted = rbacManifests(rules);
  for (const manifest of rbacManifests().filter((each) => each.rules !== undefined)) {
    const same = wanted.find(
      (each) => each.kind === manifest.kind && each.metadata.namespace === manifest.metadata.namespace,
    );
    const path = `${collectionOf(manifest)}/${manifest.metadata.name}`;
    await controlPlane.api.patch("merge", path, { rules: same?.rules ?? [] });
  }
}

function collectionOf({ kind, metadata }: RbacObject): string {
  const scope = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  return `/apis/rbac.authorization.k8s.io/v1${scope}/${kind.toLowerCase()}s`;
}

/** Whether the API server's authorizer grants the drain's user all that this method needs. */
async function isAllowed(method: keyof ClusterPort): Promise<boolean> {
  const api = (await connectionOf(DRAIN.user)).makeApiClient(AuthorizationV1Api);
  const answers = await Promise.all(
    CLUSTER_PERMISSIONS[method].flatMap((rule) =>
      rule.verbs.map((verb) => {
        const [resource = "", subresource = ""] = rule.resource.split("/");
        const namespace = rule.namespace ?? "";
        const resourceAttributes = { group: rule.apiGroup, resource, subresource, verb, namespace };
        return api.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes } } });
      }),
    ),
  );
  return answers.every((answer) => answer.status?.allowed === true);
}

/** Every verb on every resource that the user has in the namespace, as `verb resource.group`. */
async function permitted(user: string, namespace: string): Promise<ReadonlySet<string>> {
  const api = (await connectionOf(user)).makeApiClient(AuthorizationV1Api);
  const { status } = await api.createSelfSubjectRulesReview({ body: { spec: { namespace } } });
  return new Set(
    (status?.resourceRules ?? []).flatMap(({ verbs, resources = [], apiGroups = [] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    ),
  );
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS / 1_000} s until ${what}`);
    await sleep(20);
  }
}

async function connectionOf(user: string): Promise<ClusterConnection> {
  const known = connections.get(user);
  if (known !== undefined) return known;
  const connection = await tokenConnection(controlPlane, async () => controlPlane.tokenFor(user));
  connections.set(user, connection);
  return connection;
}
