import { describe, expect, it } from "vitest";
import { ApiFault } from "../../lib/sim/api-server.ts";
import { evict } from "../../lib/sim/cluster-eviction.ts";
import { addDeployment, addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import { addBarePod, addMirrorPod, endNamespace } from "../../lib/sim/cluster-scene-oddities.ts";
import type { ClusterWorld } from "./cluster-world.ts";
import { cordon, evictPod, forceDelete, makeWorld, podOf, uncordon, whenRunning } from "./cluster-world.ts";

function faultOf(run: () => void): Pick<ApiFault, "code" | "causeReason" | "budget"> {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiFault) return error;
    throw error;
  }
  throw new Error("was not refused");
}

/** Two running pods of a StatefulSet `db` with this budget. */
async function makeProtected(budget: {
  readonly minAvailable?: number | string;
  readonly maxUnavailable?: number | string;
}): Promise<ClusterWorld> {
  const world = makeWorld();
  await world.addNode("a");
  await world.addNode("b");
  addStatefulSet(world.cluster, { name: "db", replicas: 2, budget, stopsAfter: 20_000 });
  await whenRunning(world, "db-1");
  return world;
}

describe("an eviction", () => {
  it("asks the pod to end and says so in its conditions; the kubelet takes it away when it has stopped", async () => {
    const world = await makeProtected({ maxUnavailable: 1 });
    const uid = podOf(world, "db-0")?.uid;
    evictPod(world, "db-0");
    expect(podOf(world, "db-0")).toMatchObject({
      deleting: true,
      phase: "Running",
      disruptionTarget: "EvictionByEvictionAPI",
    });
    const ended = await world.until("gone", () => podOf(world, "db-0")?.uid !== uid);
    expect(ended).toBeGreaterThanOrEqual(20_000);
    expect(ended).toBeLessThanOrEqual(21_000);
  });

  it("is cut to the grace that it asks for", async () => {
    const world = await makeProtected({ maxUnavailable: 1 });
    const uid = podOf(world, "db-0")?.uid ?? "";
    evict(world.cluster.api, { namespace: "default", name: "db-0" }, { uid, graceSeconds: 5 });
    const ended = await world.until("gone", () => podOf(world, "db-0")?.uid !== uid);
    expect(ended).toBeLessThanOrEqual(6_000);
  });

  it("under a StatefulSet's budget is refused until the replacement is ready", async () => {
    const world = await makeProtected({ minAvailable: 1 });
    evictPod(world, "db-0");
    expect(faultOf(() => evictPod(world, "db-1"))).toMatchObject({
      code: 429,
      causeReason: "DisruptionBudget",
      budget: "db",
    });
    await world.until(
      "replaced",
      () => podOf(world, "db-0")?.deleting === false && podOf(world, "db-0")?.phase === "Running",
    );
    evictPod(world, "db-1");
    expect(podOf(world, "db-1")?.deleting).toBe(true);
  });

  it.each([
    ["minAvailable 100%", { minAvailable: "100%" }],
    ["minAvailable as many as there are", { minAvailable: 2 }],
    ["maxUnavailable 0", { maxUnavailable: 0 }],
  ])("is never granted under %s", async (_, budget) => {
    const world = await makeProtected(budget);
    expect(faultOf(() => evictPod(world, "db-0"))).toMatchObject({ code: 429 });
    await world.run(600_000);
    expect(faultOf(() => evictPod(world, "db-0"))).toMatchObject({ code: 429 });
  });

  it("needs no budget for a pod that is ending, pending or finished", async () => {
    const world = await makeProtected({ maxUnavailable: 0 });
    world.cluster.api.deletePod("default", "db-0");
    evictPod(world, "db-0");
    addBarePod(world.cluster, { name: "nowhere", node: "node-x", labels: { app: "db" } });
    evictPod(world, "nowhere");
    expect(podOf(world, "nowhere")?.deleting).toBe(true);
    const finished = world.cluster.api.pods.require("db-1", "default");
    world.cluster.api.pods.update(finished, ({ status }) => {
      status.phase = "Succeeded";
    });
    evictPod(world, "db-1");
    expect(podOf(world, "db-1")?.uid).not.toBe(finished.metadata.uid);
  });

  it("of another uid is a conflict, of an absent pod not found, in a terminating namespace refused", async () => {
    const world = await makeProtected({ maxUnavailable: 1 });
    const { api } = world.cluster;
    const at = { namespace: "default", name: "db-0" };
    expect(faultOf(() => evict(api, at, { uid: "another" }))).toMatchObject({ code: 409 });
    expect(faultOf(() => evict(api, { ...at, name: "none" }, {}))).toMatchObject({ code: 404 });
    endNamespace(world.cluster, "default");
    expect(faultOf(() => evict(api, at, {}))).toMatchObject({
      code: 403,
      causeReason: "NamespaceTerminating",
    });
    await world.run(60_000);
    expect(world.cluster.pods()).toEqual([]);
  });

  it("of a pod under two budgets fails as the server's error", async () => {
    const world = await makeProtected({ maxUnavailable: 1 });
    world.cluster.api.budgets.create(
      { name: "second", namespace: "default" },
      { spec: { selector: { app: "db" }, maxUnavailable: 1 } },
    );
    expect(faultOf(() => evictPod(world, "db-0"))).toMatchObject({ code: 500 });
  });

  it("of a pod that is not ready is granted while the others suffice", async () => {
    const world = await makeProtected({ minAvailable: 1 });
    const sick = world.cluster.api.pods.require("db-0", "default");
    sick.status.ready = false;
    evictPod(world, "db-0");
    expect(podOf(world, "db-0")?.deleting).toBe(true);
  });
});

