/** The ways to install the hook on a real API server: what becomes of pods and DaemonSets, and what stays when it is removed. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type InstallHookOptions, installHook } from "../../lib/cli/install.ts";
import { KeptTerminal } from "../cli/terminal.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type ChartOptions, type DaemonSet, chartDaemonSet } from "./csi-chart.ts";
import { eventually } from "./eventually.ts";
import {
  HOOK,
  LABEL,
  admitted,
  containerOf,
  hooksOf,
  isHooked,
  nodeOf,
  podsOf,
  untilPods,
} from "./installed-pods.ts";
import { type Kubectl, kubectlOf, kubectlProgram, run, succeeded } from "./kubectl.ts";
import { startControlPlane } from "./control-plane.ts";

const IMAGE = "registry.example.com/ebs-drain-hook:1.2.3";
const DEFAULTS: InstallHookOptions = {
  image: IMAGE,
  with: "admission-policy",
  namespace: "kube-system",
  serviceAccount: "ebs-csi-node-sa",
  driver: "ebs.csi.aws.com",
};
const CANARY = { "example.com/canary": "true" };
const NODES = ["linux-a", "linux-b"];

let controlPlane: ControlPlane;
let kubectl: Kubectl;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "ebs-drain-install-"));
  // Nobody listens on port 1, and nobody will ask: no pod is ever bound.
  controlPlane = await startControlPlane({ ec2Url: "http://127.0.0.1:1" });
  for (const program of ["csi-attacher", "kube-scheduler"] as const) await controlPlane.kill(program);
  kubectl = await kubectlOf(controlPlane);
  const { api } = controlPlane;
  await api.create("/api/v1/namespaces", object("Namespace", "storage"));
  for (const namespace of ["kube-system", "storage"]) {
    await api.create(
      `/api/v1/namespaces/${namespace}/serviceaccounts`,
      object("ServiceAccount", "ebs-csi-node-sa"),
    );
  }
  for (const name of NODES) {
    const labels = { "kubernetes.io/os": "linux", ...(name === "linux-a" ? CANARY : {}) };
    await api.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, labels } });
  }
});
afterAll(async () => {
  await controlPlane?.stop();
  await rm(folder, { recursive: true });
});

/** What the command prints. */
async function printed(change: Partial<InstallHookOptions> = {}): Promise<string> {
  const terminal = new KeptTerminal();
  await installHook({ ...DEFAULTS, ...change }, terminal);
  return terminal.printed.join("\n");
}

/** The folder that the command writes to. */
async function written(name: string, change: Partial<InstallHookOptions>): Promise<string> {
  const out = path.join(folder, name);
  await installHook({ ...DEFAULTS, ...change, out }, new KeptTerminal());
  return out;
}

function object(kind: string, name: string) {
  return { apiVersion: "v1", kind, metadata: { name } };
}

/** The handlers of a pod with the hook. */
function hooks(
  host?: string,
  [driver, registrar] = ["ebs-plugin", "node-driver-registrar"],
): Readonly<Record<string, unknown>> {
  const handler = (name: string) => ({
    httpGet: {
      ...(host === undefined ? {} : { host }),
      path: `/pre-stop?container=${name}`,
      port: 9810,
      scheme: "HTTP",
    },
  });
  const held = Object.fromEntries([driver, registrar, HOOK].map((name) => [name, handler(name)]));
  return { ...held, "liveness-probe": undefined };
}

/** The API server learns of a policy by watch. */
async function untilPolicy(isThere: boolean, of: DaemonSet = chartDaemonSet()): Promise<void> {
  await eventually(`the policy ${isThere ? "holds" : "is gone"}`, async () => {
    return isHooked(await admitted(controlPlane, of)) === isThere;
  });
}

