import { describe, expect, it } from "vitest";
import { CLUSTER_PERMISSIONS, HOOK_PERMISSIONS } from "../../lib/engine/permissions.ts";
import { type FailureKind, PortError } from "../../lib/engine/errors.ts";
import type { AccessQuestion, BudgetView } from "../../lib/kubernetes/inspection.ts";
import { node } from "../drain/observation-builder.ts";
import {
  CONTAINERS,
  DRIVER,
  type Differs,
  complaints,
  container,
  diagnosed,
  driverPod,
  hook,
} from "./doctor-world.ts";

const failing = (kind: FailureKind, message: string) => () =>
  Promise.reject(new PortError(kind, "kubernetes.getVersion", message));

/** The one complaint of a cluster that differs so. */
async function only(differs: Differs) {
  const diagnosis = await diagnosed(differs);
  const found = complaints(diagnosis);
  expect(found).toHaveLength(1);
  const [finding] = found;
  // Each says why it matters and what to do.
  expect(finding?.why?.length).toBeGreaterThan(20);
  expect(finding?.fix?.length).toBeGreaterThan(10);
  expect(diagnosis.text).toContain(finding?.fix);
  return { finding, code: diagnosis.code };
}

describe("doctor", () => {
  it("complains of nothing where all is well, and ends with 0", async () => {
    const diagnosis = await diagnosed();
    expect(complaints(diagnosis)).toEqual([]);
    expect(diagnosis.code).toBe(0);
    expect(diagnosis.text).toMatch(/0 errors, 0 warnings, 0 not looked at, \d+ well$/);
  });

  it("ends with 1 for an error, and with --strict for a warning", async () => {
    const old = { inspection: { getVersion: async () => "v1.24.9" } };
    expect((await diagnosed(old)).code).toBe(0);
    expect((await diagnosed({ ...old, options: { strict: true } })).code).toBe(1);
    expect((await diagnosed({ aws: { listHooks: async () => [] } })).code).toBe(1);
  });
});

describe("doctor: reaching the cluster (C35)", () => {
  it.each([
    ["network", "version at 10.0.0.1: the API server cannot be reached", "private endpoint needs a VPN"],
    ["unauthenticated", "the credentials were refused (401)", "aws eks list-access-entries"],
  ] as const)("names %s as the cause once, and the way out", async (kind, message, fix) => {
    const { finding, code } = await only({ inspection: { getVersion: failing(kind, message) } });
    expect(finding).toMatchObject({ area: "cluster", level: "error", what: message });
    expect(finding?.fix).toContain(fix);
    expect(code).toBe(1);
  });

  it("tells authentication mode, missing access entry and private endpoint apart", async () => {
    const access = { authenticationMode: "API", isPublic: true, publicCidrs: ["0.0.0.0/0"] };
    const mode = await only({
      aws: { describeAccess: async () => ({ ...access, authenticationMode: "CONFIG_MAP" }) },
    });
    expect(mode.finding).toMatchObject({ area: "access", level: "error" });
    expect(mode.finding?.fix).toContain("authenticationMode=API_AND_CONFIG_MAP");
    const entry = await only({
      aws: { listAccessEntries: async () => [{ principal: "arn:x", groups: [] }] },
    });
    expect(entry.finding?.what).toContain("no access entry");
    expect(entry.finding?.fix).toContain("create-access-entry");
    const hidden = await only({ aws: { describeAccess: async () => ({ ...access, isPublic: false }) } });
    expect(hidden.finding).toMatchObject({ level: "warning", what: "the endpoint of prod-1 is private" });
  });
});

