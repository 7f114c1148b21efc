import { afterEach, describe, expect, it } from "vitest";
import type { NodeEvent } from "../../lib/engine/ports.ts";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import { eksConnection } from "../../lib/kubernetes/connection.ts";
import { failureOf, refused } from "../contract/cluster-cases.ts";
import { json, startFakeApi } from "./fake-api.ts";

const POD = { namespace: "shop", name: "db-0", uid: "u-db-0" };
const EVENT: NodeEvent = {
  node: "n1",
  nodeUid: "u-n1",
  type: "Normal",
  reason: "DrainStarted",
  message: "instance i-1 is going away",
  at: Date.parse("2026-10-01T12:00:00.500Z"),
};

const opened: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

async function portOver(answer: Parameters<typeof startFakeApi>[0]) {
  const api = await startFakeApi(answer);
  const port = createClusterPort(eksConnection({ server: api.url, caData: "", token: async () => "t" }));
  opened.push(api, port);
  return { api, port };
}

describe("what a change sends", () => {
  it("is a JSON patch for a Node", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, { metadata: { name: "n1" } }));
    const patch = [{ op: "add", path: "/spec/unschedulable", value: true }] as const;
    await port.patchNode("n1", patch);
    expect(api.asked[0]).toMatchObject({ method: "PATCH", url: "/api/v1/nodes/n1", body: patch });
    expect(api.asked[0]?.headers["content-type"]).toBe("application/json-patch+json");
  });

  it("is a policy/v1 Eviction with the uid, and a grace only where one is given (D16)", async () => {
    const { api, port } = await portOver((_, response) => json(response, 201, { kind: "Status" }));
    await port.evictPod(POD);
    await port.evictPod(POD, 20);
    const preconditions = { uid: "u-db-0" };
    expect(api.asked.map((asked) => asked.url)).toEqual([
      "/api/v1/namespaces/shop/pods/db-0/eviction",
      "/api/v1/namespaces/shop/pods/db-0/eviction",
    ]);
    expect(api.asked.map((asked) => (asked.body as { deleteOptions: object }).deleteOptions)).toEqual([
      { preconditions },
      { preconditions, gracePeriodSeconds: 20 },
    ]);
  });

  it("is a delete with the uid, and grace 0 as 0", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, { kind: "Pod" }));
    await port.deletePod(POD);
    await port.deletePod(POD, 0);
    const preconditions = { uid: "u-db-0" };
    expect(api.asked.map((asked) => asked.body)).toEqual([
      { preconditions },
      { preconditions, gracePeriodSeconds: 0 },
    ]);
  });

  it("is a strategic patch of the status with the uid for a dead machine's pod (D14)", async () => {
    const { api, port } = await portOver((_, response) => json(response, 200, { kind: "Pod" }));
    await port.failPod(POD, "instance i-1 is terminated", EVENT.at);
    expect(api.asked[0]?.url).toBe("/api/v1/namespaces/shop/pods/db-0/status");
    expect(api.asked[0]?.headers["content-type"]).toBe("application/strategic-merge-patch+json");
    expect(api.asked[0]?.body).toEqual({
      metadata: { uid: "u-db-0" },
      status: {
        phase: "Failed",
        conditions: [
          {
            type: "DisruptionTarget",
            status: "True",
            reason: "EbsDrainInstanceGone",
            message: "instance i-1 is terminated",
            lastTransitionTime: "2026-10-01T12:00:00.500Z",
          },
        ],
      },
    });
  });
});

describe("an Event", () => {
  const nameOf = (body: unknown) => (body as { metadata: { name: string } }).metadata.name;

  it("is on the Node, in namespace default, by ebs-drain", async () => {
    const { api, port } = await portOver((_, response) => json(response, 201, {}));
    await port.recordEvent(EVENT);
    expect(api.asked[0]).toMatchObject({ method: "POST", url: "/api/v1/namespaces/default/events" });
    expect(api.asked[0]?.body).toMatchObject({
      involvedObject: { apiVersion: "v1", kind: "Node", name: "n1", uid: "u-n1" },
      type: "Normal",
      reason: "DrainStarted",
      message: "instance i-1 is going away",
      count: 1,
      source: { component: "ebs-drain" },
      reportingComponent: "ebs-drain",
    });
  });

  it("has the same name whenever it is the same, and another one when anything differs", async () => {
    const { api, port } = await portOver((_, response) => json(response, 201, {}));
    await port.recordEvent(EVENT);
    await port.recordEvent(EVENT);
    await port.recordEvent({ ...EVENT, message: "another" });
    await port.recordEvent({ ...EVENT, at: EVENT.at + 1 });
    await port.recordEvent({ ...EVENT, nodeUid: "u-other" });
    const names = api.asked.map((asked) => nameOf(asked.body));
    expect(names[1]).toBe(names[0]);
    expect(new Set(names).size).toBe(4);
    expect(names.every((name) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/u.test(name))).toBe(true);
  });

  it("is no error where it was recorded already", async () => {
    const exists = { kind: "Status", reason: "AlreadyExists", message: "exists" };
    const { port } = await portOver((_, response) => json(response, 409, exists));
    await expect(port.recordEvent(EVENT)).resolves.toBeUndefined();
  });

  it("that is refused otherwise is an error", async () => {
    const { port } = await portOver((_, response) => json(response, 403, { message: "no" }));
    expect(await failureOf(port.recordEvent(EVENT))).toMatchObject(refused("recordEvent", "forbidden"));
  });

  it("of a very long name and message still fits the API's limits", async () => {
    const { api, port } = await portOver((_, response) => json(response, 201, {}));
    const node = `${"a".repeat(219)}.${"b".repeat(33)}`;
    await port.recordEvent({ ...EVENT, node, message: "x".repeat(5_000) });
    const body = api.asked[0]?.body as { readonly message: string };
    expect(nameOf(body).length).toBeLessThanOrEqual(253);
    expect(nameOf(body)).not.toContain("..");
    expect(body.message.length).toBeLessThanOrEqual(1_024);
  });
});
