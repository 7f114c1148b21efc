import { EKSClient } from "@aws-sdk/client-eks";
import { afterEach, describe, expect, it } from "vitest";
import { describeClusterWith } from "../../lib/aws/eks.ts";
import { PortError } from "../../lib/engine/errors.ts";
import { type FakeApi, json, startFakeApi } from "../kubernetes/fake-api.ts";

const opened: FakeApi[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

async function eksAnswering(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const api = await startFakeApi((_, response) => json(response, status, body, headers));
  opened.push(api);
  const client = new EKSClient({
    endpoint: api.url,
    region: "eu-west-1",
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" },
    maxAttempts: 1,
  });
  return { api, describeCluster: describeClusterWith(client) };
}

describe("DescribeCluster", () => {
  it("tells the API server's address and certificate authority", async () => {
    const endpoint = "https://abc.gr7.eu-west-1.eks.amazonaws.com";
    const cluster = { name: "prod-1", status: "ACTIVE", endpoint, certificateAuthority: { data: "Y2E=" } };
    const { api, describeCluster } = await eksAnswering(200, { cluster });
    expect(await describeCluster("prod-1")).toEqual({ server: endpoint, caData: "Y2E=" });
    expect(api.asked[0]).toMatchObject({ method: "GET", url: "/clusters/prod-1" });
  });

  it("of a cluster that is being made is the server's failure: it will have an endpoint later", async () => {
    const { describeCluster } = await eksAnswering(200, { cluster: { name: "prod-1", status: "CREATING" } });
    const failure = describeCluster("prod-1");
    await expect(failure).rejects.toThrow(/CREATING/u);
    await expect(failure).rejects.toMatchObject({ kind: "server", operation: "eks.describeCluster" });
  });

  it.each([
    ["AccessDeniedException", 403, "forbidden", /eks:DescribeCluster/u],
    ["ResourceNotFoundException", 404, "not-found", /prod-1/u],
    ["ServerException", 500, "server", /./u],
  ])("refused with %s is a PortError of kind %3$s", async (code, status, kind, message) => {
    const body = { message: "No cluster found for name: prod-1." };
    const { describeCluster } = await eksAnswering(status, body, { "x-amzn-errortype": code });
    const failure = describeCluster("prod-1");
    await expect(failure).rejects.toBeInstanceOf(PortError);
    await expect(failure).rejects.toMatchObject({ kind, operation: "eks.describeCluster" });
    await expect(failure).rejects.toThrow(message);
  });
});
