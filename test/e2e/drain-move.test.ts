import { afterAll, beforeAll, expect, it } from "vitest";
import type { DrainResult } from "../../lib/engine/drain-loop.ts";
import { createAll } from "./create-all.ts";
import { Stage } from "./drain-stage.ts";
import { eventually } from "./eventually.ts";
import { CALLER } from "./functions.ts";
import { statefulSet } from "./workloads.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.start();
});

afterAll(async () => {
  await stage?.close();
});

it("moves a pod's volume off a machine that is scaled in, and lets the machine go only after both sides agree (C1, D5-D12)", async () => {
  const { region, timeline, fleet } = stage;
  const scenario = "move";
  const volumeId = stage.createVolume();
  await stage.createNamespace(scenario);
  const from = await stage.launch({ scenario });
  await createPod(scenario, [volumeId]);
  await stage.runningOn(from.node, scenario, "db-0");
  const to = await stage.launch({ scenario });

  const askedAt = Date.now();
  region.autoScaling.scaleIn(from.instance);

  const attachedThere = await timeline.attachment(volumeId, to.node, "attached");
  await stage.runningOn(to.node, scenario, "db-0");
  const goneHere = await timeline.attachment(volumeId, from.node, "gone");
  const completion = await eventually("the lifecycle action is completed", () => completionOf(from.instance));
  await timeline.instance(from.instance, "terminated");

  expect(completion).toMatchObject({ result: "CONTINUE", by: CALLER, named: "token" });
  const [detachedInEc2 = Number.POSITIVE_INFINITY] = timeline.ec2Times(volumeId, from.instance, "detached");
  expect(goneHere).toBeLessThan(completion.at);
  expect(detachedInEc2).toBeLessThan(completion.at);
  // The second is the instance's own end, told by its state change: there is nothing left to free.
  const ends = await eventually("all work has ended", () => endsOf(from.instance));
  expect(ends).toEqual(["lifecycle: completed", "gone: freed"]);
  expect(fleet.mounts.of(volumeId).map(({ endedBy }) => endedBy)).toEqual(["unmount", undefined]);
  expect(fleet.mounts.doubleMounts()).toEqual([]);
  console.log(
    `C1: ${seconds(askedAt, attachedThere)} from the scale-in to the volume attached on the other node, ` +
      `${seconds(askedAt, completion.at)} to CONTINUE`,
  );
});

async function createPod(scenario: string, volumeIds: readonly string[]): Promise<void> {
  const set = statefulSet({ name: "db", namespace: scenario, volumeIds, nodeSelector: { scenario } });
  await createAll(stage.api, set);
}

function completionOf(instance: string) {
  return stage.region.autoScaling
    .getHistory()
    .find(
      (record) => record.kind === "complete" && record.instance === instance && record.outcome === "accepted",
    );
}

/** Undefined while an execution for the instance is running. */
function endsOf(instance: string): readonly string[] | undefined {
  const executions = stage.functions.executionsFor(instance);
  if (executions.some(({ status }) => status === "RUNNING")) return undefined;
  return executions.map(
    ({ name, result }) => `${name.slice(0, name.indexOf("-"))}: ${(result as DrainResult).outcome}`,
  );
}

function seconds(from: number, to: number): string {
  return `${((to - from) / 1_000).toFixed(1)} s`;
}