describe("doctor: rights", () => {
  it("asks every verb of both permission tables, and of nothing else (C34)", async () => {
    const own = new Set<string>();
    const others = new Map<string, Set<string>>();
    const text = ({ verb, apiGroup, resource, namespace }: AccessQuestion): string =>
      [verb, apiGroup, resource, namespace].join(" ");
    await diagnosed({
      inspection: {
        reviewOwnAccess: async (question) => {
          own.add(text(question));
          return { allowed: true, reason: "" };
        },
        reviewAccessOf: async ({ user }, question) => {
          others.set(user, (others.get(user) ?? new Set()).add(text(question)));
          return { allowed: true, reason: "" };
        },
      },
    });
    const wanted = (rules: typeof CLUSTER_PERMISSIONS | typeof HOOK_PERMISSIONS): ReadonlySet<string> =>
      new Set(
        Object.values(rules)
          .flat()
          .flatMap(({ verbs, ...rule }) => verbs.map((verb) => text({ ...rule, verb }))),
      );
    expect(own).toEqual(wanted(CLUSTER_PERMISSIONS));
    expect(others.get("ebs-drain")).toEqual(wanted(CLUSTER_PERMISSIONS));
    expect(others.get("system:serviceaccount:kube-system:ebs-csi-node-sa")).toEqual(wanted(HOOK_PERMISSIONS));
  });

  it("asks for the hook's rights as whom and where its pods run", async () => {
    const subjects = new Set<string>();
    const namespaces = new Set<string>();
    const pod = driverPod({ namespace: "storage", serviceAccount: "csi" });
    const { finding } = await only({
      inspection: {
        listDriverPods: async () => [pod],
        reviewAccessOf: async ({ user }, { namespace = "" }) => {
          subjects.add(user);
          if (user !== "ebs-drain") namespaces.add(namespace);
          return { allowed: user === "ebs-drain", reason: "" };
        },
      },
    });
    expect(subjects).toEqual(new Set(["ebs-drain", "system:serviceaccount:storage:csi"]));
    expect(namespaces).toEqual(new Set(["", "storage", "default"]));
    expect(finding?.fix).toContain("install rbac --for hook --namespace storage --service-account csi");
  });

  it("tells a role that is missing for the functions from one that is missing for whoever asks", async () => {
    const group = await only({
      inspection: {
        reviewAccessOf: async ({ user }, { resource }) => ({
          allowed: user !== "ebs-drain" || resource !== "pods/eviction",
          reason: "",
        }),
      },
    });
    expect(group.finding).toMatchObject({
      area: "rights",
      level: "error",
      what: "group ebs-drain may not create pods/eviction",
    });
    const own = await only({
      inspection: { reviewOwnAccess: async ({ verb }) => ({ allowed: verb !== "patch", reason: "" }) },
    });
    expect(own.finding).toMatchObject({
      level: "warning",
      what: "you may not patch nodes, patch pods/status",
    });
  });

  it("says which AWS actions the credentials lack, tried without changing anything", async () => {
    const refused = new PortError("forbidden", "ec2.listAttachedVolumes", "UnauthorizedOperation");
    const { finding } = await only({ aws: { tryDescribeVolumes: () => Promise.reject(refused) } });
    expect(finding?.what).toBe("these credentials may not ec2:DescribeVolumes");
  });

  it("does not call the unseen well: without AWS credentials that is said, and ends with 0", async () => {
    const { finding, code } = await only({ operator: { aws: { kind: "none", why: "no credentials" } } });
    expect(finding).toMatchObject({ level: "unknown", what: "AWS is not asked: no credentials" });
    expect(code).toBe(0);
  });

  it("goes on with the rest where one list is refused", async () => {
    const { finding } = await only({
      inspection: { listBudgets: failing("forbidden", "list of budgets: 403") },
    });
    expect(finding).toMatchObject({ area: "budgets", level: "unknown", what: "list of budgets: 403" });
  });
});

describe("doctor: lifecycle hooks (C35)", () => {
  it.each([
    ["is missing", [], "error", "has no lifecycle hook ebs-drain"],
    [
      "is for launches",
      [hook({ transition: "autoscaling:EC2_INSTANCE_LAUNCHING" })],
      "error",
      "not for termination",
    ],
    ["runs out between beats", [hook({ heartbeatTimeout: 120 })], "error", "heartbeat timeout of 120 s"],
    ["abandons by default (C36)", [hook({ defaultResult: "ABANDON" })], "warning", "default result ABANDON"],
  ] as const)("complains where ours %s", async (_what, hooks, level, words) => {
    const { finding } = await only({ aws: { listHooks: async () => hooks } });
    expect(finding).toMatchObject({ area: "lifecycle hooks", level });
    expect(finding?.what).toContain(words);
    expect(finding?.fix).toContain("put-lifecycle-hook --auto-scaling-group-name workers-a");
  });

  it("names another team's hook, and leaves EKS's own alone (C22)", async () => {
    const hooks = [hook(), hook({ name: "nth-queue", defaultResult: "ABANDON" })];
    const { finding } = await only({ aws: { listHooks: async () => hooks } });
    expect(finding).toMatchObject({ level: "warning" });
    expect(finding?.what).toContain("another terminate hook, nth-queue");
  });

  it("finds the groups by the Nodes' instances where nobody names them, or says that it knows none", async () => {
    const asked: string[] = [];
    const listHooks = async (group: string) => {
      asked.push(group);
      return [hook()];
    };
    const found = await diagnosed({ operator: { groups: [] }, nodes: [node()], aws: { listHooks } });
    expect(complaints(found)).toEqual([]);
    expect(new Set(asked)).toEqual(new Set(["workers-a"]));
    const { finding } = await only({ operator: { groups: [] } });
    expect(finding).toMatchObject({ area: "lifecycle hooks", level: "unknown" });
    expect(finding?.fix).toContain("--group");
  });
});

