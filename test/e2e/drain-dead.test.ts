import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TestObject } from "./create-all.ts";
import { createAll } from "./create-all.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import type { Machine } from "./machines.ts";
import { seconds } from "./machine-scenario.ts";
import { claim, ebsVolume } from "./volume-objects.ts";
import { barePod } from "./workloads.ts";

/** A bound that catches hangs; what it takes is printed. */
const FREED_WITHIN_SECONDS = 30;
/** EC2's shutdown of an instance: 15 s, as a quick one. */
const SHUTDOWN_MS = 15_000;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.start({ ec2Delays: { shuttingDown: [SHUTDOWN_MS, SHUTDOWN_MS] } });
});

afterAll(async () => {
  await stage?.close();
});

it.concurrent("frees the volumes of a machine that no hook held, and its pod runs elsewhere (D14, C11, C24, C26)", async (test) => {
  const { timeline, region, fleet } = stage;
  const scenario = await Scenario.create(stage, "terminated", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();

  region.ec2.terminateInstance(from.instance);
  const deadAt = await timeline.instance(from.instance, "terminated");
  const freedAt = await timeline.attachment(volumeId, from.node, "gone", FREED_WITHIN_SECONDS);
  const attachedAt = await timeline.attachment(volumeId, to.node, "attached");
  await scenario.running("db-0", to);

  expect(await timeline.marked(from.node, "out of service")).toBeGreaterThan(deadAt);
  expect(await scenario.ended(from)).toEqual(["gone: freed"]);
  expect(timeline.marksOf(from.node).at(-1)).toBe("back in service");
  expect((await scenario.eventsOn(from.node)).map(({ reason }) => reason)).toContain("OutOfService");
  expect(fleet.mounts.of(volumeId).map(({ endedBy }) => endedBy)).toEqual(["power off", undefined]);
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  console.log(
    `D14: ${seconds(deadAt, freedAt)} from EC2's "terminated" to the VolumeAttachment gone, ` +
      `${seconds(deadAt, attachedAt)} to the volume attached elsewhere (EC2 shut down for ${SHUTDOWN_MS / 1_000} s)`,
  );
});

it.concurrent("frees the volume of a pod that a finalizer keeps on the dead machine (D14)", async (test) => {
  const { timeline, region, api } = stage;
  const scenario = await Scenario.create(stage, "finalizer", test);
  const from = await scenario.launch();
  const volumeId = stage.region.createVolume();
  const pod = barePod({ name: "kept", namespace: scenario.name, nodeName: from.node, claims: ["data"] });
  await createAll(api, [
    ebsVolume({ volumeId, claim: "data", namespace: scenario.name }),
    claim("data", scenario.name),
    withFinalizer(pod),
  ]);
  await scenario.running("kept", from);

  region.ec2.terminateInstance(from.instance);
  const deadAt = await timeline.instance(from.instance, "terminated");
  const freedAt = await timeline.attachment(volumeId, from.node, "gone", FREED_WITHIN_SECONDS);

  const kept = await scenario.getPod("kept");
  expect(kept?.metadata.deletionTimestamp).toBeDefined();
  expect(kept?.status).toMatchObject({
    phase: "Failed",
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: "DisruptionTarget", status: "True" }),
    ]),
  });
  expect(await scenario.ended(from)).toEqual(["gone: freed"]);
  await api.patch("merge", scenario.podPath("kept"), { metadata: { finalizers: null } });
  console.log(
    `D14, a pod with a finalizer: ${seconds(deadAt, freedAt)} from "terminated" to the attachment gone`,
  );
});

