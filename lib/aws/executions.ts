/** Durable executions of the drain function: started by name, listed while they run. */
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { InvokeCommand, paginateListDurableExecutionsByFunction } from "@aws-sdk/client-lambda";
import type { Task } from "../drain/task.ts";
import type { ExecutionsPort } from "../engine/ports.ts";
import { codeOf, toPortError, withPortErrors } from "./errors.ts";

const PAGE = 1_000;

/**
 * `qualifiedFunctionArn` names a version or, as deployed, the alias: durable functions run no other way. Throws RangeError for an
 * unqualified one; the methods reject with a PortError.
 */
export function createExecutionsPort(client: LambdaClient, qualifiedFunctionArn: string): ExecutionsPort {
  const { functionArn, qualifier } = splitArn(qualifiedFunctionArn);
  return {
    start: (name, task) => start(client, qualifiedFunctionArn, name, task),
    listRunning: () =>
      withPortErrors("executions.listRunning", async () => {
        // An execution stays on the version it was started on, and the alias names the newest only: without a qualifier Lambda
        // lists every version. It once meant $LATEST; asked both ways, a deployment leaves no execution out.
        const names = await Promise.all([
          runningNames(client, functionArn, undefined),
          runningNames(client, functionArn, qualifier),
        ]);
        return [...new Set(names.flat())];
      }),
  };
}

async function start(
  client: LambdaClient,
  functionName: string,
  name: string,
  task: Task,
): Promise<"started" | "already-started"> {
  try {
    await client.send(
      new InvokeCommand({
        FunctionName: functionName,
        InvocationType: "Event",
        DurableExecutionName: name,
        Payload: Buffer.from(JSON.stringify(task)),
      }),
    );
    return "started";
  } catch (error) {
    // The name with another input: an earlier signal of the same machine is at work.
    if (codeOf(error) === "DurableExecutionAlreadyStartedException") return "already-started";
    throw toPortError("executions.start", error);
  }
}

async function runningNames(
  client: LambdaClient,
  functionArn: string,
  qualifier: string | undefined,
): Promise<readonly string[]> {
  const names: string[] = [];
  const pages = paginateListDurableExecutionsByFunction(
    { client, pageSize: PAGE },
    { FunctionName: functionArn, Qualifier: qualifier, Statuses: ["RUNNING"] },
  );
  for await (const page of pages) {
    names.push(
      ...(page.DurableExecutions ?? []).flatMap(({ DurableExecutionName }) => DurableExecutionName ?? []),
    );
  }
  return names;
}

/** `arn:aws:lambda:<region>:<account>:function:<name>:<qualifier>` */
function splitArn(arn: string): { readonly functionArn: string; readonly qualifier: string } {
  const parts = arn.split(":");
  const qualifier = parts[7];
  if (parts.length !== 8 || qualifier === undefined || qualifier === "") {
    throw new RangeError(`"${arn}" is not the ARN of a function's version or alias`);
  }
  return { functionArn: parts.slice(0, 7).join(":"), qualifier };
}
