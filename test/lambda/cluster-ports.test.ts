import { EKSClient } from "@aws-sdk/client-eks";
import { afterEach, describe, expect, test } from "vitest";
import { ClusterPorts } from "../../lambda/cluster-ports.ts";
import type { ClusterSettings } from "../../lib/drain/settings.ts";
import type { FakeApi } from "../kubernetes/fake-api.ts";
import { json, startFakeApi } from "../kubernetes/fake-api.ts";

const NODE = { metadata: { name: "n1", uid: "u1" } };
const CREDENTIALS = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "example" };

const opened: FakeApi[] = [];
afterEach(async () => {
  for (const api of opened.splice(0)) await api.close();
});

async function fake(answer: Parameters<typeof startFakeApi>[0]): Promise<FakeApi> {
  const api = await startFakeApi(answer);
  opened.push(api);
  return api;
}

function portsOver(eks: string): ClusterPorts {
  const client = new EKSClient({
    region: "eu-west-1",
    endpoint: eks,
    credentials: CREDENTIALS,
    maxAttempts: 1,
  });
  return new ClusterPorts(client, "eu-west-1");
}

const blue = (address: Partial<ClusterSettings> = {}): ClusterSettings => ({
  name: "blue",
  groups: ["workers-a"],
  ...address,
});

describe("the port of a configured cluster", () => {
  test("asks EKS for the endpoint at its first use, and not again", async () => {
    const kubernetes = await fake((_, response) => json(response, 200, NODE));
    const eks = await fake((_, response) =>
      json(response, 200, { cluster: { endpoint: kubernetes.url, certificateAuthority: { data: "Y2E=" } } }),
    );
    const ports = portsOver(eks.url);
    const port = ports.of(blue());
    expect(eks.asked).toEqual([]);
    expect((await port.getNode("n1"))?.uid).toBe("u1");
    await ports.of(blue()).getNode("n1");
    expect(eks.asked.map(({ url }) => url)).toEqual(["/clusters/blue"]);
    expect(kubernetes.asked).toHaveLength(2);
  });

  test("asks EKS nothing where the endpoint is configured", async () => {
    const kubernetes = await fake((_, response) => json(response, 200, NODE));
    const eks = await fake((_, response) => json(response, 500, {}));
    const address = { endpoint: kubernetes.url, certificateAuthority: "Y2E=" };
    expect((await portsOver(eks.url).of(blue(address)).getNode("n1"))?.uid).toBe("u1");
    expect(eks.asked).toEqual([]);
  });

  test("rejects with what is wrong with EKS's answer, and asks again at the next use", async () => {
    const kubernetes = await fake((_, response) => json(response, 200, NODE));
    let isAllowed = false;
    const eks = await fake((_, response) =>
      isAllowed
        ? json(response, 200, {
            cluster: { endpoint: kubernetes.url, certificateAuthority: { data: "Y2E=" } },
          })
        : json(response, 403, { message: "not allowed" }, { "x-amzn-errortype": "AccessDeniedException" }),
    );
    const port = portsOver(eks.url).of(blue());
    await expect(port.getNode("n1")).rejects.toMatchObject({ name: "PortError", kind: "forbidden" });
    await expect(port.listNodes()).rejects.toMatchObject({ operation: "eks.describeCluster" });
    isAllowed = true;
    expect((await port.getNode("n1"))?.uid).toBe("u1");
  });

  test("keeps its connections over invocations and uses a new token in each", async () => {
    const kubernetes = await fake((_, response) => json(response, 200, NODE));
    const ports = portsOver("http://127.0.0.1:9");
    const address = blue({ endpoint: kubernetes.url, certificateAuthority: "Y2E=" });
    for (let invocation = 0; invocation < 2; invocation++) {
      await ports.ofInvocation(address).getNode("n1");
      await ports.ofInvocation(address).getNode("n1");
      // Tokens are dated to the second: two of the same second are the same.
      await new Promise((resolve) => setTimeout(resolve, 1_050));
    }
    expect(kubernetes.connections()).toBeLessThanOrEqual(2);
    const tokens = new Set(kubernetes.asked.map(({ headers }) => headers.authorization));
    expect(tokens.size).toBeGreaterThanOrEqual(2);
    for (const token of tokens) expect(token).toMatch(/^Bearer k8s-aws-v1\./);
  });
});
