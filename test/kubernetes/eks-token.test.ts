import { describe, expect, it } from "vitest";
import { eksTokens } from "../../lib/kubernetes/eks-token.ts";
import vectors from "../fixtures/vectors.json" with { type: "json" };

const VECTOR = vectors.eksToken;
const MINUTE = 60_000;

function tokensWith(options: { readonly region?: string; readonly credentials?: () => Promise<never> } = {}) {
  const { accessKeyId, secretAccessKey, sessionToken, cluster, region } = VECTOR;
  const clock = { now: Date.parse(VECTOR.date) };
  const token = eksTokens({
    cluster,
    region: options.region ?? region,
    credentials: options.credentials ?? (async () => ({ accessKeyId, secretAccessKey, sessionToken })),
    now: () => clock.now,
  });
  return { token, clock };
}

function urlOf(token: string): URL {
  const [prefix, encoded] = [token.slice(0, 11), token.slice(11)];
  expect(prefix).toBe("k8s-aws-v1.");
  expect(encoded).not.toMatch(/[=+/]/u);
  return new URL(Buffer.from(encoded, "base64url").toString());
}

describe("an EKS token", () => {
  it("is GetCallerIdentity of the regional STS, signed as the vector says", async () => {
    const { token } = tokensWith();
    const url = urlOf(await token());
    expect(url.origin + url.pathname).toBe("https://sts.eu-west-1.amazonaws.com/");
    const query = Object.fromEntries(url.searchParams);
    expect(query).toMatchObject({
      Action: "GetCallerIdentity",
      Version: "2011-06-15",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Date": "20261001T123456Z",
      "X-Amz-Expires": "60",
      "X-Amz-Security-Token": VECTOR.sessionToken,
      "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
      "X-Amz-Signature": VECTOR.signature,
    });
    expect(query).not.toHaveProperty("x-k8s-aws-id");
  });

  it.each([
    ["us-east-1", "sts.us-east-1.amazonaws.com"],
    ["us-gov-west-1", "sts.us-gov-west-1.amazonaws.com"],
    ["cn-north-1", "sts.cn-north-1.amazonaws.com.cn"],
    ["eusc-de-east-1", "sts.eusc-de-east-1.amazonaws.eu"],
    ["us-iso-east-1", "sts.us-iso-east-1.c2s.ic.gov"],
    ["us-isob-east-1", "sts.us-isob-east-1.sc2s.sgov.gov"],
  ])("of region %s is for %s", async (region, host) => {
    const { token } = tokensWith({ region });
    expect(urlOf(await token()).host).toBe(host);
  });

  it("is used again for less than 10 minutes, because it is good for 15", async () => {
    const { token, clock } = tokensWith();
    const first = await token();
    clock.now += 10 * MINUTE - 1;
    expect(await token()).toBe(first);
    clock.now += 1;
    const second = await token();
    expect(urlOf(second).searchParams.get("X-Amz-Date")).toBe("20261001T124456Z");
  });

  it("is signed anew where a fresh one is asked for", async () => {
    const { token, clock } = tokensWith();
    const first = await token();
    clock.now += 1_000;
    const fresh = await token({ fresh: true });
    expect(fresh).not.toBe(first);
    expect(await token()).toBe(fresh);
  });

  it("is one for all that ask at the same time", async () => {
    let asked = 0;
    const { accessKeyId, secretAccessKey, cluster, region } = VECTOR;
    const token = eksTokens({
      cluster,
      region,
      credentials: async () => {
        asked += 1;
        return { accessKeyId, secretAccessKey };
      },
    });
    await Promise.all([token(), token({ fresh: true }), token()]);
    expect(asked).toBe(1);
  });

  it("that could not be signed is not remembered", async () => {
    let fail = true;
    const { accessKeyId, secretAccessKey, cluster, region } = VECTOR;
    const token = eksTokens({
      cluster,
      region,
      credentials: async () => {
        if (fail) throw new Error("no credentials");
        return { accessKeyId, secretAccessKey };
      },
    });
    await expect(token()).rejects.toThrow("no credentials");
    fail = false;
    await expect(token()).resolves.toMatch(/^k8s-aws-v1\./u);
  });
});
