/** `doctor` as a process: a healthy cluster, and broken ones whose cause it has to name. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { HOOK_LABEL, KUBERNETES_GROUP } from "../../lib/drain/names.ts";
import { type CommandPlace, runCommand } from "./command-line.ts";
import type { ApiObject } from "./api-objects.ts";
import { createAll } from "./create-all.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import { GROUP, UNCARED_GROUP, ZONE } from "./region.ts";
import { daemonSet, disruptionBudget } from "./workloads.ts";

interface Finding {
  readonly area: string;
  readonly level: string;
  readonly what: string;
  readonly fix?: string;
}

const HELD = { lifecycle: { preStop: { httpGet: { path: "/", port: 9810 } } } };
const CONTAINERS = [
  { name: "ebs-plugin", image: "registry.example/aws-ebs-csi-driver:v1.57.0", ...HELD },
  { name: "node-driver-registrar", image: "registry.example/node-driver-registrar:v2", ...HELD },
];

let stage: Stage;
let admin: CommandPlace;

beforeAll(async () => {
  stage = await Stage.start();
  admin = { kubeconfig: stage.controlPlane.kubeconfigPath, awsUrl: stage.region.url };
});

afterAll(async () => {
  await stage?.close();
});

async function doctor(place: CommandPlace, ...args: readonly string[]) {
  const { code, out, errors } = await runCommand(place, "doctor", "-o", "json", ...args);
  expect(errors).toBe("");
  return { code, findings: JSON.parse(out) as readonly Finding[] };
}

const complaints = (findings: readonly Finding[]): readonly string[] =>
  findings.filter(({ level }) => level !== "ok").map(({ area, level, what }) => `${level} ${area}: ${what}`);

/** As the CSI driver's provisioner confines each volume that it makes. */
async function confineToZone(volumeId: string): Promise<void> {
  const expression = { key: "topology.kubernetes.io/zone", operator: "In", values: [ZONE] };
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } };
  await stage.api.patch("merge", `/api/v1/persistentvolumes/pv-${volumeId}`, { spec: { nodeAffinity } });
}

it("finds what is wrong with a cluster, each with the command that mends it (C35)", async (test) => {
  const scenario = await Scenario.create(stage, "doctor", test);
  const machine = await scenario.launch();
  await confineToZone(await scenario.runDatabase(machine));
  await createAll(stage.api, [disruptionBudget("db", 0, "doctor")]);

  const first = await doctor(admin, "--group", GROUP, UNCARED_GROUP);
  expect(first.code).toBe(1);
  const found = complaints(first.findings).join("\n");
  expect(found).toContain("error csi driver: no DaemonSet runs the EBS CSI driver");
  expect(found).toContain(`error lifecycle hooks: group ${UNCARED_GROUP} has no lifecycle hook ebs-drain`);
  expect(found).toContain(
    "error lifecycle hooks: hook ebs-drain of workers-a has a heartbeat timeout of 60 s",
  );
  expect(found).toContain("warning budgets: PodDisruptionBudget doctor/db can never be satisfied");
  expect(found).toContain("warning zones: StatefulSet doctor/db");
  expect(found).not.toContain("group ebs-drain may not");
  const fixes = first.findings.filter(({ level }) => level !== "ok").map(({ fix }) => fix ?? "");
  expect(fixes.filter((fix) => fix.length < 10)).toEqual([]);
});

it("sees the driver's pods, the hook in them and whether the registrar is held (C32)", async () => {
  const set = { namespace: "kube-system", graceSeconds: 600, containers: CONTAINERS };
  await createAll(stage.api, [daemonSet({ ...set, name: "ebs-csi-node", labels: { [HOOK_LABEL]: "true" } })]);
  await eventually("a driver pod is there", async () => {
    const pods = await stage.api.list("/api/v1/namespaces/kube-system/pods?labelSelector=app%3Debs-csi-node");
    return pods.items.length > 0;
  });
  const { findings } = await doctor(admin, "--kubernetes-only");
  expect(complaints(findings).join("\n")).toContain("error rights: the hook (default) may not");
  const driver = findings.filter(({ area }) => area === "csi driver");
  expect(driver.map(({ level, what }) => `${level} ${what}`)).toEqual([
    "ok DaemonSet kube-system/ebs-csi-node: driver v1.57.0, 1 pods",
    "ok DaemonSet kube-system/ebs-csi-node tolerates every taint",
    "ok the hook is in every pod of kube-system/ebs-csi-node",
    "ok driver and registrar of kube-system/ebs-csi-node stay until the hook answers (C32)",
    "ok pods of kube-system/ebs-csi-node have 600 s to end",
  ]);
});

it("names the role that is missing, and is satisfied once it is there", async () => {
  const binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/ebs-drain";
  const before = await stage.api.get<ApiObject>(binding);
  if (before === undefined) throw new Error(`no ${binding}`);
  await stage.api.delete(binding);
  const missing = await eventually("the right is gone", async () => {
    const { findings } = await doctor(admin, "--kubernetes-only");
    return findings.find(({ what }) => what.startsWith(`group ${KUBERNETES_GROUP} may not`));
  });
  expect(missing.what).toContain("create pods/eviction");
  expect(missing.fix).toBe("ebs-drain install rbac | kubectl apply -f -");
  const { metadata: _old, ...rest } = before;
  await stage.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    ...rest,
    metadata: { name: "ebs-drain" },
  });
  await eventually("the right is there again", async () => {
    const { findings } = await doctor(admin, "--kubernetes-only");
    return findings.some(({ what }) => what === `group ${KUBERNETES_GROUP} may all that a drain needs`);
  });
});

it("tells who may look at little what could not be looked at, and calls none of it well", async () => {
  const kubeconfig = await stage.controlPlane.kubeconfigFor("mallory");
  const { findings } = await doctor({ kubeconfig });
  const unseen = findings.filter(({ level }) => level === "unknown").map(({ area }) => area);
  expect(new Set(unseen)).toEqual(
    new Set(["rights", "aws", "csi driver", "other drainers", "budgets", "zones"]),
  );
  expect(findings.find(({ what }) => what.startsWith("you may not"))?.what).toContain("list nodes");
});

it("names the network as the cause where the cluster answers nothing (C35)", async () => {
  await stage.controlPlane.stopApiServer();
  try {
    const { code, findings } = await doctor({ kubeconfig: admin.kubeconfig });
    expect(code).toBe(1);
    expect(complaints(findings)[0]).toMatch(/^error cluster: .*the API server cannot be reached/);
  } finally {
    await stage.controlPlane.startApiServer();
  }
});
