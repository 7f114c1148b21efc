/**
 * The AWS clients. Region, credentials and endpoint come from where the SDK looks for them (a Lambda's environment, a laptop's
 * profile, AWS_ENDPOINT_URL).
 */
import { AutoScalingClient } from "@aws-sdk/client-auto-scaling";
import { EC2Client } from "@aws-sdk/client-ec2";
import { LambdaClient } from "@aws-sdk/client-lambda";

/**
 * One repetition mends a stale connection; everything else is repeated by the next look, which knows more. A look with ten calls
 * must end well within a Lambda's minute even where nothing answers.
 */
export const CLIENT_SETTINGS = {
  maxAttempts: 2,
  retryMode: "standard",
  requestHandler: {
    connectionTimeout: 2_000,
    requestTimeout: 5_000,
    // Without it the SDK only warns and waits on.
    throwOnRequestTimeout: true,
  },
} as const;

/** Where to look otherwise than the SDK does by itself: an operator's choice. */
export interface AwsPlace {
  readonly region?: string;
  readonly profile?: string;
}

export function createEc2Client(place: AwsPlace = {}): EC2Client {
  return new EC2Client({ ...CLIENT_SETTINGS, ...place });
}

export function createAutoScalingClient(place: AwsPlace = {}): AutoScalingClient {
  return new AutoScalingClient({ ...CLIENT_SETTINGS, ...place });
}

export function createLambdaClient(): LambdaClient {
  return new LambdaClient(CLIENT_SETTINGS);
}