describe("a replacement", () => {
  it("of a StatefulSet has the same name and comes only once the old object is gone", async () => {
    const world = await makeProtected({ maxUnavailable: 1 });
    const before = podOf(world, "db-0");
    evictPod(world, "db-0");
    await world.run(19_000);
    expect(world.cluster.pods().filter(({ name }) => name === "db-0")).toMatchObject([{ uid: before?.uid }]);
    await world.until("replaced", () => podOf(world, "db-0")?.uid !== before?.uid);
  });

  it("of a Deployment has another name and comes at once", async () => {
    const world = makeWorld();
    await world.addNode("a");
    addDeployment(world.cluster, { name: "web", stopsAfter: 20_000 });
    await world.until("running", () => world.cluster.pods()[0]?.phase === "Running");
    const [{ name: old } = expect.fail("no pod")] = world.cluster.pods();
    evictPod(world, old);
    const replaced = await world.until("two", () => world.cluster.pods().length === 2);
    expect(replaced).toBeLessThanOrEqual(100);
    await world.until("one", () => world.cluster.pods().length === 1);
    expect(world.cluster.pods()[0]?.name).not.toBe(old);
  });

  it("of a pod without a controller never comes, and a mirror pod is back within seconds", async () => {
    const world = makeWorld();
    await world.addNode("a");
    addBarePod(world.cluster, { name: "bare" });
    addMirrorPod(world.cluster, { name: "kube-proxy", node: "node-a", namespace: "kube-system" });
    await whenRunning(world, "bare");
    const uid = podOf(world, "kube-proxy")?.uid;
    evictPod(world, "bare");
    evictPod(world, "kube-proxy", "kube-system");
    await world.run(5_000);
    expect(podOf(world, "bare")).toBeUndefined();
    expect(podOf(world, "kube-proxy")).toMatchObject({ mirror: true, phase: "Running", deleting: false });
    expect(podOf(world, "kube-proxy")?.uid).not.toBe(uid);
  });

  it("in an ordered StatefulSet waits for the lower ordinals", async () => {
    const world = await makeProtected({ maxUnavailable: 2 });
    const uid = podOf(world, "db-1")?.uid;
    evictPod(world, "db-0");
    evictPod(world, "db-1");
    await world.until("db-0 replaced", () => podOf(world, "db-0")?.deleting === false);
    await world.run(100);
    expect(podOf(world, "db-1")).toBeUndefined();
    await whenRunning(world, "db-0");
    await world.until(
      "db-1 replaced",
      () => podOf(world, "db-1")?.uid !== uid && podOf(world, "db-1")?.phase === "Running",
    );
  });
});

describe("the scheduler", () => {
  it("binds from what it knew: now and then to a node that was cordoned up to a second before", async () => {
    let late = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const world = makeWorld({ seed });
      await world.addNode("a");
      addBarePod(world.cluster, { name: "pod" });
      await world.run(40);
      if (podOf(world, "pod")?.nodeName !== "") continue;
      cordon(world, "node-a");
      const at = world.clock.now();
      await world.run(10_000);
      if (podOf(world, "pod")?.nodeName === "node-a") late++;
      const bound = world.happenings.find(({ text }) => text === "bound to node-a");
      expect((bound?.at ?? at) - at).toBeLessThanOrEqual(1_000);
    }
    expect(late).toBeGreaterThan(2);
  });

  it("keeps off a cordoned node, but for pods that tolerate it", async () => {
    const world = makeWorld();
    await world.addNode("a");
    cordon(world, "node-a");
    await world.run(1_000);
    addBarePod(world.cluster, { name: "ordinary" });
    addBarePod(world.cluster, {
      name: "tolerating",
      tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
    });
    await whenRunning(world, "tolerating");
    expect(podOf(world, "ordinary")).toMatchObject({ nodeName: "", phase: "Pending" });
    await world.addNode("b");
    expect(await whenRunning(world, "ordinary")).toBe("node-b");
  });

  it("puts a pod where its volume's zone is", async () => {
    const world = makeWorld();
    await world.addNode("a", { zone: "eu-west-1a" });
    await world.addNode("b", { zone: "eu-west-1b" });
    addStatefulSet(world.cluster, { name: "db", replicas: 2, zones: ["eu-west-1b", "eu-west-1a"] });
    expect(await whenRunning(world, "db-0")).toBe("node-b");
    expect(await whenRunning(world, "db-1")).toBe("node-a");
  });
});

describe("a force delete", () => {
  it("removes the object at once, while a living node still runs and mounts what is left of the pod", async () => {
    const world = makeWorld();
    await world.addNode("a");
    await world.addNode("b");
    addStatefulSet(world.cluster, { name: "db", stopsAfter: 10_000 });
    const node = await whenRunning(world, "db-0");
    const uid = podOf(world, "db-0")?.uid ?? "";
    forceDelete(world, "db-0");
    await world.run(500);
    expect(podOf(world, "db-0")?.uid).not.toBe(uid);
    expect(world.cluster.kubeletOf(node)?.running()).toContain(uid);
    expect(world.cluster.mounted()).toMatchObject([{ node }]);
    await world.until("ended", () => world.cluster.kubeletOf(node)?.running().includes(uid) === false);
  });
});

describe("kube-controller-manager", () => {
  it("adds the unschedulable taint some time after the cordon and takes it off again after the uncordon", async () => {
    const world = makeWorld();
    await world.addNode("a");
    cordon(world, "node-a");
    const keys = () => world.cluster.nodes()[0]?.taints.map(({ key }) => key);
    expect(keys()).toEqual([]);
    await world.until("tainted", () => keys()?.includes("node.kubernetes.io/unschedulable") === true, 1_000);
    uncordon(world, "node-a");
    await world.until("untainted", () => keys()?.length === 0, 1_000);
  });
});
