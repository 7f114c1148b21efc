/** What the deployed functions did, asked of the services as an operator asks. */
import type { LambdaClient } from "@aws-sdk/client-lambda";
import {
  GetDurableExecutionCommand,
  GetDurableExecutionHistoryCommand,
  GetFunctionConfigurationCommand,
  paginateListDurableExecutionsByFunction,
  StopDurableExecutionCommand,
} from "@aws-sdk/client-lambda";
import type { DrainResult } from "../../../lib/engine/drain-loop.ts";
import { eventually } from "../eventually.ts";
import type { RootClient } from "./local-aws.ts";
import { callJson } from "./service-call.ts";

/** The stack's outputs that are needed here. */
export interface StackOutputs {
  readonly drainFunction: string;
  readonly dispatchFunction: string;
  readonly drainLogs: string;
  readonly dispatchLogs: string;
  /** URLs of the dead-letter queues. */
  readonly unhandled: string;
  readonly undelivered: string;
}

export interface DeployedExecution {
  readonly arn: string;
  readonly name: string;
  /** RUNNING, SUCCEEDED, FAILED, TIMED_OUT or STOPPED. */
  readonly status: string;
  readonly outcome: string | undefined;
  readonly error: string | undefined;
}

export interface DeadLetter {
  readonly body: string;
  /** What went wrong, as the service tells it. */
  readonly error: string;
}

interface Message {
  readonly Body: string;
  readonly MessageAttributes?: Readonly<Record<string, { readonly StringValue: string }>>;
}

export class DeployedFunctions {
  readonly outputs: StackOutputs;
  readonly #client: RootClient;
  readonly #lambda: LambdaClient;

  constructor(outputs: StackOutputs, client: RootClient, lambda: LambdaClient) {
    this.outputs = outputs;
    this.#client = client;
    this.#lambda = lambda;
  }

  /** The executions whose name has this text, the oldest first. */
  async executionsFor(text: string): Promise<readonly DeployedExecution[]> {
    const found: { readonly arn: string; readonly name: string; readonly at: number }[] = [];
    const pages = paginateListDurableExecutionsByFunction(
      { client: this.#lambda, pageSize: 1_000 },
      { FunctionName: this.outputs.drainFunction },
    );
    for await (const { DurableExecutions = [] } of pages) {
      for (const {
        DurableExecutionArn: arn = "",
        DurableExecutionName: name = "",
        StartTimestamp,
      } of DurableExecutions) {
        if (name.includes(text)) found.push({ arn, name, at: StartTimestamp?.getTime() ?? 0 });
      }
    }
    return Promise.all(found.toSorted((a, b) => a.at - b.at).map(({ arn }) => this.execution(arn)));
  }

  async execution(arn: string): Promise<DeployedExecution> {
    const answer = await this.#lambda.send(new GetDurableExecutionCommand({ DurableExecutionArn: arn }));
    const result = answer.Result === undefined ? undefined : (JSON.parse(answer.Result) as DrainResult);
    return {
      arn,
      name: answer.DurableExecutionName ?? "",
      status: answer.Status ?? "",
      outcome: result?.outcome,
      error: answer.Error?.ErrorMessage,
    };
  }

  /** `lifecycle: completed`, once none of the machine's executions runs. */
  async ended(instance: string, limitSeconds = 150): Promise<readonly string[]> {
    return eventually(
      `all work for ${instance} has ended`,
      async () => {
        const executions = await this.executionsFor(instance);
        const isOver = executions.length > 0 && executions.every(({ status }) => status !== "RUNNING");
        return isOver ? executions.map(endOf) : undefined;
      },
      limitSeconds,
    );
  }

  /** How many of the execution's invocations ended without an answer. */
  async crashesOf(arn: string): Promise<number> {
    const history = await this.#lambda.send(
      new GetDurableExecutionHistoryCommand({ DurableExecutionArn: arn, MaxItems: 1_000 }),
    );
    const ends = (history.Events ?? []).flatMap(({ InvocationCompletedDetails: details }) => details ?? []);
    return ends.filter(({ Error: error }) => error?.Payload !== undefined).length;
  }

  async stop(arn: string): Promise<void> {
    const error = { ErrorType: "Operator", ErrorMessage: "stopped by a test" };
    await this.#lambda.send(new StopDurableExecutionCommand({ DurableExecutionArn: arn, Error: error }));
  }

  /** Name of the role that the function runs as. */
  async roleOf(functionName: string): Promise<string> {
    const answer = await this.#lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: functionName }),
    );
    return answer.Role?.split("/").at(-1) ?? "";
  }

  /** The lines that are JSON, the oldest first. */
  async logLines(group: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const lines: Readonly<Record<string, unknown>>[] = [];
    let nextToken: string | undefined;
    do {
      const input = { logGroupName: group, ...(nextToken === undefined ? {} : { nextToken }) };
      const page = await callJson<{ events: { message: string }[]; nextToken?: string }>(
        this.#client,
        "logs",
        "FilterLogEvents",
        input,
      );
      for (const { message } of page.events) lines.push(...message.split("\n").flatMap(parsed));
      nextToken = page.nextToken;
    } while (nextToken !== undefined);
    return lines;
  }

  /** What both functions logged of an instance, and how its executions stand, for whoever reads a failure. */
  async storyOf(instance: string): Promise<string> {
    const { dispatchLogs, drainLogs } = this.outputs;
    const lines = await Promise.all([dispatchLogs, drainLogs].map((group) => this.logLines(group)));
    const told = lines
      .flat()
      .filter((line) => JSON.stringify(line).includes(instance))
      .map((line) => JSON.stringify({ ...line, observation: undefined, decision: undefined }));
    const executions = (await this.executionsFor(instance)).map((execution) => JSON.stringify(execution));
    return [...told, ...executions].join("\n");
  }

  /** Takes everything out of a dead-letter queue. */
  async deadLetters(queue: "unhandled" | "undelivered"): Promise<readonly DeadLetter[]> {
    const letters: DeadLetter[] = [];
    for (;;) {
      const input = {
        QueueUrl: this.outputs[queue],
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ["All"],
        VisibilityTimeout: 3_600,
      };
      const { Messages = [] } = await callJson<{ Messages?: Message[] }>(
        this.#client,
        "sqs",
        "ReceiveMessage",
        input,
      );
      if (Messages.length === 0) return letters;
      for (const { Body, MessageAttributes: attributes } of Messages) {
        const error = attributes?.["ErrorMessage"] ?? attributes?.["ERROR_MESSAGE"];
        letters.push({ body: Body, error: error?.StringValue ?? "" });
      }
    }
  }
}

function endOf({ name, status, outcome, error }: DeployedExecution): string {
  const kind = name.slice(0, name.indexOf("-"));
  return `${kind}: ${outcome ?? `${status}: ${error ?? ""}`}`;
}

function parsed(line: string): readonly Readonly<Record<string, unknown>>[] {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? [value as Readonly<Record<string, unknown>>] : [];
  } catch {
    return [];
  }
}
