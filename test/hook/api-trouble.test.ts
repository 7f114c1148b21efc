/** One attachment watched, one list read, over an API server that misbehaves in each way that real ones do (H5, H7). */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ApiConnection } from "../../hook/api-connection.ts";
import { listAttachmentsOfNode } from "../../hook/attachment-list.ts";
import { untilGone } from "../../hook/attachment-watch.ts";
import { serviceAccount } from "../../hook/service-account.ts";
import type { PortError } from "../../lib/engine/errors.ts";
import { FakeCluster, NODE, refuse } from "./fake-cluster.ts";
import { credentialsFolder, isSettled, until } from "./hook-stage.ts";

const NAME = "csi-1";

let cluster: FakeCluster;
let folder: string;
let connection: ApiConnection;
let failures: PortError[];
let over: AbortController;
beforeEach(async () => {
  cluster = new FakeCluster();
  await cluster.start();
  folder = await credentialsFolder("token-1");
  failures = [];
  connection = new ApiConnection(cluster.url, serviceAccount(folder), (error) => failures.push(error));
  over = new AbortController();
});
afterEach(async () => {
  over.abort();
  connection.close();
  await cluster.stop();
});

/** @param verifyEvery long, so that only the watch can tell in time, unless a test is about the GETs */
function watch(verifyEvery = 600_000): Promise<void> {
  const gone = untilGone(connection, NAME, { onThere: () => {}, onTrouble: () => {} }, over.signal, {
    verifyEvery,
    pollEvery: 20,
  });
  gone.catch(() => {});
  return gone;
}

const isWatch = ({ query }: { readonly query: URLSearchParams }): boolean => query.get("watch") === "1";
const watches = (): number => cluster.asked.filter(isWatch).length;
const isWatched = (): boolean => cluster.watched().length > 0;

describe("waiting for an attachment's end", () => {
  beforeEach(() => cluster.attach(NAME));

  it("takes one watch by name that carries metadata only (H11)", async () => {
    const gone = watch();
    await until("it is watched", isWatched);
    cluster.tell(NAME, "MODIFIED");
    cluster.tell(NAME, "BOOKMARK", { metadata: { resourceVersion: "9" } });
    expect(await isSettled(gone)).toBe(false);
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
    const [asked] = cluster.asked.filter(isWatch);
    expect(asked?.query.get("fieldSelector")).toBe(`metadata.name=${NAME}`);
    expect(asked?.headers.accept).toContain("as=PartialObjectMetadata");
    expect(watches()).toBe(1);
  });

  it("polls where watching is refused (403)", async () => {
    cluster.misbehave = (asked, response) => isWatch(asked) && refuse(response, 403);
    const gone = watch();
    await until("it polls", () => cluster.count(/volumeattachments\/csi-1/u) > 5);
    expect(watches()).toBe(1);
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
  });

  it.each<[string, () => void]>([
    ["is reset", () => cluster.endWatches("reset")],
    ["ends in order", () => cluster.endWatches("clean")],
    [
      "expires (ERROR event with 410)",
      () =>
        cluster.tell(NAME, "ERROR", { code: 410, reason: "Expired", message: "too old resource version" }),
    ],
    ["says something that is no JSON", () => cluster.tellRaw("<html>\n")],
  ])("is done by another watch where the first one %s", async (_, disturb) => {
    const gone = watch();
    await until("it is watched", isWatched);
    disturb();
    await until("it is watched again", () => watches() > 1 && isWatched());
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
  });

  it.each([410, 429, 500, 503])("goes on after a watch is answered %i", async (status) => {
    cluster.misbehave = (asked, response) => isWatch(asked) && watches() < 3 && refuse(response, status);
    const gone = watch();
    await until("it is watched", isWatched);
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
  });

  it("learns by GETs what no watch tells that never opens", async () => {
    cluster.misbehave = (asked, response) => isWatch(asked) && refuse(response, 500);
    const gone = watch();
    await until("watching has failed", () => watches() > 1);
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
  });

  it("is over at once where there never was such an attachment", async () => {
    cluster.detach(NAME);
    await expect(watch()).resolves.toBeUndefined();
  });

  it("sees a deletion that fell between the look and the watch", async () => {
    cluster.misbehave = (asked) => {
      if (isWatch(asked)) cluster.detach(NAME, true);
      return false;
    };
    await expect(watch()).resolves.toBeUndefined();
  });

  it("learns by a GET what a silent watch did not tell", async () => {
    const gone = watch(50);
    await until("it is watched", isWatched);
    cluster.detach(NAME, true);
    await expect(gone).resolves.toBeUndefined();
  });

  it("goes on where a request is never answered", async () => {
    let unanswered = 0;
    cluster.misbehave = (asked) => isWatch(asked) && unanswered++ === 0;
    const gone = watch();
    await until("it is watched", isWatched);
    expect(failures.map(({ kind }) => kind)).toEqual(["network"]);
    cluster.detach(NAME);
    await expect(gone).resolves.toBeUndefined();
  });
});

