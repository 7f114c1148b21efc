import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AutoScalingClient } from "@aws-sdk/client-auto-scaling";
import { EC2Client } from "@aws-sdk/client-ec2";
import { EKSClient } from "@aws-sdk/client-eks";
import { expect, it, onTestFinished } from "vitest";
import type { PortError } from "../../lib/engine/errors.ts";
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

it.each([
  ["DryRunOperation", "allowed"],
  ["UnauthorizedOperation", "forbidden"],
  ["AuthFailure", "unauthenticated"],
])("takes EC2's %s of a dry run for what it is", async (code, expected) => {
  const server = createServer((_request, response) => {
    response.writeHead(412, { "content-type": "text/xml" });
    response.end(
      `<Response><Errors><Error><Code>${code}</Code><Message>m</Message></Error></Errors><RequestID>r</RequestID></Response>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const place = {
    region: "eu-west-1",
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    maxAttempts: 1,
    credentials: { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "example" },
  };
  const inspection = createAwsInspection({
    autoScaling: new AutoScalingClient(place),
    ec2: new EC2Client(place),
    eks: new EKSClient(place),
  });
  const answer = await inspection.tryDescribeVolumes().then(
    () => "allowed",
    (error: unknown) => (error as PortError).kind,
  );
  expect(answer).toBe(expected);
});
