/** A volume leaves a real node, and how long that takes with the hook and without. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodeScenario } from "./node/node-scenario.ts";
import { NodeStage } from "./node/node-stage.ts";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";

/** What the database needs to stop, in seconds: longer than the driver's pod lives on without its hook. */
const STOP_SECONDS = 10;

let stage: NodeStage;
/** Milliseconds from the deletions to the attachment's end. */
let unprotected: number;
beforeAll(async () => {
  stage = await NodeStage.start();
}, BUILD_LIMIT_MS);
afterAll(() => stage?.close());

describe("a volume on a real node that is drained", () => {
  it("waits for the driver's next pod where only the driver's own hook waits: the registrar is gone", async () => {
    await stage.rollOut();
    const scenario = await NodeScenario.create(stage, "unprotected", STOP_SECONDS);
    const pod = await scenario.goAway();
    const registrarEnded = await scenario.when(`${pod}/node-driver-registrar`, /got terminated/u);
    const unstaged = await scenario.when("mount", /unstaged/u);
    const gone = await scenario.when("api", scenario.attachment);
    unprotected = gone - scenario.since;
    scenario.report({ "registrar asked to end": registrarEnded, unstaged, "attachment gone": gone });
    expect(registrarEnded).toBeLessThan(unstaged);
  });

  it.each<[string, string, () => Promise<void>]>([
    [
      "the admission policy",
      "admission-policy",
      async () => {
        await stage.install.byPolicy();
        await stage.install.apply([stage.nextCsiPods()]);
      },
    ],
    [
      "the kustomize component",
      "kustomize",
      async () => {
        await stage.install.removePolicy();
        await stage.install.byKustomize(stage.nextCsiPods());
      },
    ],
    [
      "server-side apply beside an add-on, whose driver keeps its own hook",
      "server-side-apply",
      async () => {
        await stage.install.besideAddOn(stage.nextCsiPods({ graceSeconds: 120 }), { graceSeconds: 120 });
      },
    ],
  ])(
    "is free soon after the database has stopped, with the hook by %s (C32, H5, H11)",
    async (_, name, install) => {
      await install();
      await stage.rolledOut();
      const scenario = await NodeScenario.create(stage, name, STOP_SECONDS);
      const pod = await scenario.goAway();
      const unstaged = await scenario.when("mount", /unstaged/u);
      const gone = await scenario.when("api", scenario.attachment);
      const answered = await scenario.when(`${pod}/ebs-drain-hook`, /^answer .*rule="H5"/u);
      const driver = await scenario.when(`${pod}/ebs-plugin`, /got terminated/u);
      const registrar = await scenario.when(`${pod}/node-driver-registrar`, /got terminated/u);
      const moved = await scenario.when("api", new RegExp(`^pod db-0: Running on ${stage.spare.node}`, "u"));
      scenario.report({ unstaged, "attachment gone": gone, answered, "driver asked to end": driver, moved });
      expect(unstaged).toBeLessThan(gone);
      expect(answered).toBeLessThan(registrar);
      expect(gone).toBeLessThan(driver);
      expect(gone - scenario.since).toBeLessThan(unprotected);
    },
  );
});
