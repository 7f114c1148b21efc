/** What Lambda hands the drain function at one invocation of a durable execution. */
import type { DurableExecutionClient, WireOperation } from "@aws/durable-execution-sdk-js";
import { DurableExecutionInvocationInputWithClient } from "@aws/durable-execution-sdk-js";
import type { Context } from "aws-lambda";

const FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:drain:1";

export function invocationInput(
  execution: string,
  token: number,
  operations: WireOperation[],
  client: DurableExecutionClient,
): DurableExecutionInvocationInputWithClient {
  return new DurableExecutionInvocationInputWithClient(
    {
      DurableExecutionArn: `${FUNCTION}/durable-execution/${execution}/1`,
      CheckpointToken: `${token}`,
      InitialExecutionState: { Operations: operations },
    },
    client,
  );
}

/** With no time left, so that each wait suspends instead of holding a real timer. */
export function invocationContext(execution: string, number: number): Context {
  return {
    awsRequestId: `${execution}-${number}`,
    functionName: "drain",
    functionVersion: "1",
    invokedFunctionArn: FUNCTION,
    memoryLimitInMB: "512",
    logGroupName: "drain",
    logStreamName: "simulated",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => 0,
    done: () => undefined,
    fail: () => undefined,
    succeed: () => undefined,
  };
}
