import { mkdtemp } from "node:fs/promises";
import { type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeObject } from "./fake-cluster.ts";
import { type Stage, isSettled, startStage, until, volume } from "./hook-stage.ts";

const ONE = volume("vol-1");

let stage: Stage;
let driver: Server;
let knocks: number;
let csiSocket: string;
beforeEach(async () => {
  csiSocket = path.join(await mkdtemp(path.join(tmpdir(), "csi-")), "csi.sock");
  knocks = 0;
  driver = createServer((socket) => {
    knocks += 1;
    socket.on("error", () => {});
    socket.end();
  });
  stage = await startStage({ csiSocket });
  stage.cluster.node = nodeObject({ cordoned: true, volumesInUse: [ONE.inUse] });
  stage.cluster.attach(ONE.name);
});
afterEach(async () => {
  driver.close();
  await stage.close();
});

const listen = () => new Promise<void>((resolve) => driver.listen(csiSocket, resolve));

describe("a hold whose driver has died (H12)", () => {
  it("ends after about a second, and says what is left", async () => {
    await listen();
    const stopping = stage.stopPod();
    await until("the driver was asked", () => knocks > 7);
    expect(await isSettled(stopping)).toBe(false);
    driver.close();
    const [end] = await stopping;
    expect(end).toMatchObject({ rule: "H12", detached: false, left: [ONE.name] });
    expect(stage.cluster.events()).toMatchObject([{ reason: "HookDriverGone", type: "Warning" }]);
  });

  it("goes on where there never was a socket: the path is wrong, not the driver dead", async () => {
    const stopping = stage.stopPod();
    await until("it is watched", () => stage.cluster.watched().length === 1);
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(await isSettled(stopping)).toBe(false);
    stage.cluster.detach(ONE.name);
    expect(await stopping).toMatchObject([{ rule: "H5" }, { rule: "H5" }, { rule: "H5" }]);
  });
});
