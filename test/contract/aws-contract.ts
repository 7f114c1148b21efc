/** What the engine relies on in the EC2 and Auto Scaling ports: shown for the simulated ports and for the real adapters alike. */
import { afterEach, beforeEach, describe } from "vitest";
import { describeAutoScalingContract } from "./aws-auto-scaling-contract.ts";
import { describeEc2Contract } from "./aws-ec2-contract.ts";
import { describeFailureContract } from "./aws-failure-contract.ts";
import type { AwsHarness } from "./aws-harness.ts";

export function describeAwsContract(name: string, makeHarness: () => Promise<AwsHarness>): void {
  describe(`the AWS contract over ${name}`, () => {
    let harness: AwsHarness;
    beforeEach(async () => {
      harness = await makeHarness();
    });
    afterEach(() => harness.close());

    describeEc2Contract(() => harness);
    describeAutoScalingContract(() => harness);
    describeFailureContract(() => harness);
  });
}
