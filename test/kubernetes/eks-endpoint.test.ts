import { describe, expect, it } from "vitest";
import { type EksEndpoint, endpointOf } from "../../lib/kubernetes/eks-endpoint.ts";

const ENDPOINT: EksEndpoint = { server: "https://abc.gr7.eu-west-1.eks.amazonaws.com", caData: "Y2E=" };

describe("the endpoint of a cluster", () => {
  it("that is configured is never asked for", async () => {
    const asked: string[] = [];
    const endpoint = endpointOf({
      cluster: "prod-1",
      configured: ENDPOINT,
      describe: async (cluster) => {
        asked.push(cluster);
        throw new Error("asked");
      },
    });
    expect(await endpoint()).toEqual(ENDPOINT);
    expect(asked).toEqual([]);
  });

  it("is asked for once, however many ask at the same time", async () => {
    const asked: string[] = [];
    const endpoint = endpointOf({
      cluster: "prod-1",
      describe: async (cluster) => {
        asked.push(cluster);
        return ENDPOINT;
      },
    });
    expect(await Promise.all([endpoint(), endpoint()])).toEqual([ENDPOINT, ENDPOINT]);
    expect(await endpoint()).toEqual(ENDPOINT);
    expect(asked).toEqual(["prod-1"]);
  });

  it("is asked for again after a failure", async () => {
    let fail = true;
    const endpoint = endpointOf({
      cluster: "prod-1",
      describe: async () => {
        if (fail) throw new Error("Throttling");
        return ENDPOINT;
      },
    });
    await expect(endpoint()).rejects.toThrow("Throttling");
    fail = false;
    expect(await endpoint()).toEqual(ENDPOINT);
  });
});
