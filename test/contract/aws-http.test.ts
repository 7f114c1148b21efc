import { setTimeout as delay } from "node:timers/promises";
import { vi } from "vitest";
import { createAutoScalingPort } from "../../lib/aws/auto-scaling.ts";
import { createAutoScalingClient, createEc2Client } from "../../lib/aws/clients.ts";
import { createEc2Port } from "../../lib/aws/ec2.ts";
import { startAwsHttp } from "../../lib/sim/aws-http.ts";
import { RealClock } from "../../lib/sim/clock.ts";
import { describeAwsContract } from "./aws-contract.ts";
import { PAGE_SIZE, quickServices } from "./aws-harness.ts";

describeAwsContract("the real adapters and the simulated services' wire format", async () => {
  const services = quickServices(new RealClock());
  const http = await startAwsHttp({ ...services, pageSize: PAGE_SIZE });
  vi.stubEnv("AWS_ENDPOINT_URL", http.url);
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "drain");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "not-a-secret");
  const ec2 = createEc2Client();
  const autoScaling = createAutoScalingClient();
  return {
    ...services,
    ports: { ec2: createEc2Port(ec2), autoScaling: createAutoScalingPort(autoScaling) },
    run: (work) => work(),
    pass: (milliseconds) => delay(milliseconds),
    close: async () => {
      vi.unstubAllEnvs();
      ec2.destroy();
      autoScaling.destroy();
      await http.close();
    },
  };
});
