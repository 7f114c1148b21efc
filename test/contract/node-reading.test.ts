import type { ServerResponse } from "node:http";
import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FailureKind } from "../../lib/engine/errors.ts";
import { eksConnection } from "../../lib/kubernetes/connection.ts";
import { credentialsFolder } from "../hook/hook-stage.ts";
import { json } from "../kubernetes/fake-api.ts";
import { failureOf, freshName } from "./cluster-cases.ts";
import { FakeClusterApi, refuse } from "./fake-cluster-api.ts";
import { describeNodeReadingContract } from "./node-reading-contract.ts";
import { type NodeReading, type ReadingClient, adapterReading, hookReading } from "./node-reading.ts";

let cluster: FakeClusterApi;
let folder: string;
const opened: NodeReading[] = [];
beforeAll(async () => {
  cluster = await FakeClusterApi.start();
  folder = await credentialsFolder("token-1");
});
afterEach(() => {
  cluster.misbehave = () => false;
});
afterAll(async () => {
  for (const reading of opened) await reading.close();
  await cluster.close();
  await rm(folder, { recursive: true });
});

const CLIENTS: Readonly<Record<ReadingClient, () => NodeReading>> = {
  "the hook's client": () => hookReading(cluster.url, folder),
  "the drain's adapter": () =>
    adapterReading(eksConnection({ server: cluster.url, caData: "", token: async () => "token-1" })),
};
const NAMES = Object.keys(CLIENTS) as ReadingClient[];

for (const name of NAMES) {
  describeNodeReadingContract(name, async () => ({ arrange: cluster.arrange, reading: CLIENTS[name]() }));
}

const TOO_MANY = "Too many requests, please try again later.\n";

/** What the API server, or what stands before it, makes of a request, and what it is then to both clients. */
const TROUBLES: readonly [string, (response: ServerResponse) => void, FailureKind][] = [
  ["refuses the credentials", (response) => refuse(response, 401, "Unauthorized"), "unauthenticated"],
  ["forbids it", (response) => refuse(response, 403, "may not"), "forbidden"],
  ["throttles in plain text", (response) => response.writeHead(429).end(TOO_MANY), "throttled"],
  ["fails", (response) => refuse(response, 500, "etcdserver: leader changed"), "server"],
  ["is starting", (response) => response.writeHead(503).end("starting"), "server"],
  ["gives up", (response) => refuse(response, 504, "timeout"), "server"],
  ["does not understand", (response) => refuse(response, 400, "bad request"), "rejected"],
  [
    "is another kind of server",
    (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>hello</html>"),
    "server",
  ],
  ["answers JSON of something else", (response) => json(response, 200, { status: "ok" }), "server"],
  ["breaks the connection", (response) => void response.socket?.destroy(), "network"],
  [
    "breaks it in the middle of the answer",
    (response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"kind":', () => response.socket?.destroy());
    },
    "network",
  ],
];

describe.each(NAMES)("trouble as %s sees it", (client) => {
  let reading: NodeReading;
  beforeAll(() => {
    reading = CLIENTS[client]();
    opened.push(reading);
  });

  it.each(TROUBLES)("where the API server %s (H7, D17)", async (_, answer, kind) => {
    cluster.misbehave = (_asked, response) => {
      answer(response);
      return true;
    };
    expect(await failureOf(reading.getNode("n1"))).toMatchObject({ kind });
    expect(await failureOf(reading.attachmentsOf("n1"))).toMatchObject({ kind });
  });

  it("hears when to ask again", async () => {
    cluster.misbehave = (_asked, response) => {
      refuse(response, 429, "slowly", { "retry-after": "7" });
      return true;
    };
    expect(await failureOf(reading.getNode("n1"))).toMatchObject({ kind: "throttled", retryAfter: 7 });
  });

  it("tells a list that expired between two pages from an empty one", async () => {
    const node = freshName("node");
    await cluster.arrange.addAttachments(
      Array.from({ length: 1_001 }, () => ({
        name: freshName("csi"),
        attacher: "ebs.csi.aws.com",
        nodeName: node,
        source: { volumeName: "pv" },
      })),
    );
    cluster.misbehave = ({ url }, response) => {
      if (!url.includes("continue=")) return false;
      refuse(response, 410, "The provided continue parameter is too old");
      return true;
    };
    expect(await failureOf(reading.attachmentsOf(node))).toMatchObject({ kind: "server" });
  });

  it("takes no answer for a list but a table with node and volume", async () => {
    cluster.misbehave = (_asked, response) => {
      json(response, 200, { kind: "VolumeAttachmentList", items: [] });
      return true;
    };
    expect(await failureOf(reading.attachmentsOf("n1"))).toMatchObject({ kind: "server" });
  });
});
