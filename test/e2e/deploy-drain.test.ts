/** The product deployed by `cdk deploy` into the local AWS, at work on a real control plane. */
import type { TestContext } from "vitest";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CLUSTER } from "./aws/account.ts";
import type { DeployedFunctions } from "./aws/deployed-functions.ts";
import { DeployedStage, SET_UP_MS } from "./aws/deployed-stage.ts";
import { podSessionName, startHookOn } from "./aws/hook-on-node.ts";
import { actionsOfRole } from "./aws/role-policies.ts";
import { createAll } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { MachineScenario, seconds } from "./machine-scenario.ts";
import type { Machine } from "./machines.ts";
import { instanceOf } from "./region.ts";
import { disruptionBudget } from "./workloads.ts";

let stage: DeployedStage;
let functions: DeployedFunctions;

beforeAll(async () => {
  stage = await DeployedStage.start();
  await stage.cdk.bootstrap();
  functions = await stage.deploy();
}, SET_UP_MS);

afterAll(async () => {
  await stage?.close();
});

it.concurrent("moves a volume off a scaled-in machine by what was deployed, with an EKS token and least privilege (C1, C34)", async (test) => {
  const { region, timeline } = stage;
  const { scenario, from, volumeId, to } = await databaseOn("move", test);

  const askedAt = Date.now();
  region.autoScaling.scaleIn(from.instance);
  const completion = await scenario.completed(from);
  const attachedThere = await timeline.attachment(volumeId, to.node, "attached");
  await scenario.running("db-0", to);
  await timeline.instance(from.instance, "terminated");

  expect(completion).toMatchObject({
    result: "CONTINUE",
    by: functions.outputs.drainFunction,
    named: "token",
  });
  expect(detachedAt(volumeId, from)).toBeLessThan(completion.at);
  await eventually("its end is followed up, too", async () =>
    (await functions.executionsFor(from.instance)).some(({ name }) => name.startsWith("gone-")),
  );
  expect(await functions.ended(from.instance)).toEqual(["lifecycle: completed", "gone: freed"]);
  console.log(
    `deployed: ${seconds(askedAt, attachedThere)} from the scale-in to the volume attached elsewhere`,
  );
});

it.concurrent("hands over to the hook, whose pod completes by its Pod Identity role (D9, D10, H9)", async (test) => {
  const { region, timeline, aws } = stage;
  const { scenario, from, volumeId, to } = await databaseOn("handover", test);
  const hook = await startHookOn(stage, from, scenario.name);
  test.onTestFinished(() => hook.stop());
  // EC2 takes its time, so that nobody has completed when the drain is stopped.
  region.ec2.volumes.stickDetach(volumeId);

  region.autoScaling.scaleIn(from.instance);
  await eventually("the drain hands over", async () =>
    (await scenario.eventsOn(from.node)).some(({ reason }) => reason === "HandedOff"),
  );
  const [drain] = await functions.executionsFor(from.instance);
  await functions.stop(drain?.arn ?? "");
  region.ec2.volumes.freeDetach(volumeId);
  const completion = await scenario.completed(from);
  await scenario.running("db-0", to);

  const pod = podSessionName(CLUSTER);
  // A sweep may have come in between: whoever is first completes, and the other one is told that it is done.
  expect([pod, functions.outputs.drainFunction]).toContain(completion.by);
  expect(completion.result).toBe("CONTINUE");
  expect(detachedAt(volumeId, from)).toBeLessThan(completion.at);
  expect(await timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  const answer = await eventually("the hook lets its pod go", () =>
    hook.process.log().find(({ message }) => message === "answer"),
  );
  expect(answer).toMatchObject({ rule: "H5" });
  const ofPod = (await aws.accessSince(0)).filter(({ principal }) => principal.endsWith(`/${pod}`));
  expect(ofPod).toMatchObject([{ action: "autoscaling:CompleteLifecycleAction", allowed: true }]);
  console.log(`hand-over: completed by ${completion.by}`);
});

it.concurrent("makes one execution of any number of deliveries (C5)", async (test) => {
  const { region } = stage;
  const { scenario, from } = await databaseOn("deliveries", test, { stopSeconds: 3 });

  region.autoScaling.scaleIn(from.instance);
  const event = await eventually("the event came", () =>
    region.events.find((each) => instanceOf(each) === from.instance && each.source === "aws.autoscaling"),
  );
  await Promise.all([stage.putEvent(event), stage.putEvent(event)]);
  await scenario.completed(from);
  await stage.putEvent(event);
  await functions.ended(from.instance);
  await eventually("all four deliveries are dispatched", async () => {
    const lines = await functions.logLines(functions.outputs.dispatchLogs);
    return (
      lines.filter(({ signal, instance }) => signal === "lifecycle" && instance === from.instance).length ===
      4
    );
  });

  const names = (await functions.executionsFor(from.instance)).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("lifecycle-"))).toHaveLength(1);
});

