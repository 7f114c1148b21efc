/** How long a durable execution may last and is remembered. */
import { Duration } from "aws-cdk-lib";
import type { DurableConfig } from "aws-cdk-lib/aws-lambda";
import type { Policy } from "../drain/policy.ts";
import { LONGEST_WAIT_SECONDS, MOST_HEARTBEATS } from "../drain/policy.ts";

/** The gone work's longest (D14). */
const GONE_SECONDS = 15 * 60;
/** The loop ends by itself at its deadline (I6); a start that had to wait for Lambda, and the last look, fit in here. */
const SLACK_SECONDS = 3_600;

/** Lambda ends an execution that has outlived every deadline of its work, which then counts as timed out. */
export function durableConfig(policy: Policy): DurableConfig {
  const deadline = Math.min(
    policy.maxDuration,
    MOST_HEARTBEATS * policy.heartbeatTimeout,
    LONGEST_WAIT_SECONDS,
  );
  return {
    executionTimeout: Duration.seconds(Math.max(deadline, GONE_SECONDS) + SLACK_SECONDS),
    // For the question what became of a machine the week before last; the logs are kept longer.
    retentionPeriod: Duration.days(14),
  };
}