describe("the admission policy", () => {
  beforeAll(async () => {
    await succeeded(kubectl(["apply", "-f", "-"], await printed()));
    await untilPolicy(true);
  });
  afterAll(async () => {
    await kubectl(["delete", "--ignore-not-found", "-f", "-"], await printed());
    await untilPolicy(false);
  });

  it("gives a CSI node pod the hook, its preStop to driver, registrar and itself, and time (C28, C32)", async () => {
    const pod = await admitted(controlPlane, chartDaemonSet());
    expect(hooksOf(pod)).toEqual(hooks());
    expect(pod.metadata.labels?.[LABEL]).toBe("admission-policy");
    expect(pod.spec.terminationGracePeriodSeconds).toBe(600);
    expect(containerOf(pod, "ebs-plugin").livenessProbe).toMatchObject({
      failureThreshold: 5,
      terminationGracePeriodSeconds: 30,
    });
    const hook = containerOf(pod, HOOK);
    expect(hook).toMatchObject({ image: IMAGE, securityContext: { capabilities: { drop: ["ALL"] } } });
    expect(hook.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([
      "/csi",
      "/var/run/secrets/kubernetes.io/serviceaccount",
    ]);
  });

  it("asks at the node's loopback in a pod of the node's network", async () => {
    const pod = await admitted(controlPlane, chartDaemonSet({ hostNetwork: true }));
    expect(hooksOf(pod)).toEqual(hooks("127.0.0.1"));
    expect(containerOf(pod, HOOK).env).toContainEqual({ name: "EBS_DRAIN_HOOK_HOST", value: "127.0.0.1" });
    expect(containerOf(pod, HOOK)["readinessProbe"]).toMatchObject({ httpGet: { host: "127.0.0.1" } });
  });

  it.each<[string, ChartOptions]>([
    ["under another name in another namespace", { name: "storage-node", namespace: "storage" }],
    ["an additional DaemonSet for some nodes", { name: "ebs-csi-node-db", nodeSelector: { pool: "db" } }],
  ])("finds the driver %s", async (_, options) => {
    expect(hooksOf(await admitted(controlPlane, chartDaemonSet(options)))).toEqual(hooks());
  });

  it("finds the driver by its command, whatever its containers are called", async () => {
    const { containers } = chartDaemonSet().spec.template.spec;
    const renamed = containers.map((container, index) => {
      const { args = [] } = container as { readonly args?: readonly string[] };
      return { ...container, name: `c${index}`, command: ["/bin/program", ...args], args: [] };
    });
    const pod = await admitted(controlPlane, chartDaemonSet(), { containers: renamed });
    const handlers = hooks(undefined, ["c0", "c1"]);
    expect(hooksOf(pod)).toMatchObject({ c0: handlers["c0"], c1: handlers["c1"] });
    expect(hooksOf(pod)["c2"]).toBeUndefined();
  });

  it("takes an affinity for Linux nodes for a selector of them", async () => {
    const term = { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["linux"] }] };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    const change = { nodeSelector: {}, affinity: { nodeAffinity: required } };
    expect(isHooked(await admitted(controlPlane, chartDaemonSet(), change))).toBe(true);
  });

  it("keeps a grace period that is longer", async () => {
    const pod = await admitted(controlPlane, chartDaemonSet({ graceSeconds: 1_200 }));
    expect(pod.spec.terminationGracePeriodSeconds).toBe(1_200);
    expect(containerOf(pod, HOOK).env).toContainEqual({
      name: "EBS_DRAIN_HOOK_GRACE_SECONDS",
      value: "1200",
    });
  });

  it("mounts nothing where the driver's folder is no volume of its own, and the driver's end goes unseen", async () => {
    const { volumes } = chartDaemonSet().spec.template.spec as unknown as { volumes: { name: string }[] };
    const other = volumes.map((volume) =>
      volume.name === "plugin-dir" ? { name: volume.name, emptyDir: {} } : volume,
    );
    const hook = containerOf(await admitted(controlPlane, chartDaemonSet(), { volumes: other }), HOOK);
    expect(hook.volumeMounts).toHaveLength(1);
    expect(hook.env?.find(({ name }) => name === "EBS_DRAIN_HOOK_CSI_SOCKET")?.value).toBeUndefined();
  });

  it.each<[string, ChartOptions, Readonly<Record<string, unknown>>]>([
    ["a Windows pod of the driver", { os: "windows" }, {}],
    ["a pod of the driver that may run anywhere", {}, { nodeSelector: {} }],
    ["another driver's node pod", { driver: "efs.csi.aws.com" }, {}],
    [
      "a pod with a driver and no registrar",
      {},
      { containers: chartDaemonSet().spec.template.spec.containers.slice(0, 1) },
    ],
    ["a pod of something else", {}, { containers: [{ name: "web", image: "example.com/web:1" }] }],
  ])("leaves %s as it was", async (_, options, change) => {
    const pod = await admitted(controlPlane, chartDaemonSet(options), change);
    expect(isHooked(pod)).toBe(false);
    expect(pod.spec.containers.map(({ name }) => name)).not.toContain(HOOK);
    expect(pod.spec.terminationGracePeriodSeconds).toBe(30);
  });

  it("is asked again after another policy's change, has the last word on the grace, and adds nothing twice", async () => {
    await succeeded(kubectl(["apply", "-f", "-"], JSON.stringify(otherPolicy())));
    const pod = await eventually("the other policy holds", async () => {
      const found = await admitted(controlPlane, chartDaemonSet());
      return found.metadata.annotations?.["example.com/changed"] === undefined ? undefined : found;
    });
    await succeeded(kubectl(["delete", "-f", "-"], JSON.stringify(otherPolicy())));
    expect(pod.spec.terminationGracePeriodSeconds).toBe(600);
    expect(hooksOf(pod)).toEqual(hooks());
    expect(pod.spec.containers).toHaveLength(4);
  });
});

