/** Queues for what could not be handled. */
import { Duration, Validations } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

/** The longest that SQS keeps a message: a dead letter waits for people. */
const RETENTION = Duration.days(14);

export function deadLetterQueue(scope: Construct, id: string): Queue {
  const queue = new Queue(scope, id, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: RETENTION,
  });
  Validations.of(queue).acknowledge({ id: "AwsSolutions-SQS3", reason: "It is a dead-letter queue itself." });
  return queue;
}
