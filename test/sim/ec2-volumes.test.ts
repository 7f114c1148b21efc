import { beforeEach, describe, expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../../lib/drain/time.ts";
import { DoubleMount } from "../../lib/sim/ec2-volumes.ts";
import { type Ec2World, ec2World, faultOf } from "./ec2-world.ts";

let ec2: Ec2World["ec2"];
let pass: Ec2World["pass"];
let runningInstance: Ec2World["runningInstance"];

beforeEach(() => {
  ({ ec2, pass, runningInstance } = ec2World());
});

async function attachedVolume(instance: string): Promise<string> {
  const volume = ec2.createVolume();
  ec2.attachVolume(volume, instance);
  await pass(MINUTE);
  return volume;
}

describe("volumes of simulated EC2", () => {
  test("an attach and a detach take their time", async () => {
    const id = await runningInstance();
    const volume = ec2.createVolume();
    ec2.attachVolume(volume, id);
    expect(ec2.volumeState(volume, id)).toBe("attaching");
    await pass(3 * SECOND);
    expect(ec2.volumeState(volume, id)).toBe("attached");
    ec2.detachVolume(volume, id);
    expect(ec2.volumeState(volume, id)).toBe("detaching");
    await pass(4 * SECOND);
    expect(ec2.volumeState(volume, id)).toBe("none");
  });

  test("a volume attached elsewhere is refused until its detach is over, whoever asks (I3)", async () => {
    const [first, second] = [await runningInstance(), await runningInstance()];
    const volume = await attachedVolume(first);
    expect(faultOf(() => ec2.attachVolume(volume, second))).toBe("VolumeInUse");
    ec2.detachVolume(volume, first);
    expect(faultOf(() => ec2.attachVolume(volume, second))).toBe("VolumeInUse");
    await pass(4 * SECOND);
    expect(faultOf(() => ec2.attachVolume(volume, second))).toBe("none");
  });

  test("a machine that does not run, a machine and a volume that do not exist are refused by their codes", async () => {
    const id = await runningInstance();
    const volume = ec2.createVolume();
    ec2.terminateInstance(id);
    expect(faultOf(() => ec2.attachVolume(volume, id))).toBe("IncorrectState");
    expect(faultOf(() => ec2.attachVolume(volume, "i-0"))).toBe("InvalidInstanceID.NotFound");
    expect(faultOf(() => ec2.attachVolume("vol-0", id))).toBe("InvalidVolume.NotFound");
  });

  test("a volume that the guest still mounts goes busy, and detaches once it is unmounted", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.setMounted(volume, id, true);
    ec2.detachVolume(volume, id);
    expect(ec2.volumeState(volume, id)).toBe("busy");
    await pass(HOUR);
    expect(ec2.volumeState(volume, id)).toBe("busy");
    ec2.setMounted(volume, id, false);
    await pass(4 * SECOND);
    expect(ec2.volumeState(volume, id)).toBe("none");
  });

  test("a mount that comes during the detach makes the volume busy", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.detachVolume(volume, id);
    ec2.setMounted(volume, id, true);
    await pass(MINUTE);
    expect(ec2.volumeState(volume, id)).toBe("busy");
  });

  test("a terminated machine's volumes become available by themselves, and its root volume is deleted", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.setMounted(volume, id, true);
    ec2.terminateInstance(id);
    expect(ec2.volumeState(volume, id)).toBe("attached");
    await pass(2 * MINUTE);
    expect(ec2.describeVolumes()).toMatchObject([{ id: volume }]);
    expect(ec2.describeVolumes()[0]).not.toHaveProperty("attachment");
  });

  test("a detach asked for of a dead machine completes although the guest never unmounted", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.setMounted(volume, id, true);
    ec2.detachVolume(volume, id);
    ec2.stopInstance(id);
    await pass(MINUTE);
    expect(ec2.instance(id)?.state).toBe("stopped");
    expect(ec2.volumeState(volume, id)).toBe("none");
  });

  test("a stopped machine keeps its volumes attached", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.stopInstance(id);
    await pass(HOUR);
    expect(ec2.volumeState(volume, id)).toBe("attached");
  });

  test("a second guest's mount while the first still has it mounted stops the run (I3)", async () => {
    const [first, second] = [await runningInstance(), await runningInstance()];
    const volume = await attachedVolume(first);
    ec2.setMounted(volume, first, true);
    expect(() => ec2.setMounted(volume, second, true)).toThrow(DoubleMount);
    ec2.terminateInstance(first);
    expect(() => ec2.setMounted(volume, second, true)).toThrow(DoubleMount);
    await pass(2 * MINUTE);
    ec2.attachVolume(volume, second);
    await pass(MINUTE);
    expect(() => ec2.setMounted(volume, second, true)).not.toThrow();
  });

  test("a hibernated guest still has its volumes mounted, so another guest's mount stops the run (D14)", async () => {
    const [first, second] = [await runningInstance(), await runningInstance()];
    const volume = await attachedVolume(first);
    ec2.setMounted(volume, first, true);
    ec2.stopInstance(first, { hibernate: true });
    await pass(MINUTE);
    expect(ec2.instance(first)?.stateReason?.code).toBe("Client.UserInitiatedHibernate");
    ec2.detachVolume(volume, first);
    await pass(MINUTE);
    ec2.attachVolume(volume, second);
    await pass(MINUTE);
    expect(() => ec2.setMounted(volume, second, true)).toThrow(DoubleMount);
  });

  test("a guest cannot mount what is not attached to it", async () => {
    const id = await runningInstance();
    const volume = ec2.createVolume();
    expect(() => ec2.setMounted(volume, id, true)).toThrow(/no device/);
  });

  test("a stuck detach goes on only when EC2 is freed", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.volumes.stickDetach(volume);
    ec2.detachVolume(volume, id);
    await pass(HOUR);
    expect(ec2.volumeState(volume, id)).toBe("detaching");
    ec2.volumes.freeDetach(volume);
    await pass(4 * SECOND);
    expect(ec2.volumeState(volume, id)).toBe("none");
  });

  test("another root volume leaves the machine and its other volumes, and ends the guest's mounts", async () => {
    const id = await runningInstance();
    const volume = await attachedVolume(id);
    ec2.setMounted(volume, id, true);
    const reboots: string[] = [];
    ec2.onReboot((instance) => reboots.push(instance));
    const before = ec2.describeVolumes().find((each) => each.attachment?.device === "/dev/xvda");
    ec2.replaceRootVolume(id);
    const after = ec2.describeVolumes().find((each) => each.attachment?.device === "/dev/xvda");
    expect(after?.id).not.toBe(before?.id);
    expect(ec2.volumes.isMounted(volume, id)).toBe(false);
    expect(ec2.volumeState(volume, id)).toBe("attached");
    expect(reboots).toEqual([id]);
  });

  test("every volume of an instance gets a device of its own", async () => {
    const id = await runningInstance();
    for (let count = 0; count < 30; count++) await attachedVolume(id);
    const devices = ec2.describeVolumes().map((volume) => volume.attachment?.device);
    expect(new Set(devices).size).toBe(31);
  });
});
