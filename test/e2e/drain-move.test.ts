import { afterAll, beforeAll, expect, it } from "vitest";
import { countRequests, requestsText, sumOf } from "./drain-requests.ts";
import { Scenario } from "./drain-scenario.ts";
import { Stage } from "./drain-stage.ts";
import { CALLER } from "./functions.ts";
import { seconds } from "./machine-scenario.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.start();
});

afterAll(async () => {
  await stage?.close();
});

it("moves a volume off a scaled-in machine, which goes when both sides say it is detached (C1, C2, C3, D5-D12)", async (test) => {
  const { region, timeline, fleet } = stage;
  const scenario = await Scenario.create(stage, "move", test);
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const evicted = await scenario.getPod("db-0");
  const to = await scenario.launch();

  const askedAt = Date.now();
  region.autoScaling.scaleIn(from.instance);

  const attachedThere = await timeline.attachment(volumeId, to.node, "attached");
  const goneHere = await timeline.attachment(volumeId, from.node, "gone");
  const completion = await scenario.completed(from);
  const replacement = await scenario.running("db-0", to);
  await timeline.instance(from.instance, "terminated");

  expect(completion).toMatchObject({ result: "CONTINUE", by: CALLER, named: "token" });
  const [detachedInEc2 = Number.POSITIVE_INFINITY] = timeline.ec2Times(volumeId, from.instance, "detached");
  expect(goneHere).toBeLessThan(completion.at);
  expect(detachedInEc2).toBeLessThan(completion.at);
  expect(await timeline.marked(from.node, "cordoned")).toBeLessThan(detachedInEc2);
  expect(replacement.metadata.uid).not.toBe(evicted?.metadata.uid);
  // The second is the instance's own end, told by its state change: there is nothing left to free.
  expect(await scenario.ended(from)).toEqual(["lifecycle: completed", "gone: freed"]);
  expect(fleet.mounts.of(volumeId).map(({ endedBy }) => endedBy)).toEqual(["unmount", undefined]);
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  expect(stage.mountsWithoutDevice).toEqual([]);
  expect((await scenario.eventsOn(from.node)).map(({ reason }) => reason).toSorted()).toEqual([
    "DrainCompleted",
    "DrainStarted",
    "VolumesDetached",
  ]);
  console.log(
    `C1, with ebs-drain: ${seconds(askedAt, attachedThere)} from the scale-in to the volume attached on the other node; ` +
      `here detached in EC2 after ${seconds(askedAt, detachedInEc2)}, VolumeAttachment gone after ` +
      `${seconds(askedAt, goneHere)}, CONTINUE after ${seconds(askedAt, completion.at)}`,
  );
});

it("asks the API server for the node's own objects only, by name or selector (I11, I12)", async (test) => {
  const scenario = await Scenario.create(stage, "requests", test);
  const from = await scenario.launch();
  await scenario.runDatabase(from);
  await scenario.launch();

  const since = Date.now();
  stage.region.autoScaling.scaleIn(from.instance);
  await scenario.completed(from);
  await scenario.ended(from);

  const requests = await stage.audit.requestsSince(since);
  const lists = requests.filter(({ verb }) => verb === "list");
  expect(lists.filter(({ resource }) => resource === "nodes")).toEqual([]);
  const ofPods = lists
    .filter(({ resource }) => resource === "pods")
    .map(({ uri }) => decodeURIComponent(uri));
  expect(ofPods.filter((uri) => !uri.includes(`fieldSelector=spec.nodeName=${from.node}`))).toEqual([]);
  // Two of the drain's own, and one with which the gone work begins: there the instance has no name any more.
  const ofAttachments = lists.filter(({ resource }) => resource === "volumeattachments");
  expect(ofAttachments.length).toBeLessThanOrEqual(3);

  const looks = stage.functions.looksAt(from.instance);
  const drain = countRequests(looks.filter(({ observation }) => observation.task.kind === "lifecycle"));
  expect(sumOf(drain.reads, "ec2.")).toBeLessThanOrEqual(6);
  const all = countRequests(looks);
  const changes = requests.filter(({ verb }) => !["get", "list"].includes(verb));
  // What the decision log says was asked is what the API server was asked, and nothing else.
  expect(requests.length - changes.length).toBe(sumOf(all.reads, "kubernetes."));
  expect(changes.map(({ verb, resource }) => `${verb} ${resource}`).toSorted()).toEqual([
    "create events",
    "create events",
    "create events",
    "create pods/eviction",
    "patch nodes",
  ]);
  console.log(`I11, the drain of a node with one pod and one volume: ${requestsText(drain)}`);
});

it("needs no right beyond the generated roles, and leaves nothing to a dead-letter queue (C34)", async () => {
  expect(stage.functions.looks.length).toBeGreaterThan(0);
  expect(await stage.troubles()).toEqual([]);
});