/** Changes each pod once, after ours (policies are asked by name): its mark, and a grace period that ours would not leave. */
function otherPolicy() {
  const api = "admissionregistration.k8s.io/v1";
  const metadata = { name: "zz-other" };
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
  ];
  const expression =
    "Object{metadata: Object.metadata{annotations: {'example.com/changed': 'true'}}, spec: Object.spec{terminationGracePeriodSeconds: 5}}";
  const spec = {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules },
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
  };
  return {
    apiVersion: "v1",
    kind: "List",
    items: [
      { apiVersion: api, kind: "MutatingAdmissionPolicy", metadata, spec },
      { apiVersion: api, kind: "MutatingAdmissionPolicyBinding", metadata, spec: { policyName: "zz-other" } },
    ],
  };
}

describe("the admission policy over a DaemonSet's life", () => {
  const daemonSet = chartDaemonSet();
  const where = `/apis/apps/v1/namespaces/kube-system/daemonsets/${daemonSet.metadata.name}`;
  const isWhole = (pods: readonly unknown[]): boolean => pods.length === NODES.length;

  it("hooks pods of the chosen nodes first, then all, through an update, and none after its removal", async () => {
    const canary = await printed({ nodeSelector: CANARY });
    await succeeded(kubectl(["apply", "-f", "-"], canary));
    await eventually("the policy holds for the chosen node", () => isHookedOn("linux-a"));
    expect(await isHookedOn("linux-b")).toBe(false);
    await controlPlane.api.create("/apis/apps/v1/namespaces/kube-system/daemonsets", daemonSet);
    const first = await untilPods(controlPlane, daemonSet, isWhole);
    expect(first.filter(isHooked).map(nodeOf)).toEqual(["linux-a"]);

    await succeeded(kubectl(["apply", "-f", "-"], await printed()));
    await eventually("the policy holds for the other node", () => isHookedOn("linux-b"));
    await succeeded(kubectl(["rollout", "restart", "-n", "kube-system", "daemonset/ebs-csi-node"]));
    await untilPods(controlPlane, daemonSet, (pods) => isWhole(pods) && pods.every(isHooked));

    const update = chartDaemonSet({ driverImage: "example.com/aws-ebs-csi-driver:v1.65.0" });
    await controlPlane.api.patch("merge", where, { spec: update.spec });
    const updated = await untilPods(
      controlPlane,
      daemonSet,
      (pods) => isWhole(pods) && pods.every(isOf("v1.65.0")),
    );
    expect(updated.map(hooksOf)).toEqual([hooks(), hooks()]);
    // What the DaemonSet says is the add-on's alone: nothing to take over, nothing to fight about.
    expect(JSON.stringify(await controlPlane.api.get(where))).not.toContain("ebs-drain");

    await succeeded(kubectl(["delete", "-f", "-"], await printed()));
    await untilPolicy(false);
    await succeeded(kubectl(["rollout", "restart", "-n", "kube-system", "daemonset/ebs-csi-node"]));
    await untilPods(controlPlane, daemonSet, (pods) => isWhole(pods) && !pods.some(isHooked));
    const [pod] = await podsOf(controlPlane, daemonSet);
    expect(hooksOf(pod ?? { spec: { containers: [] } })["ebs-plugin"]).toHaveProperty("exec");
    await controlPlane.api.delete(where);
  });

  function isOf(version: string) {
    return (pod: { readonly spec: DaemonSet["spec"]["template"]["spec"] }) =>
      containerOf(pod, "ebs-plugin").image.endsWith(version);
  }

  /** As the DaemonSet controller would make the pod for this node. */
  async function isHookedOn(node: string): Promise<boolean> {
    const term = { matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] };
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    return isHooked(await admitted(controlPlane, daemonSet, { affinity: { nodeAffinity: required } }));
  }
});

