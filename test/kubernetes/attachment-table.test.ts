import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import { eksConnection } from "../../lib/kubernetes/connection.ts";
import { failureOf, refused } from "../contract/cluster-cases.ts";
import { type AskedOfFake, json, startFakeApi } from "./fake-api.ts";

const columnDefinitions = ["Name", "Attacher", "PV", "Node"].map((name) => ({ name }));

function table(names: readonly string[], next?: string) {
  const rows = names.map((name) => ({ cells: [name, "ebs.csi.aws.com", "pv", "n1"], object: null }));
  return {
    kind: "Table",
    metadata: next === undefined ? {} : { continue: next },
    columnDefinitions,
    rows,
  };
}

const EXPIRED = { kind: "Status", reason: "Expired", message: "The provided continue parameter is too old" };

const opened: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

async function portOver(answer: Parameters<typeof startFakeApi>[0], prefix = "") {
  const api = await startFakeApi(answer);
  const connection = eksConnection({ server: `${api.url}${prefix}`, caData: "", token: async () => "t" });
  const port = createClusterPort(connection);
  opened.push(api, port);
  return { api, port };
}

function queryOf(asked: AskedOfFake | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(asked?.url ?? "", "http://x").searchParams);
}

describe("the list of VolumeAttachments", () => {
  it("asks for table rows without objects in pages of 1,000, compressed", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, table(["a"])));
    await port.listAttachmentRows({ withNodeIds: false });
    const [asked] = api.asked;
    expect(asked?.headers).toMatchObject({
      accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
      "accept-encoding": "gzip",
      authorization: "Bearer t",
    });
    expect(queryOf(asked)).toEqual({ limit: "1000", includeObject: "None" });
  });

  it("asks for metadata where node ids are wanted", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, table(["a"])));
    await port.listAttachmentRows({ withNodeIds: true });
    expect(queryOf(api.asked[0])).toEqual({ limit: "1000", includeObject: "Metadata" });
  });

  it("goes on page by page until there is no next one", async () => {
    const pages = [table(["a", "b"], "2nd/+="), table(["c"], "3rd"), table(["d"])];
    const { api, port } = await portOver((_, response) => json(response, 200, pages[api.asked.length - 1]));
    const rows = await port.listAttachmentRows({ withNodeIds: false });
    expect(rows.map((row) => row.name)).toEqual(["a", "b", "c", "d"]);
    expect(api.asked.map((asked) => queryOf(asked)["continue"])).toEqual([undefined, "2nd/+=", "3rd"]);
  });

  it("understands a compressed answer", async () => {
    const { port } = await portOver((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(gzipSync(JSON.stringify(table(["a"]))));
    });
    expect(await port.listAttachmentRows({ withNodeIds: false })).toHaveLength(1);
  });

  it("starts again, without what it had, where its continue token expired", async () => {
    const { api, port } = await portOver((_, response) => {
      if (api.asked.length === 2) json(response, 410, EXPIRED);
      else json(response, 200, api.asked.length === 1 ? table(["a"], "old") : table(["a", "b"]));
    });
    const rows = await port.listAttachmentRows({ withNodeIds: false });
    expect(rows.map((row) => row.name)).toEqual(["a", "b"]);
    expect(api.asked.map((asked) => queryOf(asked)["continue"])).toEqual([undefined, "old", undefined]);
  });

  it("gives up as the server's failure where it expires twice", async () => {
    const { api, port } = await portOver((_, response) => json(response, 410, EXPIRED));
    const failure = await failureOf(port.listAttachmentRows({ withNodeIds: false }));
    expect(failure).toMatchObject(refused("listAttachmentRows", "server"));
    expect(api.asked).toHaveLength(2);
  });

  it("fails rather than say that nothing is attached where the answer is no such table", async () => {
    const list = { kind: "VolumeAttachmentList", items: [], metadata: {} };
    const { port } = await portOver((_, response) => json(response, 200, list));
    const failure = await failureOf(port.listAttachmentRows({ withNodeIds: false }));
    expect(failure).toMatchObject(refused("listAttachmentRows", "server"));
  });

  it("tries once more with fresh credentials, as every other call", async () => {
    const { api, port } = await portOver((_, response) => {
      if (api.asked.length === 1) json(response, 401, {});
      else json(response, 200, table(["a"]));
    });
    expect(await port.listAttachmentRows({ withNodeIds: false })).toHaveLength(1);
  });

  it("keeps the path of an API server behind a proxy", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, table([])), "/clusters/c1/");
    await port.listAttachmentRows({ withNodeIds: false });
    expect(api.asked[0]?.url).toMatch(/^\/clusters\/c1\/apis\/storage\.k8s\.io\/v1\/volumeattachments\?/u);
  });
});

describe("other lists", () => {
  it("of Nodes go page by page and start again once when they expire", async () => {
    const { api, port } = await portOver((_, response) => {
      const page = (name: string, next: string) =>
        json(response, 200, { metadata: { continue: next }, items: [{ metadata: { name } }] });
      switch (api.asked.length) {
        case 1:
          return page("n1", "old");
        case 2:
          return json(response, 410, EXPIRED);
        case 3:
          return page("n1", "new");
        default:
          return page("n2", "");
      }
    });
    expect((await port.listNodes()).map((node) => node.name)).toEqual(["n1", "n2"]);
    expect(api.asked.map((asked) => queryOf(asked))).toEqual([
      { limit: "500" },
      { limit: "500", continue: "old" },
      { limit: "500" },
      { limit: "500", continue: "new" },
    ]);
  });

  it("of pods select them by their node", async () => {
    const empty = { metadata: {}, items: [] };
    const { api, port } = await portOver((_, response) => json(response, 200, empty));
    await port.listPodsOnNode("ip-10-0-0-1.ec2.internal");
    expect(queryOf(api.asked[0])).toEqual({
      fieldSelector: "spec.nodeName=ip-10-0-0-1.ec2.internal",
      limit: "500",
    });
  });
});
