import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod, VolumeAttachment } from "./api-objects.ts";
import {
  attachmentOf,
  driversOf,
  evict,
  isRunning,
  podPath,
  setUnschedulable,
  uidOf,
} from "./cluster-looks.ts";
import { fastNodeDeath, startControlPlane, type ControlPlane } from "./control-plane.ts";
import { createAll } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { holdHook } from "./held-hook.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import { ebsDriver, uniqueName } from "./pod-volumes.ts";
import { Region, UNCARED_GROUP } from "./region.ts";
import type { KubeletOptions, StandInKubelet } from "./stand-in-kubelet.ts";
import { claim, ebsStorage, inTreeVolume } from "./volume-objects.ts";
import { barePod, daemonSet, disruptionBudget, statefulSet } from "./workloads.ts";

let region: Region;
let controlPlane: ControlPlane;
let fleet: KubeletFleet;

beforeAll(async () => {
  region = await Region.start();
  controlPlane = await startControlPlane({
    ec2Url: region.url,
    kcmArgs: fastNodeDeath,
    maxWaitForUnmountSeconds: 15,
  });
  fleet = await KubeletFleet.create(controlPlane.api);
  await createAll(controlPlane.api, ebsStorage());
  // With no healthy node left, the controller manager takes the trouble for its own and stops acting on nodes.
  await fleet.start({ name: "healthy", instanceId: "i-healthy", labels: { test: "none" } });
});

afterAll(async () => {
  await fleet?.stop();
  await controlPlane?.stop();
  await region?.close();
});

/** A machine of its own for a test, with the test's label. */
async function startMachine(test: string, options: Partial<KubeletOptions> = {}): Promise<StandInKubelet> {
  const instanceId = await region.launch(UNCARED_GROUP);
  return fleet.start({ name: `node-${test}`, instanceId, labels: { test }, ...options });
}

