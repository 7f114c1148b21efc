import { describe, expect, it, onTestFinished } from "vitest";
import { createInspectionPort } from "../../lib/kubernetes/cluster-inspection.ts";
import { eksConnection } from "../../lib/kubernetes/connection.ts";
import { isSelected } from "../../lib/kubernetes/inspection.ts";
import {
  boundVolumeView,
  budgetView,
  daemonSetView,
  deploymentView,
  driverPodView,
  selectorText,
  statefulSetView,
  zoneNodeView,
} from "../../lib/kubernetes/inspection-views.ts";
import { type AskedOfFake, json, startFakeApi } from "./fake-api.ts";

const metadata = { namespace: "kube-system", name: "thing" };
const term = (key: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator: "In", values }],
});
const podSpec = {
  terminationGracePeriodSeconds: 60,
  tolerations: [{ operator: "Exists" }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [term("kubernetes.io/os", "linux")],
      },
    },
  },
  containers: [
    {
      name: "ebs-plugin",
      image: "driver:v1",
      args: ["node"],
      env: [
        { name: "A", value: "1" },
        { name: "B", valueFrom: {} },
      ],
      lifecycle: { preStop: { exec: { command: ["x"] } } },
    },
    { name: "registrar", image: "registrar:v1", lifecycle: { preStop: { httpGet: { port: 1 } } } },
    { name: "probe" },
  ],
};

describe("inspection views", () => {
  it("show of a DaemonSet what doctor judges by", () => {
    const set = { metadata, spec: { selector: { matchLabels: { app: "x" } }, template: { spec: podSpec } } };
    expect(daemonSetView(set)).toMatchObject({
      namespace: "kube-system",
      name: "thing",
      os: "linux",
      graceSeconds: 60,
      selector: { matchLabels: { app: "x" }, matchExpressions: [] },
      tolerations: [{ operator: "Exists" }],
      containers: [
        { name: "ebs-plugin", args: ["node"], env: { A: "1" }, preStop: "exec" },
        { name: "registrar", preStop: "httpGet" },
        { name: "probe", image: "", args: [] },
      ],
    });
    expect(daemonSetView(set).containers[2]).not.toHaveProperty("preStop");
  });

  it("read what the API server would fill in where a field is absent", () => {
    expect(daemonSetView({ metadata })).toMatchObject({ graceSeconds: 30, containers: [], tolerations: [] });
    expect(deploymentView({ metadata })).toMatchObject({ kind: "Deployment", replicas: 1 });
    expect(statefulSetView({ metadata })).toMatchObject({ replicas: 1, claimTemplates: [] });
    expect(budgetView({ metadata })).toMatchObject({ disruptionsAllowed: 0, expectedPods: 0 });
    expect(driverPodView({ metadata, spec: podSpec })).toMatchObject({ graceSeconds: 60, nodeName: "" });
  });

  it("read zones of volumes and Nodes, under each of their labels", () => {
    const volume = (key: string) => ({
      metadata: { name: "pv" },
      spec: {
        csi: { driver: "ebs.csi.aws.com", volumeHandle: "vol-1" },
        claimRef: { namespace: "shop", name: "data-db-0" },
        nodeAffinity: { required: { nodeSelectorTerms: [term(key, "eu-west-1a")] } },
      },
    });
    for (const key of ["topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"]) {
      expect(boundVolumeView(volume(key))).toEqual({
        name: "pv",
        claim: "shop/data-db-0",
        driver: "ebs.csi.aws.com",
        zones: ["eu-west-1a"],
      });
    }
    const node = {
      metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "eu-west-1a" } },
      spec: {},
      status: { conditions: [{ type: "Ready", status: "True" }] },
    };
    expect(zoneNodeView(node)).toEqual({ name: "n", zone: "eu-west-1a", isUsable: true });
    expect(zoneNodeView({ ...node, spec: { unschedulable: true } }).isUsable).toBe(false);
    expect(zoneNodeView({ ...node, status: {} }).isUsable).toBe(false);
  });
});

describe("selectors", () => {
  const expressions = (operator: string, ...values: readonly string[]) => ({
    matchLabels: { app: "db" },
    matchExpressions: [{ key: "tier", operator, values }],
  });

  it.each([
    [expressions("In", "a", "b"), { app: "db", tier: "a" }, true],
    [expressions("In", "a"), { app: "db" }, false],
    [expressions("NotIn", "a"), { app: "db" }, true],
    [expressions("NotIn", "a"), { app: "db", tier: "a" }, false],
    [expressions("Exists"), { app: "db", tier: "x" }, true],
    [expressions("DoesNotExist"), { app: "db", tier: "x" }, false],
    [expressions("Exists"), { tier: "x" }, false],
    [{ matchLabels: {}, matchExpressions: [] }, {}, true],
    [undefined, { app: "db" }, false],
  ])("select as the API server does: %j of %j", (selector, labels, selected) => {
    expect(isSelected(selector, labels)).toBe(selected);
  });

  it("are written as a request takes them", () => {
    expect(selectorText(expressions("NotIn", "a", "b"))).toBe("app=db,tier notin (a,b)");
    expect(selectorText(expressions("Exists"))).toBe("app=db,tier");
    expect(selectorText(expressions("DoesNotExist"))).toBe("app=db,!tier");
  });
});

describe("the inspection of a cluster", () => {
  async function portOver(answer: (asked: AskedOfFake) => readonly [number, unknown]) {
    const api = await startFakeApi((asked, response) => json(response, ...answer(asked)));
    onTestFinished(() => api.close());
    const connection = eksConnection({ server: api.url, caData: "", token: async () => "t" });
    onTestFinished(() => connection.close());
    return { port: createInspectionPort(connection), api };
  }

  it("reads every page of a list", async () => {
    const { port, api } = await portOver(({ url }) => [
      200,
      url.includes("continue=more")
        ? { items: [{ metadata: { name: "b" } }], metadata: {} }
        : { items: [{ metadata: { name: "a" } }], metadata: { continue: "more" } },
    ]);
    expect((await port.listBudgets()).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(api.asked).toHaveLength(2);
  });

  it("asks for a right as its subresource and namespace", async () => {
    const { port, api } = await portOver(() => [201, { spec: {}, status: { allowed: true } }]);
    const question = { apiGroup: "", resource: "pods/eviction", verb: "create", namespace: "shop" } as const;
    expect(await port.reviewOwnAccess(question)).toMatchObject({ allowed: true });
    await port.reviewAccessOf({ user: "u", groups: ["g"] }, question);
    const resourceAttributes = {
      group: "",
      resource: "pods",
      subresource: "eviction",
      verb: "create",
      namespace: "shop",
    };
    expect(api.asked.map(({ body }) => (body as { spec: unknown }).spec)).toMatchObject([
      { resourceAttributes },
      { resourceAttributes, user: "u", groups: ["g", "system:authenticated"] },
    ]);
  });

  it("names the right that whoever runs the command lacks (C35)", async () => {
    const { port } = await portOver(() => [403, { kind: "Status", message: "no" }]);
    await expect(port.listStatefulSets()).rejects.toMatchObject({
      kind: "forbidden",
      message: expect.stringContaining(
        "It needs list on statefulsets.apps: grant it to whoever runs this command",
      ),
    });
  });
});