describe("doctor: the CSI driver", () => {
  const podOf = (differs: Parameters<typeof driverPod>[0]) => ({
    inspection: { listDriverPods: async () => [driverPod(differs)] },
  });

  it.each([
    ["there is none", { inspection: { listDaemonSets: async () => [] } }, "error", "no DaemonSet runs"],
    [
      "only Windows nodes have it",
      { inspection: { listDaemonSets: async () => [{ ...DRIVER, os: "windows" }] } },
      "error",
      "no DaemonSet runs",
    ],
    [
      "it does not tolerate every taint (C31)",
      { inspection: { listDaemonSets: async () => [{ ...DRIVER, tolerations: [] }] } },
      "warning",
      "does not tolerate every taint",
    ],
    ["the hook is missing", podOf({ labels: {} }), "warning", "the hook is in no pod"],
    ["its time to end is short", podOf({ graceSeconds: 30 }), "warning", "have 30 s to end"],
    [
      "its registrar is not held (C32)",
      podOf({ containers: [...CONTAINERS.slice(0, 1), container("node-driver-registrar")] }),
      "error",
      "the registrar of kube-system/ebs-csi-node-x has no preStop",
    ],
  ] as const)("complains where %s", async (_what, differs, level, words) => {
    const { finding } = await only(differs);
    expect(finding).toMatchObject({ area: "csi driver", level });
    expect(finding?.what).toContain(words);
  });

  it("names the nodes whose pods are from before the install", async () => {
    const pods = [driverPod(), driverPod({ labels: {}, nodeName: "node-7" })];
    const { finding } = await only({ inspection: { listDriverPods: async () => pods } });
    expect(finding?.what).toContain("in 1 of 2 pods");
    expect(finding?.what).toContain("not on node-7");
    expect(finding?.fix).toBe("kubectl rollout restart daemonset ebs-csi-node -n kube-system");
  });

  it("complains of a controller without a second replica (C33)", async () => {
    const controller = {
      kind: "Deployment",
      namespace: "kube-system",
      name: "ebs-csi-controller",
      replicas: 1,
      containers: [container("csi-attacher")],
    } as const;
    const { finding } = await only({ inspection: { listDeployments: async () => [controller] } });
    expect(finding?.fix).toContain("kubectl scale deployment ebs-csi-controller");
  });

  it("finds a node termination handler that would complete our hook when the pods are gone (C1, C22)", async () => {
    const handler = (env: Record<string, string>) => ({
      inspection: {
        listDeployments: async () => [
          {
            kind: "Deployment" as const,
            namespace: "kube-system",
            name: "nth",
            containers: [
              container("nth", { image: "registry.example/aws-node-termination-handler:v1", env }),
            ],
          },
        ],
      },
    });
    const { finding } = await only(handler({ ENABLE_SQS_TERMINATION_DRAINING: "true" }));
    expect(finding).toMatchObject({ area: "other drainers", level: "error" });
    expect(complaints(await diagnosed(handler({})))).toEqual([]);
  });
});

describe("doctor: budgets and zones", () => {
  const budget = (differs: Partial<BudgetView>): BudgetView => ({
    namespace: "shop",
    name: "db",
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 2,
    ...differs,
  });

  it("tells a budget that can never be satisfied from one that waits for a healthy pod", async () => {
    const never = await only({ inspection: { listBudgets: async () => [budget({})] } });
    expect(never.finding?.what).toContain("shop/db can never be satisfied: it wants 2 healthy of 2");
    expect(never.finding?.fix).toContain("kubectl patch pdb db -n shop");
    const waits = await only({
      inspection: { listBudgets: async () => [budget({ expectedPods: 3, currentHealthy: 2 })] },
    });
    expect(waits.finding?.what).toContain("lets no pod go now: 2 healthy of 2 wanted");
    const idle = [
      budget({ expectedPods: 0, desiredHealthy: 0 }),
      budget({ disruptionsAllowed: 1, expectedPods: 3 }),
    ];
    expect(complaints(await diagnosed({ inspection: { listBudgets: async () => idle } }))).toEqual([]);
  });

  it("finds a StatefulSet whose volumes' zone has no second usable node", async () => {
    const node = (name: string, zone: string, isUsable = true) => ({ name, zone, isUsable });
    const places = (nodes: readonly ReturnType<typeof node>[]): Differs => ({
      inspection: {
        listStatefulSets: async () => [
          { namespace: "shop", name: "db", replicas: 1, claimTemplates: ["data"] },
        ],
        listBoundVolumes: async () => [
          { name: "pv-1", claim: "shop/data-db-0", driver: "ebs.csi.aws.com", zones: ["eu-west-1a"] },
          { name: "pv-2", claim: "shop/data-db-other-0", driver: "ebs.csi.aws.com", zones: ["eu-west-1c"] },
          { name: "pv-3", claim: "shop/data-db-1", driver: "efs.csi.aws.com", zones: ["eu-west-1c"] },
        ],
        listZoneNodes: async () => nodes,
      },
    });
    const alone = [node("a", "eu-west-1a"), node("b", "eu-west-1b"), node("c", "eu-west-1a", false)];
    const { finding } = await only(places(alone));
    expect(finding?.what).toContain("StatefulSet shop/db: shop/data-db-0 can be attached in eu-west-1a only");
    expect(complaints(await diagnosed(places([...alone, node("d", "eu-west-1a")])))).toEqual([]);
  });
});
