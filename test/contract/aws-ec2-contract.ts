import { describe, expect, test } from "vitest";
import { SECOND } from "../../lib/drain/time.ts";
import type { AwsHarness } from "./aws-harness.ts";
import { PAGE_SIZE, until } from "./aws-harness.ts";

export function describeEc2Contract(harnessOf: () => AwsHarness): void {
  const inTime = (body: (harness: AwsHarness) => Promise<void>): Promise<void> =>
    harnessOf().run(() => body(harnessOf()));
  const running = async (harness: AwsHarness, group?: string): Promise<string> => {
    const id = harness.ec2.runInstance(group === undefined ? {} : { group });
    await until(harness, () => harness.ec2.instance(id)?.state === "running");
    return id;
  };
  const attach = async (harness: AwsHarness, volume: string, instance: string): Promise<void> => {
    harness.ec2.attachVolume(volume, instance);
    await until(harness, () => harness.ec2.volumeState(volume, instance) === "attached");
  };

  describe("instances", () => {
    test("a running instance of a group has all the view's fields but a reason", () =>
      inTime(async (harness) => {
        const id = await running(harness, "workers-a");
        const view = await harness.ports.ec2.describeInstance(id);
        expect(view).toEqual({
          id,
          launchTime: harness.ec2.instance(id)?.launchTime,
          state: "running",
          privateDnsName: "ip-10-0-0-1.eu-west-1.compute.internal",
          rootDevice: "/dev/xvda",
          group: "workers-a",
        });
        expect((view?.launchTime ?? 0) % SECOND).toBe(0);
      }));

    test("an instance without a group has none", () =>
      inTime(async (harness) => {
        const id = await running(harness);
        expect(await harness.ports.ec2.describeInstance(id)).not.toHaveProperty("group");
      }));

    test("a terminated one has lost its name, not its group, and tells the reason (C10)", () =>
      inTime(async (harness) => {
        const id = await running(harness, "workers-a");
        harness.ec2.terminateInstance(id);
        await until(harness, () => harness.ec2.instance(id)?.state === "terminated");
        const view = await harness.ports.ec2.describeInstance(id);
        expect(view).toMatchObject({
          state: "terminated",
          group: "workers-a",
          stateReason: "Client.UserInitiatedShutdown",
        });
        expect(view).not.toHaveProperty("privateDnsName");
      }));

    test("hibernation is told by the reason (D14)", () =>
      inTime(async (harness) => {
        const id = await running(harness);
        harness.ec2.stopInstance(id, { hibernate: true });
        await until(harness, () => harness.ec2.instance(id)?.state === "stopped");
        expect(await harness.ports.ec2.describeInstance(id)).toMatchObject({
          state: "stopped",
          stateReason: "Client.UserInitiatedHibernate",
        });
      }));

    test("an id that comes back after stop and start has a later LaunchTime", () =>
      inTime(async (harness) => {
        const id = await running(harness);
        const before = await harness.ports.ec2.describeInstance(id);
        harness.ec2.stopInstance(id);
        await until(harness, () => harness.ec2.instance(id)?.state === "stopped");
        harness.ec2.startInstance(id);
        const after = await harness.ports.ec2.describeInstance(id);
        expect(after?.launchTime).toBeGreaterThan(before?.launchTime ?? 0);
      }));

    test("an instance that EC2 does not know is undefined", () =>
      inTime(async (harness) => {
        expect(await harness.ports.ec2.describeInstance("i-00000000000000000")).toBeUndefined();
      }));

    test("an id that is none is rejected", () =>
      inTime(async (harness) => {
        await expect(harness.ports.ec2.describeInstance("node-1")).rejects.toMatchObject({
          name: "PortError",
          kind: "rejected",
          operation: "ec2.describeInstance",
        });
      }));

    test("of many ids those that EC2 shows come, from every page and reservation", () =>
      inTime(async (harness) => {
        const ids = Array.from({ length: 2 * PAGE_SIZE + 2 }, (_, index) =>
          harness.ec2.runInstance(index < 3 ? { reservation: "r-00000000000000001" } : {}),
        );
        const asked = ids.slice(1);
        const unknown = Array.from(
          { length: 250 },
          (_, index) => `i-${(index + 1).toString(16).padStart(17, "0")}`,
        );
        const views = await harness.ports.ec2.describeInstances([...unknown, ...asked]);
        expect(views.map(({ id }) => id).sort()).toEqual(asked.sort());
      }));

    test("no ids, no instances", () =>
      inTime(async (harness) => {
        await running(harness);
        expect(await harness.ports.ec2.describeInstances([])).toEqual([]);
      }));
  });

  describe("volumes", () => {
    test("an instance's volumes come from every page, the root volume too, others' not", () =>
      inTime(async (harness) => {
        const [mine, other] = [await running(harness), await running(harness)];
        const volumes = Array.from({ length: 2 * PAGE_SIZE }, () => harness.ec2.createVolume());
        const manual = harness.ec2.createVolume({ csi: false });
        for (const volume of [...volumes, manual]) await attach(harness, volume, mine);
        await attach(harness, harness.ec2.createVolume(), other);
        harness.ec2.createVolume();
        const views = await harness.ports.ec2.listAttachedVolumes(mine);
        expect(
          views
            .filter(({ csi }) => csi)
            .map(({ volumeId }) => volumeId)
            .sort(),
        ).toEqual(volumes.sort());
        expect(views.filter(({ csi }) => !csi)).toEqual(
          expect.arrayContaining([
            { volumeId: expect.stringMatching(/^vol-/), state: "attached", device: "/dev/xvda", csi: false },
            { volumeId: manual, state: "attached", device: expect.stringMatching(/^\/dev\/xvd/), csi: false },
          ]),
        );
        expect(views).toHaveLength(volumes.length + 2);
      }));

    test("a volume that the guest still mounts is busy", () =>
      inTime(async (harness) => {
        const id = await running(harness);
        const volume = harness.ec2.createVolume();
        await attach(harness, volume, id);
        harness.ec2.setMounted(volume, id, true);
        harness.ec2.detachVolume(volume, id);
        const views = await harness.ports.ec2.listAttachedVolumes(id);
        expect(views.find(({ volumeId }) => volumeId === volume)?.state).toBe("busy");
      }));

    test("a detach under way is told, and a detached volume is gone", () =>
      inTime(async (harness) => {
        const id = await running(harness);
        const volume = harness.ec2.createVolume();
        await attach(harness, volume, id);
        harness.ec2.volumes.stickDetach(volume);
        harness.ec2.detachVolume(volume, id);
        const during = await harness.ports.ec2.listAttachedVolumes(id);
        expect(during.find(({ volumeId }) => volumeId === volume)?.state).toBe("detaching");
        harness.ec2.volumes.freeDetach(volume);
        await until(harness, () => harness.ec2.volumeState(volume, id) === "none");
        const after = await harness.ports.ec2.listAttachedVolumes(id);
        expect(after.map(({ device }) => device)).toEqual(["/dev/xvda"]);
      }));

    test("an instance that EC2 does not know has no volumes", () =>
      inTime(async (harness) => {
        expect(await harness.ports.ec2.listAttachedVolumes("i-00000000000000000")).toEqual([]);
      }));

    test("volumes by id tell where they are; unknown ones are left out (D11)", () =>
      inTime(async (harness) => {
        const [first, second] = [await running(harness), await running(harness)];
        const [here, moved, free] = [0, 1, 2].map(() => harness.ec2.createVolume()) as [
          string,
          string,
          string,
        ];
        for (let count = 0; count < PAGE_SIZE; count++) harness.ec2.createVolume();
        const last = harness.ec2.createVolume();
        await attach(harness, here, first);
        await attach(harness, moved, second);
        const asked = [here, moved, free, last, "vol-00000000000000000"];
        const views = await harness.ports.ec2.describeVolumes(asked);
        expect(new Map(views.map(({ volumeId, instances }) => [volumeId, instances]))).toEqual(
          new Map([
            [here, [first]],
            [moved, [second]],
            [free, []],
            [last, []],
          ]),
        );
      }));

    test("no ids, no volumes", () =>
      inTime(async (harness) => {
        harness.ec2.createVolume();
        expect(await harness.ports.ec2.describeVolumes([])).toEqual([]);
      }));
  });
}
