import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Pod, VolumeAttachment } from "./api-objects.ts";
import { createAll } from "./create-all.ts";
import { countRequests, requestsText } from "./drain-requests.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import { seconds } from "./machine-scenario.ts";
import { GROUP, HEARTBEAT_TIMEOUT, ZONE, instanceOf } from "./region.ts";
import { claim, ebsVolume, inTreeVolume, othersAttachment } from "./volume-objects.ts";
import { barePod, disruptionBudget } from "./workloads.ts";

let stage: Stage;

beforeAll(async () => {
  // 30 s instead of 90: a test waits for it.
  stage = await Stage.start({ policy: { joinGrace: 30 } });
});

afterAll(async () => {
  await stage?.close();
});

it.concurrent("waits while a PodDisruptionBudget forbids the eviction, and goes on once it allows (D7, I5)", async (test) => {
  const scenario = await Scenario.create(stage, "budget", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();
  await createAll(stage.api, [disruptionBudget("db", 0, scenario.name)]);
  const before = await scenario.getPod("db-0");

  stage.region.autoScaling.scaleIn(from.instance);
  const blocked = await eventually("the block is told", async () =>
    (await scenario.eventsOn(from.node)).find(({ reason }) => reason === "EvictionBlocked"),
  );
  expect(blocked.message).toContain("budget/db-0 by db");
  await delay(5_000);
  expect((await scenario.getPod("db-0"))?.metadata).toMatchObject({ uid: before?.metadata.uid });
  expect((await scenario.getPod("db-0"))?.metadata.deletionTimestamp).toBeUndefined();
  expect(scenario.completionOf(from.instance)).toBeUndefined();

  const path = `/apis/policy/v1/namespaces/${scenario.name}/poddisruptionbudgets/db`;
  await stage.api.patch("merge", path, { spec: { maxUnavailable: 1 } });
  const allowedAt = Date.now();
  const completion = await scenario.completed(from);

  expect(completion.result).toBe("CONTINUE");
  expect(await stage.timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  await scenario.running("db-0", to);
  console.log(`D7: ${seconds(allowedAt, completion.at)} from the budget's permission to CONTINUE`);
});

it.concurrent("does not evict a pod of the same name on its new node (I4, D7)", async (test) => {
  const scenario = await Scenario.create(stage, "namesake", test);
  const from = await scenario.launch();
  await scenario.runDatabase(from);
  const to = await scenario.launch();
  const seen = await scenario.getPod("db-0");
  let namesake: Pod | undefined;
  stage.beforeEviction = async ({ namespace, uid }) => {
    if (namespace !== scenario.name || uid !== seen?.metadata.uid) return;
    // Between the look and its eviction somebody deletes the pod by force, and its successor is bound elsewhere.
    await stage.api.delete(scenario.podPath("db-0"), { gracePeriodSeconds: 0 });
    namesake = await eventually("the successor is bound", async () => {
      const pod = await scenario.getPod("db-0");
      return pod?.spec.nodeName === to.node ? pod : undefined;
    });
  };

  const since = Date.now();
  stage.region.autoScaling.scaleIn(from.instance);
  const completion = await scenario.completed(from);

  expect(completion.result).toBe("CONTINUE");
  const evictions = (await stage.audit.requestsSince(since)).filter(({ uri }) =>
    uri.endsWith(`/namespaces/${scenario.name}/pods/db-0/eviction`),
  );
  expect(evictions.map(({ status }) => status)).toEqual([409]);
  const running = await scenario.running("db-0", to);
  expect(running.metadata.uid).toBe(namesake?.metadata.uid);
  expect(running.metadata.deletionTimestamp).toBeUndefined();
});

it.concurrent("drains a Node that registers after its machine was scaled in (D4)", async (test) => {
  const scenario = await Scenario.create(stage, "late", test);
  const volumeId = stage.region.createVolume();
  const instance = await stage.region.launch(GROUP);
  const node = stage.region.ec2.instance(instance)?.privateDnsName ?? "";
  await createAll(stage.api, [
    ebsVolume({ volumeId, claim: "data", namespace: scenario.name }),
    claim("data", scenario.name),
    barePod({ name: "early", namespace: scenario.name, nodeName: node, claims: ["data"] }),
  ]);

  stage.region.autoScaling.scaleIn(instance);
  await scenario.seen({ instance }, "a look finds no Node", ({ decision }) => decision.rules.includes("D4"));
  const machine = await stage.join(instance, { scenario: scenario.name });
  const completion = await scenario.completed(machine);

  expect(completion.result).toBe("CONTINUE");
  expect(await scenario.getPod("early")).toBeUndefined();
  expect(await stage.timeline.marked(node, "cordoned")).toBeLessThan(completion.at);
  expect(stage.region.ec2.volumeState(volumeId, instance)).toBe("none");
  expect(await scenario.ended(machine)).toContain("lifecycle: completed");
});

it.concurrent("waits for an in-tree volume, and never for another driver's attachment (C25, D11)", async (test) => {
  const scenario = await Scenario.create(stage, "drivers", test);
  const from = await scenario.launch();
  const volumeId = stage.region.createVolume();
  const foreign = { name: "csi-of-nfs", nodeName: from.node, attacher: "nfs.csi.k8s.io" };
  await createAll(stage.api, [
    inTreeVolume({ volumeId, claim: "old", namespace: scenario.name, zone: ZONE }),
    claim("old", scenario.name),
    barePod({ name: "old", namespace: scenario.name, nodeName: from.node, claims: ["old"], stopSeconds: 3 }),
    othersAttachment(foreign),
  ]);
  await scenario.running("old", from);
  await stage.timeline.attachment(volumeId, from.node, "attached");

  stage.region.autoScaling.scaleIn(from.instance);
  const completion = await scenario.completed(from);

  expect(await stage.timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  const [detached = Number.POSITIVE_INFINITY] = stage.timeline.ec2Times(volumeId, from.instance, "detached");
  expect(detached).toBeLessThan(completion.at);
  const path = `/apis/storage.k8s.io/v1/volumeattachments/${foreign.name}`;
  expect((await stage.api.get<VolumeAttachment>(path))?.metadata.deletionTimestamp).toBeUndefined();
  await scenario.ended(from);
  const last = stage.functions
    .looksAt(from.instance)
    .findLast(({ decision }) => decision.next.kind === "done");
  expect(last?.decision.verdicts).toMatchObject([
    { attachment: foreign.name, verdict: "foreign", blocks: false },
  ]);
});

it.concurrent("makes one execution with one source of beats of any number of deliveries (C5)", async (test) => {
  const scenario = await Scenario.create(stage, "deliveries", test);
  const from = await scenario.launch();
  await scenario.runDatabase(from, { stopSeconds: 5 });

  stage.region.autoScaling.scaleIn(from.instance);
  const event = await eventually("the event came", () =>
    stage.region.events.find(
      (each) => instanceOf(each) === from.instance && each.source === "aws.autoscaling",
    ),
  );
  await Promise.all([stage.functions.invoke(event), stage.functions.invoke(event)]);
  await scenario.completed(from);
  await stage.functions.invoke(event);
  await scenario.ended(from);

  const names = stage.functions.executionsFor(from.instance).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("lifecycle-"))).toHaveLength(1);
  const beats = stage.region.autoScaling
    .getHistory()
    .filter(({ kind, instance }) => kind === "heartbeat" && instance === from.instance);
  expect(beats).toHaveLength(1);
});

it.concurrent("finds a Node that is not named after EC2's name, by its provider id and one list (C10, I11)", async (test) => {
  const scenario = await Scenario.create(stage, "names", test);
  const from = await scenario.launch({ node: "blue-7" });
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();

  stage.region.autoScaling.scaleIn(from.instance);
  const completion = await scenario.completed(from);

  expect(await stage.timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  await scenario.running("db-0", to);
  const requests = countRequests(stage.functions.looksAt(from.instance));
  expect(requests.reads["kubernetes.listNodes"]).toBe(1);
  console.log(`C10, a Node that has to be searched: ${requestsText(requests)}`);
});

it("leaves a machine whose event was lost to the sweep, which completes it by instance id (D2, I2)", async (test) => {
  const scenario = await Scenario.create(stage, "lost", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();
  stage.region.loseEventsOf(from.instance);

  const askedAt = Date.now();
  stage.region.autoScaling.scaleIn(from.instance);
  const endSweep = stage.region.startSweep(5);
  const completion = await scenario.completed(from).finally(endSweep);

  expect(completion).toMatchObject({ result: "CONTINUE", named: "instance" });
  expect(await stage.timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  expect(stage.functions.executionsFor(from.instance)[0]).toMatchObject({
    name: expect.stringMatching(/^lifecycle-.*-sweep-/),
    payload: { by: "sweep" },
  });
  await scenario.running("db-0", to);
  console.log(`D2, event lost, a sweep every 5 s: ${seconds(askedAt, completion.at)} to CONTINUE`);
});

it("goes on after the API server was away in the middle, and beats meanwhile (C17, D17, I10)", async (test) => {
  const { controlPlane, region } = stage;
  const scenario = await Scenario.create(stage, "outage", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from, { stopSeconds: 25, graceSeconds: 60 });
  const to = await scenario.launch();

  region.autoScaling.scaleIn(from.instance);
  const beatsAt = () =>
    region.autoScaling
      .getHistory()
      .filter(({ kind, instance }) => kind === "heartbeat" && instance === from.instance)
      .map(({ at }) => at);
  await eventually("the work has begun", () => beatsAt().length > 0);
  // The next beat is due after 30 s, in the middle of the outage. The longer that is, the longer Kubernetes' own controllers
  // take to find back: a minute and more after 40 s.
  await delay(20_000);
  await controlPlane.stopApiServer();
  const awayAt = Date.now();
  await delay(15_000);
  expect(scenario.completionOf(from.instance)).toBeUndefined();
  await controlPlane.startApiServer();
  const backAt = Date.now();
  const completion = await scenario.completed(from);

  expect(completion.result).toBe("CONTINUE");
  expect(await stage.timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  await scenario.running("db-0", to);
  const blind = stage.functions
    .looksAt(from.instance)
    .filter(({ decision, observation }) => decision.phase === "blind" && observation.at > awayAt);
  expect(blind.length).toBeGreaterThan(0);
  const beats = beatsAt();
  expect(beats.filter((at) => at > awayAt && at < backAt)).not.toEqual([]);
  const gaps = beats.map((at, index) => (beats[index + 1] ?? completion.at) - at);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(0.75 * HEARTBEAT_TIMEOUT * 1_000);
  console.log(
    `C17, API server away for ${seconds(awayAt, backAt)}: ${blind.length} blind looks, ${beats.length} beats, ` +
      `CONTINUE ${seconds(backAt, completion.at)} after it was back`,
  );
});

it("needs no right beyond the generated roles, and leaves nothing to a dead-letter queue (C34)", async () => {
  expect(stage.functions.looks.length).toBeGreaterThan(0);
  expect(await stage.troubles()).toEqual([]);
});
