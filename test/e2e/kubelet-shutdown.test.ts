/** A machine's power goes off, and the kubelet delays it: what becomes of a volume, with the hook and without. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";
import { type ShutdownMachine, unstaged } from "./node/shutdown-machine.ts";
import { ShutdownStage } from "./node/shutdown-stage.ts";
import { ebsDriver, uniqueName } from "./pod-volumes.ts";

/** What a database needs to stop, in seconds: less than ordinary pods are given, or more. */
const SHORT = 3;
const LONG = 60;
/** Ordinary pods have 7 s. */
const BUDGET = { all: 25, critical: 18 } as const;
/** In the place of Kubernetes' six minutes. */
const FORCE_SECONDS = 40;

// Each machine may have to wait for one of another test run.
vi.setConfig({ testTimeout: BUILD_LIMIT_MS, hookTimeout: BUILD_LIMIT_MS });

let stage: ShutdownStage;
/** The one that went without the hook, whose volume only force frees. */
let bare: { readonly machine: ShutdownMachine; readonly volumeId: string };
/** Milliseconds from the announcement until the database ran elsewhere. */
let withHook: number;
beforeAll(async () => {
  stage = await ShutdownStage.start(FORCE_SECONDS);
});
afterAll(() => stage?.close());

describe("a graceful shutdown without the hook", () => {
  it("unmounts the volume and tells nobody: the attachment stays", async () => {
    const machine = await stage.boot(BUDGET);
    const volumeId = await machine.runDatabase("without-hook", SHORT);
    await machine.powerOff("shutdown-without-hook");
    const unmounted = await machine.driverSaid("ebs-plugin", unstaged(volumeId));
    const driverEnds = await machine.driverSaid("ebs-plugin", /got terminated/u);
    const off = await machine.off();
    bare = { machine, volumeId };
    await machine.report("shutdown-without-hook", { unmounted, "driver asked to end": driverEnds, off });
    expect(unmounted).toBeLessThan(off);
    expect(await machine.volumesInUse()).toEqual([inUse(volumeId)]);
    expect(await stage.isAttached(volumeId, machine.name)).toBe(true);
  });

  it("does not even unmount what a pod used longer than its budget", async () => {
    const machine = await stage.boot(BUDGET);
    const volumeId = await machine.runDatabase("overrun-without-hook", LONG);
    await machine.powerOff("shutdown-overrun-without-hook");
    const driverEnds = await machine.driverSaid("ebs-plugin", /got terminated/u);
    const off = await machine.off();
    await machine.report("shutdown-overrun-without-hook", { "driver asked to end": driverEnds, off });
    expect(machine.findDriverSaying("ebs-plugin", unstaged(volumeId))).toBeUndefined();
    expect(await machine.volumesInUse()).toEqual([inUse(volumeId)]);
    expect(await stage.isAttached(volumeId, machine.name)).toBe(true);
  });
});

describe("a graceful shutdown with the hook", () => {
  let machine: ShutdownMachine;
  beforeAll(async () => {
    await stage.installHook(BUDGET);
    machine = await stage.boot(BUDGET);
  });

  it("is seen through also where it is called off: the kubelet hears of that when its pods are gone (H5)", async () => {
    const volumeId = await machine.runDatabase("called-off", SHORT);
    await machine.powerOffAndStay("shutdown-called-off");
    const calledOff = await machine.when("logind", /PrepareForShutdown\(false\)/u);
    const moments = await machine.release(volumeId);
    const heard = await machine.when("kubelet", /event="cancelled"/u);
    const ready = await machine.when("api", /^node's Ready: True/u, heard);
    const lost = machine.timeline.find("logind", /^lock 2: released/u);
    await machine.report("shutdown-called-off", { calledOff, ...moments, heard, lost: lost?.at, ready });
    expect(calledOff).toBeLessThan(moments.unmounted);
    expect(inOrder({ ...moments, heard }).slice(-2)).toEqual(["driverEnds", "heard"]);
    expect(machine.timeline.find("logind", /^power off/u)).toBeUndefined();
    expect(stage.forced()).not.toContain(volumeId);
  });

  it("holds the driver until the API shows no volume in use, and the volume moves without force (H4, H5)", async () => {
    // Kubelet 1.37 takes a lock again, and loses it at once where it has the number of the first, which is closed twice.
    await machine.restartKubelet();
    const volumeId = await machine.runDatabase("with-hook", SHORT);
    await machine.powerOff("shutdown-with-hook");
    const { empty, ...moments } = await machine.release(volumeId);
    const off = await machine.off();
    const move = await moveOf("with-hook", volumeId, machine);
    withHook = move.moved - machine.since;
    await machine.report("shutdown-with-hook", { ...moments, empty, off, ...move });
    expect(inOrder({ ...moments, off })).toEqual(["unmounted", "answered", "driverEnds", "off"]);
    expect(empty).toBeLessThan(off);
    expect(await machine.volumesInUse()).toEqual([]);
    expect(stage.forced()).not.toContain(volumeId);
  });

  it("unmounts what a pod used longer than its budget, in the critical pods' time (H5, H8)", async () => {
    const other = await stage.boot(BUDGET);
    const volumeId = await other.runDatabase("overrun-with-hook", LONG);
    await other.powerOff("shutdown-overrun-with-hook");
    const { empty, ...moments } = await other.release(volumeId);
    const off = await other.off();
    const move = await moveOf("overrun-with-hook", volumeId, other);
    await other.report("shutdown-overrun-with-hook", { ...moments, empty, off, ...move });
    expect(inOrder({ ...moments, off })).toEqual(["unmounted", "answered", "driverEnds", "off"]);
    expect(empty).toBeLessThan(off);
    expect(stage.forced()).not.toContain(volumeId);
  });
});

it("a volume left behind without the hook moves only by force, and later than one with it", async () => {
  const { machine, volumeId } = bare;
  const move = await moveOf("without-hook", volumeId, machine);
  await machine.report("shutdown-without-hook", { ...move });
  expect(stage.forced()).toContain(volumeId);
  expect(move.moved - machine.since).toBeGreaterThan(withHook);
});

/** When the volume was free of the machine for Kubernetes, and when its database ran on the spare one. */
async function moveOf(database: string, volumeId: string, from: ShutdownMachine) {
  const gone = await from.when("api", from.attachment(volumeId, "gone"));
  const there = new RegExp(`^pod ${database}-0: Running on ${stage.spare.node}`, "u");
  return { "attachment gone": gone, moved: await from.when("api", there) };
}

function inUse(volumeId: string): string {
  return uniqueName({ driver: ebsDriver, handle: volumeId });
}

/** The moments' names, by time. */
function inOrder(moments: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(moments)
    .toSorted(([, a], [, b]) => a - b)
    .map(([name]) => name);
}
