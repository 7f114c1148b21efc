import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeObject, refuse } from "./fake-cluster.ts";
import { type Stage, startStage, volume } from "./hook-stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await startStage();
});
afterEach(() => stage.close());

describe("the rehearsal at a hook's start", () => {
  it("reads what a hold begins with, once, and nothing of attachments", async () => {
    await stage.hook.rehearse();
    expect(stage.cluster.asked.map(({ path }) => path.split("/").at(-2))).toEqual(["nodes", "pods"]);
    expect(stage.log).toEqual([]);
  });

  it("is no hold: a node that goes away is not waited for, nor counted", async () => {
    const one = volume("vol-1");
    stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [one.inUse] });
    stage.cluster.attach(one.name);
    await stage.hook.rehearse();
    expect(stage.hook.isWaiting).toBe(false);
    expect(stage.hook.metrics()).toContain("ebs_drain_hook_holds_total 0\n");
    expect(stage.cluster.count(/volumeattachments/u)).toBe(0);
  });

  it("tells of a missing right, and the first hold reads again (H7)", async () => {
    stage.cluster.misbehave = ({ path }, response) => path.includes("/nodes/") && refuse(response, 403);
    await stage.hook.rehearse();
    expect(stage.log).toMatchObject([{ message: "API trouble", operation: "getNode", kind: "forbidden" }]);
    stage.cluster.misbehave = () => false;
    expect(await stage.stopPod()).toMatchObject([{ rule: "H1" }, { rule: "H1" }, { rule: "H1" }]);
  });

  it("survives an API server that is not there (H13)", async () => {
    await stage.cluster.stop();
    await stage.hook.rehearse();
    expect(stage.log).toMatchObject([
      { message: "API trouble", kind: "network" },
      { message: "API trouble", kind: "network" },
    ]);
    await stage.cluster.start();
  });

  it("leaves no connection open: a thousand idle hooks cost the API server nothing", async () => {
    await stage.hook.rehearse();
    const rehearsed = stage.cluster.connections;
    await stage.stopPod();
    expect(stage.cluster.connections).toBeGreaterThan(rehearsed);
  });
});
