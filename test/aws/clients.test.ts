import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EC2Client } from "@aws-sdk/client-ec2";
import { describe, expect, onTestFinished, test } from "vitest";
import { CLIENT_SETTINGS } from "../../lib/aws/clients.ts";
import { createEc2Port } from "../../lib/aws/ec2.ts";

const CREDENTIALS = { accessKeyId: "drain", secretAccessKey: "not-a-secret" };

async function startServer(listener: () => void): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientFor(endpoint: string, requestTimeout: number): EC2Client {
  const requestHandler = { ...CLIENT_SETTINGS.requestHandler, requestTimeout };
  const client = new EC2Client({
    ...CLIENT_SETTINGS,
    requestHandler,
    endpoint,
    region: "eu-west-1",
    credentials: CREDENTIALS,
  });
  onTestFinished(() => client.destroy());
  return client;
}

describe("AWS clients", () => {
  test("a service that never answers is given up after two attempts, as a network failure", async () => {
    let requests = 0;
    const url = await startServer(() => {
      requests++;
    });
    await expect(createEc2Port(clientFor(url, 100)).describeInstance("i-1")).rejects.toMatchObject({
      kind: "network",
      operation: "ec2.describeInstance",
    });
    expect(requests).toBe(2);
  });

  test("a service that cannot be reached is a network failure", async () => {
    const port = createEc2Port(clientFor("http://127.0.0.1:1", 100));
    await expect(port.listAttachedVolumes("i-1")).rejects.toMatchObject({ kind: "network" });
  });

  test("both attempts of a call end well before a Lambda's minute", () => {
    const { connectionTimeout, requestTimeout } = CLIENT_SETTINGS.requestHandler;
    expect(CLIENT_SETTINGS.maxAttempts * (connectionTimeout + requestTimeout)).toBeLessThan(20_000);
    expect(CLIENT_SETTINGS.requestHandler.throwOnRequestTimeout).toBe(true);
  });
});
