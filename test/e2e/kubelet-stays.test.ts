/** The CSI node pod, or one container of it, ends on a real node that stays: nothing may wait. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "./eventually.ts";
import { HOOK_IMAGE } from "./node/hook-image.ts";
import { NodeScenario } from "./node/node-scenario.ts";
import { NodeStage } from "./node/node-stage.ts";
import { BUILD_LIMIT_MS } from "./node/real-node.ts";

let stage: NodeStage;
beforeAll(async () => {
  stage = await NodeStage.start({ isFast: true });
  await stage.install.byPolicy();
  await stage.rollOut();
}, BUILD_LIMIT_MS);
afterAll(() => stage?.close());

describe("the driver's own rolling update", () => {
  it.each([
    ["a healthy node is answered at once (H1, C29)", "rollout-healthy", false, "H1"],
    ["a cordoned node is answered at once (H3, C29)", "rollout-cordoned", true, "H3"],
  ] as const)("on %s", async (_, name, isCordoned, rule) => {
    const { metadata } = await stage.csiPod();
    const scenario = await NodeScenario.create(stage, name);
    if (isCordoned) await stage.cordon();
    scenario.begin("rolling the driver out");
    await stage.rollOut();
    const pod = metadata.name;
    const asked = await scenario.when(`${pod}/ebs-drain-hook`, /^asked/u);
    const answered = await scenario.when(
      `${pod}/ebs-drain-hook`,
      new RegExp(`^answer .*rule="${rule}"`, "u"),
    );
    const ended = await scenario.when(`${pod}/ebs-plugin`, /got terminated/u);
    scenario.report({ asked, answered, "driver asked to end": ended });
    // Whoever holds, holds for the volume that the database still uses.
    expect(
      stage.timeline.find(`${pod}/ebs-drain-hook`, /^holding rule="H5"/u, scenario.since),
    ).toBeUndefined();
    expect(await scenario.isDatabaseUndisturbed()).toBe(true);
  });
});

describe("a container's restart", () => {
  it("by its liveness probe on a cordoned node waits one second, and no volume (H4, C29)", async () => {
    const scenario = await NodeScenario.create(stage, "liveness-restart");
    const { metadata } = await stage.csiPod();
    await stage.cordon();
    scenario.begin("the driver is not well");
    await writeFile(path.join(stage.node.kubeletFolder, "plugins/ebs.csi.aws.com/sick"), "");
    const pod = metadata.name;
    const asked = await scenario.when(`${pod}/ebs-drain-hook`, /^asked container="ebs-plugin"/u);
    const answered = await scenario.when(`${pod}/ebs-drain-hook`, /^answer .*rule="H4"/u);
    const restarted = await scenario.when(`${pod}/ebs-plugin#1`, /^driver serves/u);
    scenario.report({ asked, answered, "driver serves again": restarted });
    expect(answered).toBeLessThan(restarted);
    // The kubelet reports a restart a moment after it.
    const restarts = await eventually("the driver's restart is reported", async () => {
      const containers = await stage.containersOf(pod);
      const counts = new Map(containers.map(({ name, restartCount }) => [name, restartCount]));
      return (counts.get("ebs-plugin") ?? 0) > 0 && counts;
    });
    expect(Object.fromEntries(restarts)).toEqual({
      "ebs-drain-hook": 0,
      "ebs-plugin": 1,
      "liveness-probe": 0,
      "node-driver-registrar": 0,
    });
  });
});

describe("an image of the hook that cannot be had", () => {
  it("keeps neither the driver nor a volume waiting", async () => {
    await stage.install.byPolicy({ image: "localhost/nowhere:1" });
    await stage.install.apply([stage.nextCsiPods()]);
    const pod = await eventually("the driver runs, and the hook does not", async () => {
      const { metadata } = await stage.csiPod();
      const running = (await stage.containersOf(metadata.name)).filter(({ ready }) => ready);
      const names = running.map(({ name }) => name).toSorted();
      return names.join() === "ebs-plugin,liveness-probe,node-driver-registrar" && metadata.name;
    });
    const scenario = await NodeScenario.create(stage, "image-missing");
    await scenario.goAway();
    const ended = await scenario.when(`${pod}/node-driver-registrar`, /got terminated/u);
    const gone = await scenario.when("api", scenario.attachment);
    scenario.report({ "registrar asked to end": ended, "attachment gone": gone });
    expect(ended).toBeLessThan(gone);
    await stage.install.byPolicy({ image: HOOK_IMAGE });
  });
});
