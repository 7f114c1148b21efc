import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { EC2Client } from "@aws-sdk/client-ec2";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEc2Port } from "../../lib/aws/ec2.ts";
import type { Ec2Port } from "../../lib/engine/ports.ts";

/** A port onto an EC2 that always gives this answer: for what the simulated EC2 has not. */
async function portAnswering(action: string, fields: string): Promise<Ec2Port> {
  const server = createServer((_, response) => {
    response.end(`<?xml version="1.0"?><${action}Response>${fields}</${action}Response>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new EC2Client({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: "eu-west-1",
    credentials: { accessKeyId: "drain", secretAccessKey: "not-a-secret" },
  });
  onTestFinished(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  return createEc2Port(client);
}

function volume(id: string, attachments: readonly (readonly [instance: string, status: string])[]): string {
  const items = attachments.map(
    ([instance, status]) =>
      `<item><instanceId>${instance}</instanceId><device>/dev/xvdaa</device><status>${status}</status></item>`,
  );
  return `<item><volumeId>${id}</volumeId><attachmentSet>${items.join("")}</attachmentSet><tagSet/></item>`;
}

describe("EC2's answers as views", () => {
  const VOLUMES = `<volumeSet>${volume("vol-1", [
    ["i-1", "attached"],
    ["i-2", "attached"],
  ])}${volume("vol-2", [["i-1", "detached"]])}</volumeSet>`;

  test("of a Multi-Attach volume an instance sees its own attachment, and of a detached one none", async () => {
    const port = await portAnswering("DescribeVolumes", VOLUMES);
    expect(await port.listAttachedVolumes("i-1")).toEqual([
      { volumeId: "vol-1", state: "attached", device: "/dev/xvdaa", csi: false },
    ]);
  });

  test("a Multi-Attach volume is where it is attached, and nowhere else (D11)", async () => {
    const port = await portAnswering("DescribeVolumes", VOLUMES);
    expect(await port.describeVolumes(["vol-1", "vol-2"])).toEqual([
      { volumeId: "vol-1", instances: ["i-1", "i-2"] },
      { volumeId: "vol-2", instances: [] },
    ]);
  });

  test("a state that nobody knows is rejected, not guessed", async () => {
    const instance =
      "<item><instanceId>i-1</instanceId><launchTime>2026-11-02T09:30:00.000Z</launchTime>" +
      "<instanceState><code>96</code><name>melted</name></instanceState></item>";
    const port = await portAnswering(
      "DescribeInstances",
      `<reservationSet><item><instancesSet>${instance}</instancesSet></item></reservationSet>`,
    );
    await expect(port.describeInstance("i-1")).rejects.toMatchObject({
      kind: "rejected",
      message: expect.stringContaining("melted"),
    });
  });
});
