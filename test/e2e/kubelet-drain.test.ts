/** The drain and the hook together on a real node: the drain hands the action over, and the hook completes it. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { NodeScenario } from "./node/node-scenario.ts";
import { AWS_ADDRESS, NodeStage } from "./node/node-stage.ts";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";
import { eventually } from "./eventually.ts";
import { REGION } from "./region.ts";

/** Whom Auto Scaling's history names. */
const HOOK = "hook";

let stage: NodeStage;
beforeAll(async () => {
  // A detach so slow that the drain surely sees it under way.
  stage = await NodeStage.start({
    isFast: true,
    ec2Delays: { attach: [500, 500], detach: [10_000, 10_000] },
  });
  // As Pod Identity and the SDK's own settings give them; nobody is at the instance's metadata service.
  const env = {
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL: `http://${AWS_ADDRESS}`,
    AWS_ACCESS_KEY_ID: HOOK,
    AWS_SECRET_ACCESS_KEY: "not-a-secret",
  };
  await stage.install.byPolicy({ env });
}, BUILD_LIMIT_MS);
afterAll(() => stage?.close());

it("lets the machine go by the hook, as soon as its last volume is detached (C1, D10, H9)", async () => {
  const { machine, timeline } = stage;
  const { region, functions } = stage.stage;
  await stage.rollOut();
  const scenario = await NodeScenario.create(stage, "hand-over", 3);
  const { metadata } = await stage.csiPod();
  const hook = `${metadata.name}/ebs-drain-hook`;

  scenario.begin("scaling in");
  region.autoScaling.scaleIn(machine.instance);
  const cordoned = await scenario.when("api", /^node: cordoned/u);
  const unstaged = await scenario.when("mount", /unstaged/u);
  const detached = await scenario.when("ec2", scenario.detached);
  const answered = await scenario.when(hook, /^answer .*rule="H5".*"completed"/u);
  const completion = await eventually("the action is completed", () =>
    region.autoScaling
      .getHistory()
      .find((record) => record.kind === "complete" && record.instance === machine.instance),
  );
  const moved = await scenario.when("api", new RegExp(`^pod db-0: Running on ${stage.spare.node}`, "u"));
  await timeline.when("ec2", new RegExp(`^${machine.instance} .*terminated`, "u"), scenario.since);
  scenario.report({ cordoned, unstaged, detached, completed: completion.at, answered, moved });

  expect(completion).toMatchObject({ outcome: "accepted", result: "CONTINUE", by: HOOK, named: "token" });
  expect(detached).toBeLessThan(completion.at);
  // The answer ends the container; after it the machine may go any moment.
  expect(completion.at).toBeLessThanOrEqual(answered);
  // The drain sees it in its next look; other work for the instance is about its end.
  const drain = await eventually("the drain has ended", () =>
    functions
      .executionsFor(machine.instance)
      .find(({ name, status }) => name.startsWith("lifecycle-") && status !== "RUNNING"),
  );
  expect(drain.result).toMatchObject({ outcome: "completed-by-hook" });
});
