import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import { type KubeconfigOptions, kubeconfigConnection } from "../../lib/kubernetes/kubeconfig-connection.ts";
import { failureOf, refused } from "../contract/cluster-cases.ts";
import { json, startFakeApi } from "./fake-api.ts";

const NODE = { metadata: { name: "n1", uid: "u1" } };

let directory: string;
const opened: { readonly close: () => Promise<void> }[] = [];
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "kubeconfig-"));
});
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
  await rm(directory, { recursive: true });
});

/** A kubeconfig with one user and, beside its own, a context that points nowhere. */
async function kubeconfig(server: string, user: object, cluster: object = {}): Promise<string> {
  const file = path.join(directory, "config");
  // http is allowed only where nothing is verified anyway.
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "main",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true, ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [
      { name: "main", context: { cluster: "c", user: "u" } },
      { name: "other", context: { cluster: "none", user: "u" } },
    ],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

async function fakeApi(answer: Parameters<typeof startFakeApi>[0]) {
  const api = await startFakeApi(answer);
  opened.push(api);
  return api;
}

function portOf(options: KubeconfigOptions) {
  const port = createClusterPort(kubeconfigConnection(options));
  opened.push(port);
  return port;
}

/** An exec plugin whose token counts how often it was run. */
async function countingPlugin(): Promise<{ readonly command: string; readonly runs: () => Promise<number> }> {
  const [command, count] = [path.join(directory, "plugin"), path.join(directory, "count")];
  await writeFile(count, "");
  await writeFile(
    command,
    [
      "#!/bin/sh",
      `printf x >> ${count}`,
      `runs=$(wc -c < ${count} | tr -d ' ')`,
      `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"run-%s"}}' "$runs"`,
    ].join("\n"),
  );
  await chmod(command, 0o755);
  return { command, runs: async () => (await readFile(count, "utf8")).length };
}

describe("a kubeconfig", () => {
  it("gives its token, over connections that are used again", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const port = portOf({ file: await kubeconfig(api.url, { token: "from-file" }) });
    for (let call = 0; call < 10; call++) await port.getNode("n1");
    expect(api.asked[0]?.headers.authorization).toBe("Bearer from-file");
    expect(api.connections()).toBeLessThanOrEqual(2);
  });

  it("gives user name and password", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const port = portOf({ file: await kubeconfig(api.url, { username: "me", password: "pw" }) });
    await port.getNode("n1");
    expect(api.asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from("me:pw").toString("base64")}`);
  });

  it("gives an exec plugin's token, and runs it once for many calls", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const plugin = await countingPlugin();
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin.command };
    const port = portOf({ file: await kubeconfig(api.url, { exec }) });
    await port.getNode("n1");
    await port.getNode("n1");
    expect(api.asked.map((asked) => asked.headers.authorization)).toEqual(["Bearer run-1", "Bearer run-1"]);
    expect(await plugin.runs()).toBe(1);
  });

  it("runs an exec plugin again where its token is refused", async () => {
    const api = await fakeApi((asked, response) => {
      if (asked.headers.authorization === "Bearer run-2") json(response, 200, NODE);
      else json(response, 401, {});
    });
    const plugin = await countingPlugin();
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin.command };
    const port = portOf({ file: await kubeconfig(api.url, { exec }) });
    expect(await port.getNode("n1")).toBeDefined();
    expect(await plugin.runs()).toBe(2);
  });

  it("whose exec plugin cannot be run leaves us unauthenticated, and says why", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: path.join(directory, "no-such-plugin"),
    };
    const port = portOf({ file: await kubeconfig(api.url, { exec }) });
    const failure = await failureOf(port.getNode("n1"));
    expect(failure).toMatchObject(refused("getNode", "unauthenticated"));
    expect(failure.message).toContain("no-such-plugin");
    expect(api.asked).toEqual([]);
  });

  it("goes through its proxy", async () => {
    const api = await fakeApi((_, response) => json(response, 200, NODE));
    const proxy = await startProxy();
    opened.push(proxy);
    const file = await kubeconfig(api.url, { token: "t" }, { "proxy-url": proxy.url });
    expect((await portOf({ file }).getNode("n1"))?.uid).toBe("u1");
    expect(proxy.passed()).toBe(1);
  });

  it("without the context that is asked for is refused by name", async () => {
    const file = await kubeconfig("http://127.0.0.1:1", { token: "t" });
    expect(() => kubeconfigConnection({ file, context: "missing" })).toThrow(/"missing".*main, other/u);
    expect(() => kubeconfigConnection({ file, context: "other" })).toThrow(/"other"/u);
    expect(() => kubeconfigConnection({ file: path.join(directory, "none") })).toThrow(/ENOENT/u);
  });
});

/** A forward proxy for plain HTTP. */
async function startProxy() {
  let passed = 0;
  const server = createServer((request, response) => {
    passed += 1;
    const { method, headers, url = "" } = request;
    const onward = httpRequest(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed: () => passed,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