describe("the kustomize component", () => {
  async function build(daemonSets: readonly DaemonSet[], change: Partial<InstallHookOptions> = {}) {
    const root = await mkdtemp(path.join(folder, "kustomize-"));
    await written(path.join(path.basename(root), "hook"), { with: "kustomize", ...change });
    await writeFile(
      path.join(root, "driver.yaml"),
      daemonSets.map((each) => JSON.stringify(each)).join("\n---\n"),
    );
    await writeFile(path.join(root, "kustomization.yaml"), "resources: [driver.yaml]\ncomponents: [hook]\n");
    return run(await kubectlProgram(), ["kustomize", root]);
  }

  it("adds the hook to the chart's DaemonSet, in place of the driver's own preStop, and its roles (C28)", async () => {
    const text = await succeeded(
      build([chartDaemonSet(), chartDaemonSet({ name: "ebs-csi-node-windows", os: "windows" })]),
    );
    await succeeded(kubectl(["apply", "-f", "-"], text));
    const daemonSet = await daemonSetOf("ebs-csi-node");
    expect(hooksOf(daemonSet.spec.template)).toEqual(hooks());
    expect(daemonSet.spec.template.metadata.labels[LABEL]).toBe("kustomize");
    expect(daemonSet.spec.template.spec.terminationGracePeriodSeconds).toBe(600);
    expect(containerOf(daemonSet.spec.template, "ebs-plugin").livenessProbe).toMatchObject({
      failureThreshold: 5,
      terminationGracePeriodSeconds: 30,
    });
    const windows = await daemonSetOf("ebs-csi-node-windows");
    expect(JSON.stringify(windows.spec)).not.toContain("ebs-drain");
    await succeeded(kubectl(["get", "clusterrole", "ebs-drain-hook"]));
    await succeeded(kubectl(["delete", "-f", "-"], text));
  });

  it("is a post-renderer of Helm's", async () => {
    const component = await written("post-renderer", { with: "kustomize" });
    const rendered = JSON.stringify(chartDaemonSet());
    const program = path.join(component, "post-render.sh");
    const text = await succeeded(run(program, [], rendered, { KUBECTL: await kubectlProgram() }));
    expect(text).toContain(IMAGE);
    expect(text).toContain("kind: ClusterRole\n");
  });

  it.each<[string, readonly ChartOptions[], Partial<InstallHookOptions>, RegExp]>([
    ["is not there", [], {}, /no matches for Id DaemonSet.*ebs-csi-node/u],
    ["is of Windows", [{ os: "windows" }], {}, /testing value .*nodeSelector/u],
    ["uses the node's network", [{ hostNetwork: true }], {}, /testing value .*hostNetwork/u],
    ["does not use the node's network", [{}], { hostNetwork: true }, /testing value .*hostNetwork/u],
    [
      "is one of two that are named",
      [{}],
      { daemonset: ["ebs-csi-node", "ebs-csi-node-db"] },
      /no matches for Id DaemonSet.*ebs-csi-node-db/u,
    ],
  ])("fails to build where the DaemonSet %s", async (_, charts, change, why) => {
    const other = chartDaemonSet({ name: "other" });
    const { code, out, errors } = await build([other, ...charts.map(chartDaemonSet)], change);
    expect([code, out]).toEqual([1, ""]);
    expect(errors).toMatch(why);
  });

  it("builds for pods of the node's network where that is said", async () => {
    const text = await succeeded(build([chartDaemonSet({ hostNetwork: true })], { hostNetwork: true }));
    expect(text.match(/host: 127\.0\.0\.1/gu)).toHaveLength(4);
  });
});

