import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod } from "./api-objects.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import { MinimalEc2 } from "./minimal-ec2.ts";
import { attachmentPath, ebsDriver } from "./pod-volumes.ts";
import { createAll } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { ebsStorage } from "./volume-objects.ts";
import { statefulSet } from "./workloads.ts";

const volumeId = "vol-0123456789abcdef0";
const instanceOf = { a: "i-0aaaaaaaaaaaaaaaa", b: "i-0bbbbbbbbbbbbbbbb" };
const volume = { driver: ebsDriver, handle: volumeId };
const podPath = "/api/v1/namespaces/default/pods/web-0";

let ec2: MinimalEc2;
let controlPlane: ControlPlane;
let fleet: KubeletFleet;

beforeAll(async () => {
  ec2 = await MinimalEc2.start([volumeId]);
  controlPlane = await startControlPlane({ ec2Url: ec2.url });
  fleet = await KubeletFleet.create(controlPlane.api);
  await fleet.start({ name: "node-a", instanceId: instanceOf.a });
  await createAll(controlPlane.api, [
    ...ebsStorage(),
    ...statefulSet({ name: "web", volumeIds: [volumeId] }),
  ]);
  await eventually("web-0 runs on node-a", () => runsOn("node-a"));
  await fleet.start({ name: "node-b", instanceId: instanceOf.b });
});

afterAll(async () => {
  await fleet?.stop();
  await controlPlane?.stop();
  await ec2?.close();
});

it("moves a StatefulSet's volume after cordon and eviction, detached before it is attached again", async () => {
  const { api } = controlPlane;
  await api.patch("merge", "/api/v1/nodes/node-a", { spec: { unschedulable: true } });
  const evicted = await api.get<Pod>(podPath);

  await api.create(`${podPath}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "web-0", namespace: "default" },
  });

  await eventually("web-0 runs on node-b", () => runsOn("node-b"));
  expect((await api.get<Pod>(podPath))?.metadata.uid).not.toBe(evicted?.metadata.uid);
  expect(await api.get(attachmentPath(volume, "node-a"))).toBeUndefined();
  expect(ec2.changes.map(({ instanceId, to }) => `${instanceId} ${to}`)).toEqual([
    ...["attaching", "attached", "detaching", "detached"].map((state) => `${instanceOf.a} ${state}`),
    ...["attaching", "attached"].map((state) => `${instanceOf.b} ${state}`),
  ]);
  expect(fleet.mounts.of(volumeId).map(({ node, endedBy }) => [node, endedBy])).toEqual([
    ["node-a", "unmount"],
    ["node-b", undefined],
  ]);
  expect(fleet.mounts.doubleMounts()).toEqual([]);
});

it("goes on after the API server was killed and started again at the same address", async () => {
  const { api, server } = controlPlane;
  await controlPlane.stopApiServer();
  await expect(api.get(podPath)).rejects.toThrow(/ECONNREFUSED|closed/);

  await controlPlane.startApiServer();

  expect(controlPlane.server).toBe(server);
  const uid = (await api.get<Pod>(podPath))?.metadata.uid;
  await api.patch("merge", "/api/v1/nodes/node-a", { spec: { unschedulable: false } });
  await api.patch("merge", "/api/v1/nodes/node-b", { spec: { unschedulable: true } });
  await api.delete(podPath, { preconditions: { uid } });
  await eventually("web-0 runs on node-a", () => runsOn("node-a"));
  expect(fleet.mounts.doubleMounts()).toEqual([]);
});

async function runsOn(node: string): Promise<boolean> {
  const pod = await controlPlane.api.get<Pod>(podPath);
  return pod?.spec.nodeName === node && pod.status?.phase === "Running";
}
