/** The product deployed by `cdk deploy` into the local AWS, at work on a real control plane. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { DeployedFunctions } from "./aws/deployed-functions.ts";
import { CONFIGURATION, DeployedStage } from "./aws/deployed-stage.ts";
import { MachineScenario, seconds } from "./machine-scenario.ts";

let stage: DeployedStage;
let functions: DeployedFunctions;

beforeAll(async () => {
  stage = await DeployedStage.start();
  await stage.cdk.bootstrap(CONFIGURATION);
  functions = await stage.deploy();
});

afterAll(async () => {
  await stage?.close();
});

it("drains a scaled-in machine: the volume is attached elsewhere before the instance is gone (C1)", async () => {
  const { region, timeline } = stage;
  const scenario = new MachineScenario(stage, "move");
  await scenario.prepare();
  const from = await scenario.launch();
  const volumeId = await scenario.runDatabase(from);
  const to = await scenario.launch();

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
  const [detached = Number.POSITIVE_INFINITY] = timeline.ec2Times(volumeId, from.instance, "detached");
  expect(detached).toBeLessThan(completion.at);
  expect(await functions.ended(from.instance)).toEqual(["lifecycle: completed", "gone: freed"]);
  console.log(
    `deployed: ${seconds(askedAt, attachedThere)} from the scale-in to the volume attached elsewhere`,
  );
});