it.concurrent("finds by the deployed schedule's sweep what no event told (D2, I2)", async (test) => {
  const { region, timeline } = stage;
  const { scenario, from, volumeId, to } = await databaseOn("lost", test);
  region.loseEventsOf(from.instance);

  const askedAt = Date.now();
  region.autoScaling.scaleIn(from.instance);
  const completion = await scenario.completed(from);

  expect(completion).toMatchObject({ result: "CONTINUE", named: "instance" });
  expect(await timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(completion.at);
  const [first] = await functions.executionsFor(from.instance);
  expect(first?.name).toMatch(/^lifecycle-.*-sweep-/);
  await scenario.running("db-0", to);
  console.log(`event lost, a sweep each minute: ${seconds(askedAt, completion.at)} to CONTINUE`);
});

it.concurrent("takes up by the sweep what somebody stopped (I2)", async (test) => {
  const { region } = stage;
  const { scenario, from } = await databaseOn("stopped", test);
  const budget = disruptionBudget("db", 0, scenario.name);
  await createAll(stage.api, [budget]);

  region.autoScaling.scaleIn(from.instance);
  await eventually("the drain is blocked", async () =>
    (await scenario.eventsOn(from.node)).some(({ reason }) => reason === "EvictionBlocked"),
  );
  const [running] = await functions.executionsFor(from.instance);
  await functions.stop(running?.arn ?? "");
  const path = `/apis/policy/v1/namespaces/${scenario.name}/poddisruptionbudgets/db`;
  await stage.api.patch("merge", path, { spec: { maxUnavailable: 1 } });
  const completion = await scenario.completed(from);

  expect(completion.result).toBe("CONTINUE");
  const ends = await functions.ended(from.instance);
  expect(ends.slice(0, 2)).toEqual(["lifecycle: STOPPED: stopped by a test", "lifecycle: completed"]);
});

it.concurrent("empties a spot instance within its notice (S3)", async (test) => {
  const { region, timeline } = stage;
  const { scenario, from, volumeId, to } = await databaseOn("spot", test);

  const noticeAt = Date.now();
  region.ec2.interruptSpot(from.instance, "terminate");
  const attachedThere = await timeline.attachment(volumeId, to.node, "attached");
  await scenario.running("db-0", to);

  expect(await timeline.attachment(volumeId, from.node, "gone")).toBeLessThan(attachedThere);
  expect(region.ec2.instance(from.instance)?.state).toBe("running");
  const [first] = await functions.executionsFor(from.instance);
  expect(first?.name).toMatch(/^spot-/);
  console.log(`spot: ${seconds(noticeAt, attachedThere)} from the notice to the volume attached elsewhere`);
});

it.concurrent("frees the volume of a machine that somebody terminated in the console (D14, C11)", async (test) => {
  const { region, timeline, fleet } = stage;
  const { scenario, from, volumeId, to } = await databaseOn("console", test);

  region.ec2.terminateInstance(from.instance);
  const deadAt = await timeline.instance(from.instance, "terminated");
  const attachedAt = await timeline.attachment(volumeId, to.node, "attached");
  await scenario.running("db-0", to);

  expect(await functions.ended(from.instance)).toEqual(["gone: freed"]);
  expect(timeline.marksOf(from.node)).toContain("out of service");
  expect(timeline.marksOf(from.node).at(-1)).toBe("back in service");
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  console.log(`console: ${seconds(deadAt, attachedAt)} from "terminated" to the volume attached elsewhere`);
});

it("was refused nothing, and left nothing but the stopped executions' inputs behind (C34)", async () => {
  const requests = await stage.audit.requestsSince(0);
  expect(requests.length).toBeGreaterThan(0);
  expect(requests.filter(({ status }) => status === 401 || status === 403)).toEqual([]);
  expect(stage.webhook.reviews.filter(({ verdict }) => verdict.kind === "refused")).toEqual([]);
  const access = await stage.aws.accessSince(0);
  expect(access.filter(({ allowed }) => !allowed)).toEqual([]);
  expect(await functions.deadLetters("undelivered")).toEqual([]);
  const letters = await functions.deadLetters("unhandled");
  expect(letters.map(({ error }) => error)).toEqual(["stopped by a test", "stopped by a test"]);
});

/** Rights of the functions that no request of these tests needs, and why they are there. */
const UNUSED = {
  "autoscaling:DescribeAutoScalingInstances":
    "asked where an action seems to be over: nobody else completes here",
  "autoscaling:DescribeWarmPool": "asked of groups with a warm pool",
  "lambda:GetDurableExecutionState": "asked where the state does not fit into the invocation",
  "logs:CreateLogStream": "Lambda's own, in the function's name",
  "logs:PutLogEvents": "Lambda's own, in the function's name",
  "sqs:SendMessage": "Lambda's own, in the function's name",
} as const;

it("has no right that it does not use (C34)", async () => {
  const { drainFunction, dispatchFunction } = functions.outputs;
  const access = await stage.aws.accessSince(0);

  for (const name of [drainFunction, dispatchFunction]) {
    const granted = await actionsOfRole(stage.aws.client, await functions.roleOf(name));
    const used = new Set(
      access.filter(({ principal }) => principal.endsWith(`/${name}`)).map(({ action }) => action),
    );
    const unused = [...granted].filter((action) => !used.has(action) && !(action in UNUSED));
    expect(unused).toEqual([]);
    expect(used.size).toBeGreaterThan(3);
  }
});

interface Database {
  readonly scenario: MachineScenario;
  readonly from: Machine;
  readonly volumeId: string;
  /** The machine that is left for it. */
  readonly to: Machine;
}

/** A machine with a database, and a spare one. Where its test fails, what the functions logged of the machine is printed. */
async function databaseOn(
  name: string,
  test: TestContext,
  behaviour: { readonly stopSeconds?: number } = {},
): Promise<Database> {
  const scenario = new MachineScenario(stage, name);
  await scenario.prepare();
  const from = await scenario.launch();
  test.onTestFailed(async () => console.log(await functions.storyOf(from.instance)));
  const volumeId = await scenario.runDatabase(from, behaviour);
  const to = await scenario.launch();
  return { scenario, from, volumeId, to };
}

/** When EC2 said so; never where it did not. */
function detachedAt(volumeId: string, { instance }: Machine): number {
  return stage.timeline.ec2Times(volumeId, instance, "detached")[0] ?? Number.POSITIVE_INFINITY;
}