it.concurrent("touches nothing of a living kubelet that adopted the dead machine's Node (D14, I9)", async (test) => {
  const { timeline, region, api } = stage;
  const scenario = await Scenario.create(stage, "adopted", test);
  const privateAddress = "10.0.77.7";
  const dead = await scenario.launch({ privateAddress });
  await scenario.runDatabase(dead);
  const uid = (await scenario.getPod("db-0"))?.metadata.uid;
  region.holdEventsOf(dead.instance);
  region.ec2.terminateInstance(dead.instance);
  await timeline.instance(dead.instance, "terminated");
  const living = await scenario.launch({ privateAddress });
  expect(living.node).toBe(dead.node);

  const since = Date.now();
  region.releaseEventsOf(dead.instance);
  await eventually("the adoption is told", () => hasEvent(scenario, living, "NodeAdopted"));
  // Longer than a Lease needs to be silent.
  await delay(20_000);

  expect(timeline.marksOf(living.node)).toEqual(["uncordoned", "back in service"]);
  expect(stage.mountsWithoutDevice.map(({ instance }) => instance)).toEqual([living.instance]);
  const pod = await scenario.getPod("db-0");
  expect(pod?.metadata).toMatchObject({ uid });
  expect(pod?.metadata.deletionTimestamp).toBeUndefined();
  expect(pod?.status?.phase).toBe("Running");
  const requests = await stage.audit.requestsSince(since);
  const changes = requests.filter(
    ({ verb, uri }) => isChange(verb) && isAbout(uri, living.node, scenario.name),
  );
  expect(changes).toEqual([]);
  // Its own end, and with it the end of the work: nothing is left that was the dead machine's.
  const set = `/apis/apps/v1/namespaces/${scenario.name}/statefulsets/db`;
  await api.patch("merge", set, { spec: { replicas: 0 } });
  expect(await scenario.ended(dead)).toEqual(["gone: freed"]);
});

it.concurrent("forces nothing where EC2 says running again before the proof is complete (D14)", async (test) => {
  const { timeline, region } = stage;
  const scenario = await Scenario.create(stage, "restarted", test);
  const machine = await scenario.launch();
  await scenario.runDatabase(machine);
  const uid = (await scenario.getPod("db-0"))?.metadata.uid;

  region.ec2.stopInstance(machine.instance);
  await timeline.instance(machine.instance, "stopped");
  await delay(2_000);
  region.ec2.startInstance(machine.instance);

  expect(await scenario.ended(machine)).toEqual(["gone: called-off"]);
  expect(timeline.marksOf(machine.node)).toEqual(["uncordoned", "back in service"]);
  expect((await scenario.running("db-0", machine)).metadata.uid).toBe(uid);
});

it("takes the taint off once EC2 says running again, and the sweep takes off the rest (D14, I8)", async (test) => {
  const { timeline, region, api, fleet } = stage;
  const scenario = await Scenario.create(stage, "resumed", test);
  const machine = await scenario.launch();
  const volumeId = await scenario.runDatabase(machine);
  const to = await scenario.launch();
  // EC2 does not finish the detach: so the taint is still on when the machine comes back.
  region.ec2.volumes.stickDetach(volumeId);

  region.ec2.stopInstance(machine.instance);
  const taintedAt = await timeline.marked(machine.node, "out of service");
  expect(taintedAt).toBeGreaterThan(await timeline.instance(machine.instance, "stopped"));
  region.ec2.startInstance(machine.instance);
  const startedAt = Date.now();

  expect(await scenario.ended(machine)).toEqual(["gone: called-off"]);
  await eventually("the taint is off", () => timeline.marksOf(machine.node).at(-1) === "back in service");
  const offAt = Date.now();
  const endSweep = region.startSweep(2);
  await eventually("the cordon is off", () => timeline.marksOf(machine.node).at(-1) === "uncordoned").finally(
    endSweep,
  );
  const node = await api.get<TestObject>(`/api/v1/nodes/${machine.node}`);
  expect(node?.metadata.annotations).not.toHaveProperty(["ebs-drain.dev/work"]);
  region.ec2.volumes.freeDetach(volumeId);
  await eventually("db-0 has its volume", () => fleet.mounts.of(volumeId).at(-1)?.until === undefined);
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  expect(to.node).not.toBe(machine.node);
  console.log(`D14: ${seconds(startedAt, offAt)} from the start of the stopped machine to the taint off`);
});

it("needs no right beyond the generated roles, and leaves nothing to a dead-letter queue (C34)", async () => {
  expect(stage.functions.looks.length).toBeGreaterThan(0);
  expect(await stage.troubles()).toEqual([]);
});

function withFinalizer(pod: TestObject): TestObject {
  return { ...pod, metadata: { ...pod.metadata, finalizers: ["example.com/kept"] } };
}

async function hasEvent(scenario: Scenario, { node }: Machine, wanted: string): Promise<boolean> {
  return (await scenario.eventsOn(node)).some(({ reason }) => reason === wanted);
}

function isChange(verb: string): boolean {
  return !["get", "list"].includes(verb);
}

function isAbout(uri: string, node: string, namespace: string): boolean {
  return uri.includes(`/nodes/${node}`) || uri.includes(`/namespaces/${namespace}/`);
}
