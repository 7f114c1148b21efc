import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createAutoScalingClient } from "../../lib/aws/clients.ts";
import { createGroupHooksPort } from "../../lib/aws/group-hooks.ts";
import type { GroupHooksPort } from "../../lib/engine/ports.ts";
import { startAwsHttp } from "../../lib/sim/aws-http.ts";
import { RealClock } from "../../lib/sim/clock.ts";
import { quickServices } from "../contract/aws-harness.ts";

const HOOK = { name: "ebs-drain", heartbeatTimeout: 300, defaultResult: "CONTINUE" } as const;
const services = quickServices(new RealClock());
let close = (): Promise<void> => Promise.resolve();
let port: GroupHooksPort;

beforeAll(async () => {
  services.autoScaling.createGroup({ name: "workers-a", hooks: [{ ...HOOK, name: "other" }, HOOK] });
  const http = await startAwsHttp(services);
  vi.stubEnv("AWS_ENDPOINT_URL", http.url);
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "drain");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "not-a-secret");
  const client = createAutoScalingClient();
  port = createGroupHooksPort(client);
  close = async () => {
    client.destroy();
    await http.close();
  };
});

afterAll(async () => {
  await close();
  vi.unstubAllEnvs();
});

describe("a group's hook", () => {
  it("is told by its own name, with what it is set to", async () => {
    expect(await port.describeHook("workers-a", "ebs-drain")).toEqual({
      transition: "autoscaling:EC2_INSTANCE_TERMINATING",
      heartbeatTimeout: 300,
    });
  });

  it("is not there where the group has none of that name, and where there is no group", async () => {
    expect(await port.describeHook("workers-a", "drain")).toBeUndefined();
    expect(await port.describeHook("workers-z", "ebs-drain")).toBeUndefined();
  });
});