describe("server-side apply beside an add-on", () => {
  const where = "/apis/apps/v1/namespaces/kube-system/daemonsets/ebs-csi-node";

  /** As EKS applies its add-ons. */
  async function applyAddOn(options: ChartOptions): Promise<void> {
    const answer = await controlPlane.api.request(
      "PATCH",
      `${where}?fieldManager=eks&force=true`,
      chartDaemonSet(options),
      "application/apply-patch+yaml",
    );
    expect(answer.status).toBeLessThan(300);
  }

  it("survives the add-on's forced updates, leaves all that is the add-on's, and goes without a trace", async () => {
    await applyAddOn({});
    const plain = await daemonSetOf("ebs-csi-node");
    const files = await written("server-side-apply", { with: "server-side-apply" });
    const apply = ["apply", "--server-side", "--field-manager=ebs-drain"];
    const file = (name: string): readonly string[] => ["-f", path.join(files, name)];
    await succeeded(kubectl([...apply, ...file("rbac.yaml"), ...file("daemonset.yaml")]));
    await applyAddOn({ driverImage: "example.com/aws-ebs-csi-driver:v1.65.0" });

    const updated = await daemonSetOf("ebs-csi-node");
    expect(containerOf(updated.spec.template, "ebs-plugin").image).toMatch(/v1\.65\.0$/u);
    expect(hooksOf(updated.spec.template)).toEqual({
      ...hooks(),
      "ebs-plugin": { exec: { command: ["/bin/aws-ebs-csi-driver", "pre-stop-hook"] } },
    });
    expect(updated.spec.template.metadata.labels[LABEL]).toBe("server-side-apply");

    await succeeded(kubectl([...apply, ...file("remove.yaml")]));
    await succeeded(kubectl(["delete", ...file("rbac.yaml")]));
    await applyAddOn({});
    const removed = await daemonSetOf("ebs-csi-node");
    expect(removed.spec).toEqual(plain.spec);
    expect(removed.metadata.uid).toBe(plain.metadata.uid);
    expect((await kubectl(["get", "clusterrole", "ebs-drain-hook"])).code).toBe(1);
    await controlPlane.api.delete(where);
  });

  it("warns whoever would delete the driver with the file", async () => {
    const files = await written("warned", { with: "server-side-apply" });
    expect(await readFile(path.join(files, "daemonset.yaml"), "utf8")).toMatch(
      /^# .*never use `kubectl delete`/u,
    );
  });
});

async function daemonSetOf(name: string): Promise<DaemonSet> {
  const found = await controlPlane.api.get<DaemonSet>(
    `/apis/apps/v1/namespaces/kube-system/daemonsets/${name}`,
  );
  if (found === undefined) throw new Error(`no DaemonSet ${name}`);
  return found;
}
