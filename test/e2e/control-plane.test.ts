import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod } from "./api-objects.ts";
import { attachmentOf, evict, isRunning, podPath, setUnschedulable, uidOf } from "./cluster-looks.ts";
import { startControlPlane, type ControlPlane } from "./control-plane.ts";
import { KubeletFleet } from "./kubelet-fleet.ts";
import { createAll } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { Region, UNCARED_GROUP } from "./region.ts";
import { describeSlow } from "./slow-tests.ts";
import { ebsStorage } from "./volume-objects.ts";
import { statefulSet } from "./workloads.ts";

const path = podPath("web-0");

let region: Region;
let volumeId: string;
let instanceOf: { readonly a: string; readonly b: string };
let controlPlane: ControlPlane;
let fleet: KubeletFleet;

beforeAll(async () => {
  region = await Region.start();
  volumeId = region.createVolume();
  instanceOf = { a: await region.launch(UNCARED_GROUP), b: await region.launch(UNCARED_GROUP) };
  controlPlane = await startControlPlane({ ec2Url: region.url });
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
  await region?.close();
});

it("moves a StatefulSet's volume after cordon and eviction, detached before it is attached again", async () => {
  const { api } = controlPlane;
  await setUnschedulable(api, "node-a", true);
  const evicted = await uidOf(api, path);

  expect(await evict(api, path)).toMatchObject({ status: 201 });

  await eventually("web-0 runs on node-b", () => runsOn("node-b"));
  expect(await uidOf(api, path)).not.toBe(evicted);
  expect(await attachmentOf(api, volumeId, "node-a")).toBeUndefined();
  expect(region.attachmentChanges(volumeId).map(({ what }) => what)).toEqual([
    ...["attaching", "attached", "detaching", "detached"].map((state) => `${state} ${instanceOf.a}`),
    ...["attaching", "attached"].map((state) => `${state} ${instanceOf.b}`),
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
  await expect(api.get(path)).rejects.toThrow(/ECONNREFUSED|closed/);

  await controlPlane.startApiServer();

  expect(controlPlane.server).toBe(server);
  await setUnschedulable(api, "node-a", false);
  await setUnschedulable(api, "node-b", true);
  await api.delete(path, { preconditions: { uid: await uidOf(api, path) } });
  await eventually("web-0 runs on node-a", () => runsOn("node-a"));
  expect(fleet.mounts.doubleMounts()).toEqual([]);
});

describeSlow("Kubernetes' own six minutes", () => {
  it(
    "frees a dead machine's volume only after them, where nobody helps (C1)",
    { timeout: 900_000 },
    async () => {
      const { api } = controlPlane;
      for (const node of ["node-a", "node-b"]) await setUnschedulable(api, node, false);
      const dead = (await api.get<Pod>(path))?.spec.nodeName ?? "";
      await fleet.kubelet(dead).kill();
      await setUnschedulable(api, dead, true);
      await api.delete(path, { gracePeriodSeconds: 0 });
      const isFree = async () => !(await attachmentOf(api, volumeId, dead));

      await delay(5 * 60_000);
      expect(await isFree()).toBe(false);
      await eventually("the volume is freed by force", isFree, 180);
      await eventually("web-0 runs elsewhere", () => isRunning(api, path));
      expect(fleet.mounts.doubleMounts()).toEqual([]);
    },
  );
});

function runsOn(node: string): Promise<boolean> {
  return isRunning(controlPlane.api, path, node);
}