describe("the list of a hold", () => {
  const list = () => listAttachmentsOfNode(connection, NODE, over.signal);

  it("is read in compressed pages of table rows, and this node's rows are kept (H11)", async () => {
    for (let index = 0; index < 2_500; index++)
      cluster.attach(`other-${index}`, { node: `${NODE}-${index}` });
    cluster.attach(NAME, { volume: "pv-1" });
    expect(await list()).toEqual([
      { name: NAME, attacher: "ebs.csi.aws.com", nodeName: NODE, volumeName: "pv-1" },
    ]);
    expect(cluster.asked.map(({ query }) => query.get("limit"))).toEqual(["1000", "1000", "1000"]);
    expect(cluster.asked.every(({ headers }) => headers["accept-encoding"] === "gzip")).toBe(true);
    expect(cluster.connections).toBe(1);
  });

  it("fails as `server` where the answer breaks off, compressed or not", async () => {
    for (let index = 0; index < 1_500; index++)
      cluster.attach(`a-rather-long-name-of-an-attachment-${index}`);
    cluster.misbehave = (_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end(Buffer.from("1f8b0800000000000003", "hex"));
      return true;
    };
    await expect(list()).rejects.toMatchObject({ operation: "listAttachments" });
    cluster.misbehave = (_, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"kind":"Table","rows":[');
      setTimeout(() => response.socket?.resetAndDestroy(), 20);
      return true;
    };
    await expect(list()).rejects.toMatchObject({ operation: "listAttachments" });
  });
});

describe("a request to the API server", () => {
  const read = () => connection.read({ operation: "getNode", path: "/api/v1/nodes/n" });

  it("carries the token of this moment, so that one that rotates is no trouble", async () => {
    await read();
    await writeFile(path.join(folder, "token"), "token-2\n");
    await read();
    expect(cluster.asked.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });

  it("shares one connection with those before it", async () => {
    for (let index = 0; index < 5; index++) await read();
    expect(cluster.connections).toBe(1);
  });

  it.each([
    [401, "unauthenticated"],
    [403, "forbidden"],
    [404, "not-found"],
    [409, "conflict"],
    [410, "server"],
    [429, "throttled"],
    [503, "server"],
    [422, "rejected"],
  ])("fails at %i as %s, with the server's reason", async (status, kind) => {
    cluster.misbehave = (_, response) => refuse(response, status, "so it is");
    await expect(read()).rejects.toMatchObject({ kind, message: `getNode: so it is (${status})` });
  });

  it("fails at 429 with the seconds that the server asks to wait, also in plain text", async () => {
    cluster.misbehave = (_, response) => {
      response.writeHead(429, { "retry-after": "3" });
      response.end("Too many requests");
      return true;
    };
    await expect(read()).rejects.toMatchObject({ kind: "throttled", retryAfter: 3 });
  });

  it("fails as `network` where nobody answers in time, or listens", async () => {
    cluster.misbehave = () => true;
    const asked = connection.read({ operation: "getNode", path: "/", timeout: 50 });
    await expect(asked).rejects.toMatchObject({ kind: "network" });
    await cluster.stop();
    await expect(read()).rejects.toMatchObject({ kind: "network" });
    await cluster.start();
  });

  it("fails as `unauthenticated` without a token, and works once there is one", async () => {
    const late = path.join(folder, "late");
    const other = new ApiConnection(cluster.url, serviceAccount(late));
    const ask = () => other.read({ operation: "getNode", path: "/api/v1/nodes/n" });
    await expect(ask()).rejects.toMatchObject({ kind: "unauthenticated" });
    await mkdir(late);
    await writeFile(path.join(late, "token"), "token-3");
    await expect(ask()).resolves.toBeDefined();
    other.close();
  });

  it("survives that the server has ended the pooled connection", async () => {
    await read();
    let broken = 0;
    cluster.misbehave = (_, response) => {
      if (broken++ > 0) return false;
      response.socket?.resetAndDestroy();
      return true;
    };
    await expect(read()).resolves.toBeDefined();
  });
});
