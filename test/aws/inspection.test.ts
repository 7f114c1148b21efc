import { AutoScalingClient } from "@aws-sdk/client-auto-scaling";
import { EC2Client } from "@aws-sdk/client-ec2";
import { EKSClient } from "@aws-sdk/client-eks";
import { expect, it, onTestFinished } from "vitest";
import { createAwsInspection } from "../../lib/aws/inspection.ts";
import { type AskedOfFake, json, startFakeApi } from "../kubernetes/fake-api.ts";

async function inspectionOver(answer: (asked: AskedOfFake) => readonly [number, unknown]) {
  const api = await startFakeApi((asked, response) => json(response, ...answer(asked)));
  onTestFinished(() => api.close());
  const place = {
    region: "eu-west-1",
    endpoint: api.url,
    maxAttempts: 1,
    credentials: { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "example" },
  };
  return createAwsInspection({
    autoScaling: new AutoScalingClient(place),
    ec2: new EC2Client(place),
    eks: new EKSClient(place),
  });
}

it("reads who may come to a cluster, and from where (C35)", async () => {
  const inspection = await inspectionOver(() => [
    200,
    {
      cluster: {
        accessConfig: { authenticationMode: "API" },
        resourcesVpcConfig: { endpointPublicAccess: true, publicAccessCidrs: ["10.0.0.0/8"] },
      },
    },
  ]);
  expect(await inspection.describeAccess("blue")).toEqual({
    authenticationMode: "API",
    isPublic: true,
    publicCidrs: ["10.0.0.0/8"],
  });
});

it("reads every page of access entries, each with its groups", async () => {
  const inspection = await inspectionOver(({ url }) => {
    const path = decodeURIComponent(url);
    if (path.includes("role/")) {
      const groups = path.includes("role/drain") ? ["ebs-drain"] : [];
      return [200, { accessEntry: { kubernetesGroups: groups } }];
    }
    return path.includes("nextToken")
      ? [200, { accessEntries: ["arn:aws:iam::1:role/drain"] }]
      : [200, { accessEntries: ["arn:aws:iam::1:role/other"], nextToken: "more" }];
  });
  expect(await inspection.listAccessEntries("blue")).toEqual([
    { principal: "arn:aws:iam::1:role/other", groups: [] },
    { principal: "arn:aws:iam::1:role/drain", groups: ["ebs-drain"] },
  ]);
});

it("tells a refusal from a network that is away", async () => {
  const refused = await inspectionOver(() => [403, { __type: "AccessDeniedException", message: "no" }]);
  await expect(refused.describeAccess("blue")).rejects.toMatchObject({ kind: "forbidden" });
});