/** A machine of its own for a test, and a StatefulSet of one pod that only runs on nodes with the test's label. */
async function machineWithVolume(name: string, options: { readonly stopSeconds?: number } = {}) {
  const volumeId = region.createVolume();
  const machine = await startMachine(name);
  const workload = statefulSet({
    name,
    volumeIds: [volumeId],
    nodeSelector: { test: name },
    ...options,
    tolerations: ["unreachable", "not-ready"].map((condition) => ({
      key: `node.kubernetes.io/${condition}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 1,
    })),
  });
  await createAll(controlPlane.api, workload);
  const path = podPath(`${name}-0`);
  await eventually(`${name}-0 runs`, () => isRunning(controlPlane.api, path));
  return { volumeId, machine, path, volume: { driver: ebsDriver, handle: volumeId } };
}

it("keeps a volume in volumesInUse, and so its attachment, while the unmount hangs", async () => {
  const { api } = controlPlane;
  const { volumeId, volume, machine, path } = await machineWithVolume("stuck");
  machine.stuckUnmount(volumeId);
  await setUnschedulable(api, machine.name, true);
  const old = await api.get<Pod>(path);
  await api.delete(path);

  await eventually(
    "the pod is gone",
    async () => (await uidOf(controlPlane.api, path)) !== old?.metadata.uid,
  );
  expect(machine.node()?.status?.volumesInUse).toEqual([uniqueName(volume)]);
  expect((await attachment(volumeId, machine.name))?.metadata.deletionTimestamp).toBeUndefined();
  expect(fleet.mounts.isMounted(volumeId, machine.instanceId)).toBe(true);

  machine.releaseUnmount(volumeId);
  await eventually("the attachment is gone", async () => !(await attachment(volumeId, machine.name)));
  expect(fleet.mounts.of(volumeId)).toMatchObject([{ endedBy: "unmount" }]);
});

it("renews nothing any more once its machine is dead; the volume is freed by force only (C26)", async () => {
  const { volumeId, machine, path } = await machineWithVolume("dead");
  await machine.kill();

  await eventually("Ready is Unknown", () => readiness(machine.name) === "Unknown");
  await eventually("the pod is to be deleted", async () => {
    return (await controlPlane.api.get<Pod>(path))?.metadata.deletionTimestamp;
  });
  expect(await attachment(volumeId, machine.name)).toBeDefined();
  await controlPlane.api.delete(path, { gracePeriodSeconds: 0 });
  await eventually("the attachment is gone", async () => !(await attachment(volumeId, machine.name)));
  expect(fleet.mounts.of(volumeId)).toMatchObject([{ endedBy: "power off" }]);
});

it("adopts the Node of a dead machine: provider id, taints and cordon stay, bootID and node id change (D14)", async () => {
  const { api } = controlPlane;
  const dead = await fleet.start({ name: "node-adopt", instanceId: "i-before" });
  await dead.kill();
  const taints = [{ key: "node.kubernetes.io/out-of-service", value: "work", effect: "NoExecute" }];
  await api.patch("strategic", "/api/v1/nodes/node-adopt", { spec: { unschedulable: true, taints } });

  const living = await fleet.start({ name: "node-adopt", instanceId: "i-after" });

  const node = await eventually("the new bootID is reported", () => {
    return living.node()?.status?.nodeInfo?.bootID === living.bootId && living.node();
  });
  expect(living.bootId).not.toBe(dead.bootId);
  expect(node.spec).toMatchObject({ unschedulable: true, providerID: "aws:///eu-central-1a/i-before" });
  expect(node.spec.taints).toContainEqual(taints[0]);
  expect(await driversOf(api, "node-adopt")).toMatchObject([{ name: ebsDriver, nodeID: "i-after" }]);
});

it("mounts again after a reboot, under a new bootID and without a second attach", async () => {
  const { volumeId, machine, path } = await machineWithVolume("reboot");
  const before = machine.bootId;
  const uid = await uidOf(controlPlane.api, path);

  await machine.reboot(1);

  await eventually("the volume is mounted", () => fleet.mounts.isMounted(volumeId, machine.instanceId));
  expect(machine.bootId).not.toBe(before);
  expect(await uidOf(controlPlane.api, path)).toBe(uid);
  expect(fleet.mounts.of(volumeId).map(({ endedBy }) => endedBy)).toEqual(["power off", undefined]);
  expect(region.attachmentChanges(volumeId).map(({ what }) => what)).toEqual([
    `attaching ${machine.instanceId}`,
    `attached ${machine.instanceId}`,
  ]);
});

it("keeps a volume mounted while the kubelet is dead and its machine is not, and finds it again", async () => {
  const { volumeId, machine, path } = await machineWithVolume("silent");
  const uid = await uidOf(controlPlane.api, path);
  await machine.killKubelet();
  await setUnschedulable(controlPlane.api, machine.name, true);
  await controlPlane.api.delete(path, { gracePeriodSeconds: 0 });
  await eventually("the pod is gone", async () => (await uidOf(controlPlane.api, path)) !== uid);
  expect(fleet.mounts.isMounted(volumeId, machine.instanceId)).toBe(true);

  await machine.start();

  await eventually("the volume is unmounted", () => !fleet.mounts.isMounted(volumeId, machine.instanceId));
  await eventually("the attachment is gone", async () => !(await attachment(volumeId, machine.name)));
});

it("shuts down gracefully: Ready=False, pods failed without a deletion, volumes free (H rules)", async () => {
  const { volumeId, machine, path } = await machineWithVolume("shutdown");
  const uid = await uidOf(controlPlane.api, path);

  await machine.shutDown({ seconds: 60, criticalSeconds: 20 });

  expect(machine.node()?.status?.conditions).toContainEqual(
    expect.objectContaining({ type: "Ready", status: "False", message: "node is shutting down" }),
  );
  await eventually("the attachment is gone", async () => !(await attachment(volumeId, machine.name)));
  expect(fleet.mounts.of(volumeId)).toMatchObject([{ endedBy: "unmount" }]);
  await eventually(
    "its StatefulSet has replaced it",
    async () => (await uidOf(controlPlane.api, path)) !== uid,
  );
  await machine.kill();
});

it("attaches and mounts an in-tree volume under its CSI name, and runs a pod bound by name", async () => {
  const { api } = controlPlane;
  await startMachine("intree");
  const volumeId = region.createVolume();
  const wanted = { volumeId, claim: "old", zone: "eu-central-1a" };
  await createAll(api, [inTreeVolume(wanted), claim("old")]);
  await createAll(api, [barePod({ name: "old", nodeSelector: { test: "intree" }, claims: ["old"] })]);

  await eventually("the pod runs", () => isRunning(controlPlane.api, podPath("old")));
  expect((await attachment(volumeId, "node-intree"))?.status?.attached).toBe(true);
  await createAll(api, [barePod({ name: "bound", nodeName: "node-intree", finishSeconds: 0.1 })]);
  await eventually("it has finished", async () => {
    return (await api.get<Pod>(podPath("bound")))?.status?.phase === "Succeeded";
  });
});

it("refuses an eviction that a PodDisruptionBudget forbids, with the cause that names it (D7)", async () => {
  const { api } = controlPlane;
  await createAll(api, [barePod({ name: "guarded", nodeName: "healthy" }), disruptionBudget("guarded", 0)]);
  const path = podPath("guarded");
  await eventually("the pod runs", () => isRunning(controlPlane.api, path));

  const answer = await eventually("the budget is known", async () => {
    const refused = await evict(api, path);
    return JSON.stringify(refused.body).includes("still being processed") ? undefined : refused;
  });
  expect(answer).toMatchObject({
    status: 429,
    body: { details: { causes: [{ reason: "DisruptionBudget" }] } },
  });
});

it("keeps its driver while the hook is unanswered, and can unmount nothing after it (C32)", async () => {
  const { api } = controlPlane;
  const hook = await holdHook();
  const labels = { "ebs-drain.dev/test": "driver" };
  const machine = await startMachine("hook", { driverPodLabels: labels });
  const volumeId = region.createVolume();
  const preStop = { httpGet: { host: "127.0.0.1", port: hook.port, path: "/wait" } };
  const containers = ["ebs-plugin", "node-driver-registrar"].map((name) => ({
    name,
    image: "stand-in",
    lifecycle: { preStop },
  }));
  await createAll(api, [daemonSet({ name: "driver", labels, containers, nodeSelector: { test: "hook" } })]);
  const driver = await eventually("the driver is registered", async () => {
    return (await driversOf(api, "node-hook")).length === 1 && podOf("driver-");
  });
  await createAll(api, [
    ...statefulSet({ name: "hook", volumeIds: [volumeId], nodeSelector: { test: "hook" } }),
  ]);
  await eventually("hook-0 runs", () => isRunning(controlPlane.api, podPath("hook-0")));
  await setUnschedulable(api, "node-hook", true);

  await api.delete(podPath(driver.metadata.name));
  await eventually("both hooks ask", () => hook.waiting() === 2);
  expect(await driversOf(api, "node-hook")).toHaveLength(1);
  machine.stuckUnmount(volumeId);
  await api.delete(podPath("hook-0"));
  hook.answer();
  await eventually("the driver is gone", async () => (await driversOf(api, "node-hook")).length === 0);
  machine.releaseUnmount(volumeId);

  expect(fleet.mounts.isMounted(volumeId, machine.instanceId)).toBe(true);
  await eventually("its successor unmounts", () => !fleet.mounts.isMounted(volumeId, machine.instanceId));
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  hook.close();
});

function podOf(prefix: string): Pod | undefined {
  return fleet.pods.values().find(({ metadata }) => metadata.name.startsWith(prefix));
}

function readiness(node: string): string | undefined {
  return fleet.nodes.get(node)?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

function attachment(volumeId: string, node: string): Promise<VolumeAttachment | undefined> {
  return attachmentOf(controlPlane.api, volumeId, node);
}
