import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createClusterPort } from "../../lib/kubernetes/cluster-adapter.ts";
import { eksConnection } from "../../lib/kubernetes/connection.ts";
import { kubeconfigConnection } from "../../lib/kubernetes/kubeconfig-connection.ts";
import { failureOf, refused } from "../contract/cluster-cases.ts";
import { describeClusterContract } from "../contract/cluster-contract.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startQuietControlPlane, tokenConnection } from "./quiet-control-plane.ts";
import { realClusterHarness } from "./real-cluster-harness.ts";

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startQuietControlPlane();
});
afterAll(async () => {
  await controlPlane?.stop();
});

describeClusterContract("a real API server by bearer token", async () => {
  const token = async () => controlPlane.tokenFor("admin");
  return realClusterHarness(controlPlane.api, await tokenConnection(controlPlane, token));
});

describeClusterContract("a real API server by kubeconfig with a client certificate", () =>
  realClusterHarness(controlPlane.api, kubeconfigConnection({ file: controlPlane.kubeconfigPath })),
);

describe("a real API server", () => {
  it("refuses an unknown token, and takes the fresh one at the second try (D17)", async () => {
    const connection = await tokenConnection(controlPlane, async ({ fresh } = { fresh: false }) =>
      fresh ? controlPlane.tokenFor("admin") : "expired",
    );
    const port = createClusterPort(connection);
    expect(Array.isArray(await port.listNodes())).toBe(true);
    await port.close();
  });

  it("is unauthenticated for who has no token that it knows", async () => {
    const port = createClusterPort(await tokenConnection(controlPlane, async () => "unknown"));
    expect(await failureOf(port.listNodes())).toMatchObject(refused("listNodes", "unauthenticated"));
    await port.close();
  });

  it("is not spoken to where its certificate is another authority's", async () => {
    const caData = Buffer.from(rootCertificates[0] ?? "").toString("base64");
    const token = async () => controlPlane.tokenFor("admin");
    const port = createClusterPort(eksConnection({ server: controlPlane.server, caData, token }));
    expect(await failureOf(port.listNodes())).toMatchObject(refused("listNodes", "network"));
    await port.close();
  });

  it("that is killed and started again is reached over the same connection (D17)", async () => {
    const token = async () => controlPlane.tokenFor("admin");
    const port = createClusterPort(await tokenConnection(controlPlane, token));
    await port.listNodes();
    await controlPlane.stopApiServer();
    expect(await failureOf(port.listNodes())).toMatchObject(refused("listNodes", "network"));
    await controlPlane.startApiServer();
    expect(Array.isArray(await port.listNodes())).toBe(true);
    await port.close();
  });
});
