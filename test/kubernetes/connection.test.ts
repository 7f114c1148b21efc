import { afterEach, describe, expect, it } from "vitest";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import { type EksConnectionOptions, eksConnection } from "../../lib/kubernetes/connection.ts";
import { failureOf, refused } from "../contract/cluster-cases.ts";
import { type FakeApi, json, startFakeApi } from "./fake-api.ts";

const NODE = { metadata: { name: "n1", uid: "u1" } };
const SHORT = { connect: 500, headers: 300, body: 300 };

const opened: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

async function fakeApi(answer: Parameters<typeof startFakeApi>[0]): Promise<FakeApi> {
  const api = await startFakeApi(answer);
  opened.push(api);
  return api;
}

function portOf(server: string, options: Partial<EksConnectionOptions> = {}) {
  const port = createClusterPort(
    eksConnection({ server, caData: "", token: async () => "t", timeouts: SHORT, ...options }),
  );
  opened.push(port);
  return port;
}

describe("a connection to an API server", () => {
  it("is used again by later calls, and has a few beside it for calls at the same time", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const port = portOf(api.url);
    for (let call = 0; call < 20; call++) await port.getNode("n1");
    expect(api.connections()).toBeLessThanOrEqual(2);
    await Promise.all(Array.from({ length: 50 }, () => port.getNode("n1")));
    expect(api.connections()).toBeLessThanOrEqual(8);
    expect(api.asked).toHaveLength(70);
  });

  it("sends the bearer token that the source gives", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    await portOf(api.url, { token: async () => "secret-token" }).getNode("n1");
    expect(api.asked[0]?.headers.authorization).toBe("Bearer secret-token");
  });

  it("asks for a fresh token where one is refused, and tries once more (D17)", async () => {
    const given: boolean[] = [];
    const api = await fakeApi((asked, response) => {
      if (asked.headers.authorization === "Bearer old") json(response, 401, { message: "Unauthorized" });
      else json(response, 200, NODE);
    });
    const port = portOf(api.url, {
      token: async ({ fresh } = { fresh: false }) => {
        given.push(fresh);
        return fresh ? "new" : "old";
      },
    });
    expect((await port.getNode("n1"))?.uid).toBe("u1");
    expect(given).toEqual([false, true]);
  });

  it("is unauthenticated where the fresh token is refused too, after two requests", async () => {
    const api = await fakeApi((_, response) => json(response, 401, { message: "Unauthorized" }));
    const failure = await failureOf(portOf(api.url).getNode("n1"));
    expect(failure).toMatchObject(refused("getNode", "unauthenticated"));
    expect(failure.message).toContain("access entry");
    expect(api.asked).toHaveLength(2);
  });

  it("is unauthenticated without a request where there is no token", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const token = () => Promise.reject(new Error("no credentials in this environment"));
    const failure = await failureOf(portOf(api.url, { token }).getNode("n1"));
    expect(failure).toMatchObject(refused("getNode", "unauthenticated"));
    expect(failure.message).toContain("no credentials in this environment");
    expect(api.asked).toEqual([]);
  });

  it.each([429, 500, 503])("does not try again by itself after %i", async (status) => {
    const api = await fakeApi((_, response) => json(response, status, { message: "not now" }));
    await failureOf(portOf(api.url).getNode("n1"));
    expect(api.asked).toHaveLength(1);
  });
});

describe("an API server out of reach is the network's failure", () => {
  it("when nobody listens", async () => {
    const gone = await startFakeApi(() => undefined);
    await gone.close();
    const failure = await failureOf(portOf(gone.url).getNode("n1"));
    expect(failure).toMatchObject(refused("getNode", "network"));
    expect(failure.message).toContain("ECONNREFUSED");
    expect(failure.message).toContain(new URL(gone.url).host);
  });

  it("when it does not answer in time", async () => {
    const api = await fakeApi(() => undefined);
    expect(await failureOf(portOf(api.url).listNodes())).toMatchObject(refused("listNodes", "network"));
  });

  it("when its answer stops half-way", async () => {
    const api = await fakeApi((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"metadata":');
    });
    expect(await failureOf(portOf(api.url).getNode("n1"))).toMatchObject(refused("getNode", "network"));
  });

  it("when it drops the connection", async () => {
    const api = await fakeApi((_, response) => response.socket?.destroy());
    expect(await failureOf(portOf(api.url).getNode("n1"))).toMatchObject(refused("getNode", "network"));
  });

  it("when it speaks no TLS", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const failure = await failureOf(portOf(api.url.replace("http:", "https:")).getNode("n1"));
    expect(failure).toMatchObject(refused("getNode", "network"));
  });
});

describe("an answer that is none of the API's", () => {
  it("is the server's failure", async () => {
    const api = await fakeApi((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end("<html>");
    });
    expect(await failureOf(portOf(api.url).getNode("n1"))).toMatchObject(refused("getNode", "server"));
  });
});
