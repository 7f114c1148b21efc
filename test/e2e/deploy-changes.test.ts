/** What happens to a deployment: an update in the middle of a drain, crashes, missing rights, a wrong cluster, its end. */
import type { TestContext } from "vitest";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { LIFECYCLE_HOOK } from "../../lib/drain/names.ts";
import { OTHER_CLUSTER } from "./aws/account.ts";
import type { DeployedFunctions } from "./aws/deployed-functions.ts";
import { CONFIGURATION, DeployedStage, SET_UP_MS } from "./aws/deployed-stage.ts";
import { type Inventory, listAlarms } from "./aws/inventory.ts";
import { takeAway } from "./aws/role-policies.ts";
import { createAll } from "./create-all.ts";
import { eventually } from "./eventually.ts";
import { MachineScenario } from "./machine-scenario.ts";
import type { Machine } from "./machines.ts";
import { GROUP, UNCARED_GROUP } from "./region.ts";
import { disruptionBudget } from "./workloads.ts";

// Some of the tests deploy, too.
vi.setConfig({ testTimeout: SET_UP_MS, hookTimeout: SET_UP_MS });

let stage: DeployedStage;
let functions: DeployedFunctions;
let before: Inventory;

beforeAll(async () => {
  stage = await DeployedStage.start();
  await stage.cdk.bootstrap();
  before = await stage.inventory();
  functions = await stage.deploy();
});

afterAll(async () => {
  await stage?.close();
});

it("completes its own hook's action and leaves another team's alone (C22, D2)", async (test) => {
  const { autoScaling } = stage.region;
  const { scenario, from } = await databaseOn("others", test);

  autoScaling.putHook(GROUP, { name: "others", heartbeatTimeout: 600, defaultResult: "CONTINUE" });
  autoScaling.scaleIn(from.instance);
  await eventually("both hooks hold it", () => autoScaling.activeActions(from.instance).length === 2);
  autoScaling.deleteHook(GROUP, "others");
  const completion = await scenario.completed(from);
  await functions.ended(from.instance);

  // An action that is open keeps what it began with.
  expect(completion.hook).toBe(LIFECYCLE_HOOK);
  expect(autoScaling.activeActions(from.instance).map(({ hook }) => hook.name)).toEqual(["others"]);
  const lines = await functions.logLines(functions.outputs.dispatchLogs);
  // The rule names our hook: EventBridge does not even ask.
  expect(lines.filter(({ signal, outcome }) => signal === "lifecycle" && outcome === "foreign")).toEqual([]);
  autoScaling.complete({ group: GROUP, hook: "others", instance: from.instance }, "CONTINUE", "others");
  await stage.timeline.instance(from.instance, "terminated");
});

it("goes on where an invocation died, as often as Lambda repeats it (I2)", async (test) => {
  const { from, scenario } = await blockedDrain("crash", test);
  const [execution] = await functions.executionsFor(from.instance);
  const arn = execution?.arn ?? "";

  // Whatever runs the function is killed as soon as it is there, which is in the middle of an invocation.
  await eventually("two invocations died", async () => {
    for (const { pid } of await stage.aws.functionProcesses(functions.outputs.drainFunction)) kill(pid);
    return (await functions.crashesOf(arn)) >= 2;
  });
  await allowEviction(scenario);
  const completion = await scenario.completed(from);

  expect(completion.result).toBe("CONTINUE");
  expect(await functions.ended(from.instance)).toContain("lifecycle: completed");
  expect((await functions.execution(arn)).outcome).toBe("completed");
});

