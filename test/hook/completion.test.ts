import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { HoldEnd } from "../../hook/hold-end.ts";
import type { HandedAction, LoadAutoScaling } from "../../hook/lifecycle-completion.ts";
import { findRegion } from "../../hook/region.ts";
import { PortError } from "../../lib/engine/errors.ts";
import { nodeObject, podObject } from "./fake-cluster.ts";
import { type Stage, isSettled, startStage, until, volume, work } from "./hook-stage.ts";

const ONE = volume("vol-1");
const HANDED = { handedOver: "pod-uid", token: "token-of-the-action" };

let stage: Stage;
afterEach(() => stage.close());

/** Auto Scaling that remembers what was completed and then answers as the test says. */
function autoScaling(answer: () => Promise<void> = () => Promise.resolve()) {
  const completed: HandedAction[] = [];
  let loads = 0;
  const load: LoadAutoScaling = async () => {
    loads += 1;
    return async (action) => {
      completed.push(action);
      await answer();
    };
  };
  return { completed, load, loads: () => loads };
}

/** A hold of one volume on a Node with this work, its volume gone after it was seen. */
async function detached(load: LoadAutoScaling, annotation: string | undefined): Promise<HoldEnd | undefined> {
  stage = await startStage({}, load);
  const { cluster } = stage;
  cluster.node = nodeObject({
    cordoned: true,
    volumesInUse: [ONE.inUse],
    ...(annotation === undefined ? {} : { work: annotation }),
  });
  cluster.attach(ONE.name);
  const stopping = stage.stopPod();
  await until("it is watched", () => cluster.watched().length === 1);
  cluster.detach(ONE.name);
  return (await stopping)[0];
}

describe("the lifecycle action of a hook that it was handed to (H9)", () => {
  it("is completed by its token before the answer, and the Event says so", async () => {
    const { completed, load } = autoScaling();
    expect(await detached(load, work(HANDED))).toMatchObject({
      rule: "H5",
      completion: { kind: "completed" },
    });
    expect(completed).toEqual([{ group: "workers-a", hook: "ebs-drain", token: "token-of-the-action" }]);
    const [event] = stage.cluster.events();
    expect(event?.["message"]).toContain("lifecycle action completed");
    expect(stage.hook.metrics()).toContain('ebs_drain_hook_completions_total{result="completed"} 1');
  });

  it.each<[string, string | undefined]>([
    ["there is no work", undefined],
    ["the work was handed to nobody", work()],
    ["it was handed to another pod", work({ ...HANDED, handedOver: "the-pod-before" })],
    ["the work is another boot's", work({ ...HANDED, bootID: "boot-0" })],
  ])("is left alone where %s, and no AWS code is loaded", async (_, annotation) => {
    const { completed, load, loads } = autoScaling();
    const end = await detached(load, annotation);
    expect(end).toMatchObject({ rule: "H5", detached: true });
    expect(end?.completion).toBeUndefined();
    expect([completed, loads()]).toEqual([[], 0]);
  });

  it("is left alone at the deadline, with the volume still attached", async () => {
    const { completed, load } = autoScaling();
    stage = await startStage({}, load);
    stage.cluster.pod = podObject({ grace: 4 });
    stage.cluster.node = nodeObject({ cordoned: true, work: work(HANDED), volumesInUse: [ONE.inUse] });
    stage.cluster.attach(ONE.name);
    expect((await stage.stopPod())[0]).toMatchObject({ rule: "H8" });
    expect(completed).toEqual([]);
  });

  it("counts as done where the drain has completed it already", async () => {
    const { load } = autoScaling(() =>
      Promise.reject(new PortError("no-active-action", "complete", "No active")),
    );
    expect(await detached(load, work(HANDED))).toMatchObject({ completion: { kind: "already" } });
  });

  it("is left to the drain where it is refused, and where there are no credentials", async () => {
    const { load } = autoScaling(() => Promise.reject(new PortError("forbidden", "complete", "grant it")));
    expect(await detached(load, work(HANDED))).toMatchObject({
      completion: { kind: "failed", reason: "grant it" },
    });
    expect(stage.cluster.events()).toMatchObject([{ type: "Warning" }]);
    await stage.close();
    const end = await detached(() => Promise.reject(new Error("no credentials")), work(HANDED));
    expect(end).toMatchObject({ rule: "H5", completion: { kind: "failed", reason: "no credentials" } });
  });

  it("is given up after 2 s without an answer, and the containers get theirs", async () => {
    const { load } = autoScaling(() => new Promise(() => {}));
    const ending = detached(load, work(HANDED));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await isSettled(ending)).toBe(false);
    expect(await ending).toMatchObject({ completion: { kind: "failed", reason: "no answer within 2 s" } });
  });
});

describe("the region of the machine", () => {
  it("is the environment's, else the instance metadata's by a session token (IMDSv2)", async () => {
    stage = await startStage();
    const server = createServer((request, response) => {
      const hasToken = request.headers["x-aws-ec2-metadata-token"] === "session";
      if (request.method === "PUT") response.end("session");
      else if (hasToken && request.url === "/latest/meta-data/placement/region") response.end("eu-west-1");
      else response.writeHead(401).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const AWS_EC2_METADATA_SERVICE_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await findRegion({ AWS_REGION: "us-east-1", AWS_EC2_METADATA_SERVICE_ENDPOINT })).toBe(
      "us-east-1",
    );
    expect(await findRegion({ AWS_EC2_METADATA_SERVICE_ENDPOINT })).toBe("eu-west-1");
    server.close();
    server.closeAllConnections();
    await expect(findRegion({ AWS_EC2_METADATA_SERVICE_ENDPOINT })).rejects.toThrow("ECONNREFUSED");
  });
});