it("lets a running drain end on its version while a new one is deployed, and keeps the hook all the time (C36)", async (test) => {
  const { from, scenario } = await blockedDrain("update", test);
  const [running] = await functions.executionsFor(from.instance);
  const hooksSeen = new Set<string>();
  const watch = setInterval(() => hooksSeen.add(JSON.stringify(hooksOf(GROUP))), 20);

  functions = await stage
    .deploy({ ...CONFIGURATION, policy: { ...CONFIGURATION.policy, margin: 45 } })
    .finally(() => clearInterval(watch));
  const meanwhile = await functions.execution(running?.arn ?? "");
  await allowEviction(scenario);
  await scenario.completed(from);
  const ends = await functions.ended(from.instance);
  const next = await databaseOn("updated", test);
  stage.region.autoScaling.scaleIn(next.from.instance);
  await next.scenario.completed(next.from);

  expect(meanwhile.status).toBe("RUNNING");
  const hook = { name: LIFECYCLE_HOOK, heartbeatTimeout: 600, defaultResult: "CONTINUE" };
  expect([...hooksSeen]).toEqual([JSON.stringify([hook])]);
  expect(ends.filter((end) => end.startsWith("lifecycle"))).toEqual(["lifecycle: completed"]);
  expect(running?.arn).toMatch(/:1\/durable-execution\//);
  const [first] = await functions.executionsFor(next.from.instance);
  expect(first?.arn).toMatch(/:2\/durable-execution\//);
});

it("names the right that is missing: in the dead-letter queue, with an alarm on it, or in the drain's log (C34)", async (test) => {
  const { drainFunction, dispatchFunction, drainLogs } = functions.outputs;
  const root = stage.aws.client;
  const giveBack = await takeAway(root, await functions.roleOf(dispatchFunction), "ec2:DescribeInstances");
  const first = await databaseOn("blind-dispatch", test);
  stage.region.autoScaling.scaleIn(first.from.instance);
  const letter = await eventually("the event is in the dead-letter queue", async () =>
    (await functions.deadLetters("unhandled")).find(({ body }) => body.includes(first.from.instance)),
  );
  expect(letter.error).toContain("grant ec2:DescribeInstances");
  const alarms = (await listAlarms(root)).map(({ AlarmDescription }) => AlarmDescription);
  expect(alarms.filter((text) => text.endsWith("#events-unhandled"))).toHaveLength(1);
  await giveBack();

  const complete = "autoscaling:CompleteLifecycleAction";
  const giveBackToo = await takeAway(root, await functions.roleOf(drainFunction), complete);
  const second = await databaseOn("powerless-drain", test);
  stage.region.autoScaling.scaleIn(second.from.instance);
  await eventually("the drain tells what it may not", async () => {
    const lines = await functions.logLines(drainLogs);
    return lines.some((line) => JSON.stringify(line).includes(`grant ${complete}`));
  });
  expect(second.scenario.completionOf(second.from.instance)).toBeUndefined();
  await giveBackToo();

  // Neither machine is lost: the sweep finds the first, and the second's drain tries again.
  for (const { scenario, from } of [first, second]) {
    expect((await scenario.completed(from)).result).toBe("CONTINUE");
  }
});

it("completes nothing where the API server does not know its token: a cluster of another name (D17)", async (test) => {
  const { autoScaling } = stage.region;
  const cdk = await stage.anotherCdk("green");
  const clusters = [{ name: OTHER_CLUSTER, groups: [UNCARED_GROUP] }];
  const other = await stage.deploy({ ...CONFIGURATION, stackName: "ebs-drain-green", clusters }, cdk);
  const scenario = new MachineScenario(stage, "wrong-cluster");
  await scenario.prepare();
  const machine = await scenario.launch({ group: UNCARED_GROUP });
  test.onTestFailed(async () => console.log(await other.storyOf(machine.instance)));

  autoScaling.scaleIn(machine.instance);
  const unreachable = await eventually("a metric tells why", async () =>
    (await other.logLines(other.outputs.drainLogs)).find(
      (line) => line["ClusterUnreachable"] !== undefined && line["cause"] === "authentication",
    ),
  );

  expect(unreachable).toMatchObject({ cluster: OTHER_CLUSTER, group: UNCARED_GROUP });
  const refusals = stage.webhook.reviews.flatMap(({ verdict }) =>
    verdict.kind === "refused" ? [verdict.why] : [],
  );
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.filter((why) => !why.includes("SignatureDoesNotMatch"))).toEqual([]);
  expect(scenario.completionOf(machine.instance)).toBeUndefined();
  expect(autoScaling.activeActions(machine.instance)).toHaveLength(1);
  for (const { arn, status } of await other.executionsFor(machine.instance)) {
    if (status === "RUNNING") await other.stop(arn);
  }
  await cdk.destroy();
});

it("is destroyed without an orphan: neither hook nor role, queue, log group, alarm or access entry is left", async () => {
  const during = await stage.inventory();

  await stage.cdk.destroy();

  // Nothing is missed because nothing was looked at.
  const made = Object.keys(during).filter(
    (kind) => (during[kind] ?? []).length > (before[kind] ?? []).length,
  );
  expect(made).toEqual(Object.keys(before));
  expect(during["lifecycle hooks"]).toEqual([`${GROUP} ${LIFECYCLE_HOOK}`]);
  expect(await stage.inventory()).toEqual(before);
});

interface Database {
  readonly scenario: MachineScenario;
  readonly from: Machine;
}

/** A machine with a database. Where its test fails, what the functions logged of the machine is printed. */
async function databaseOn(name: string, test: TestContext): Promise<Database> {
  const scenario = new MachineScenario(stage, name);
  await scenario.prepare();
  const from = await scenario.launch();
  test.onTestFailed(async () => console.log(await functions.storyOf(from.instance)));
  await scenario.runDatabase(from);
  return { scenario, from };
}

/** A drain that a PodDisruptionBudget keeps waiting. */
async function blockedDrain(name: string, test: TestContext): Promise<Database> {
  const made = await databaseOn(name, test);
  const { scenario, from } = made;
  await createAll(stage.api, [disruptionBudget("db", 0, scenario.name)]);
  stage.region.autoScaling.scaleIn(from.instance);
  await eventually("the drain is blocked", async () =>
    (await scenario.eventsOn(from.node)).some(({ reason }) => reason === "EvictionBlocked"),
  );
  return made;
}

async function allowEviction({ name }: MachineScenario): Promise<void> {
  const path = `/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/db`;
  await stage.api.patch("merge", path, { spec: { maxUnavailable: 1 } });
}

function hooksOf(group: string): readonly unknown[] {
  return stage.region.autoScaling.describeGroups().find(({ name }) => name === group)?.hooks ?? [];
}

/** It may have ended by itself meanwhile. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
