/**
 * The simulated services in the real ones' wire format, for the AWS SDK and for anybody else who speaks it: the Query protocol,
 * form in, XML out. One URL serves both APIs; their versions tell them apart. Signatures are not checked.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { FailureKind } from "../engine/errors.ts";
import type { SimulatedAutoScaling } from "./auto-scaling.ts";
import { AUTO_SCALING_ACTIONS, autoScalingOperationOf } from "./aws-http-auto-scaling.ts";
import { EC2_ACTIONS, ec2OperationOf } from "./aws-http-ec2.ts";
import type { Form } from "./aws-http-form.ts";
import { element } from "./aws-http-xml.ts";
import type { SimulatedEc2 } from "./ec2.ts";
import type { Faults } from "./faults.ts";
import { Ec2Fault } from "./seams.ts";

export interface AwsHttpOptions {
  readonly ec2: SimulatedEc2;
  readonly autoScaling: SimulatedAutoScaling;
  readonly faults?: Faults;
  /** Most entries of one page, whatever the caller asks for. */
  readonly pageSize?: number;
  /** Default: any free one. */
  readonly port?: number;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

type Service = "ec2" | "auto-scaling";

const EC2_VERSION = "2016-11-15";
const REQUEST_ID = "00000000-0000-4000-8000-000000000000";

/** Listens on 127.0.0.1. `close` ends open connections too. */
export async function startAwsHttp(
  options: AwsHttpOptions,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    serve(options, request, response).catch((error: unknown) => {
      send(response, { status: 500, body: error instanceof Error ? (error.stack ?? error.message) : "" });
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}`, close };
}

async function serve(
  options: AwsHttpOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  const form = new URLSearchParams(body);
  const service: Service = form.get("Version") === EC2_VERSION ? "ec2" : "auto-scaling";
  const operation = service === "ec2" ? ec2OperationOf(form) : autoScalingOperationOf(form);
  const fault = options.faults?.before(operation);
  if (options.faults !== undefined) await delay(options.faults.latency(operation));
  if (fault?.kind === "fail") {
    if (fault.failure === "network") response.destroy();
    else send(response, failureAnswer(service, fault.failure));
    return;
  }
  const answer =
    service === "ec2" ? answerEc2(options, form) : answerAutoScaling(options, form, callerOf(request));
  if (fault?.kind === "lost-answer") response.destroy();
  else send(response, answer);
}

function answerEc2({ ec2, pageSize }: AwsHttpOptions, form: Form): Answer {
  const name = form.get("Action") ?? "";
  const action = EC2_ACTIONS[name];
  if (action === undefined) return ec2Error(400, "InvalidAction", `The action ${name} is not valid`);
  try {
    const fields = action(form, ec2, pageSize ?? 1_000);
    return xmlAnswer(200, element(`${name}Response`, { requestId: REQUEST_ID, ...fields }, "item"));
  } catch (error) {
    if (error instanceof Ec2Fault) return ec2Error(400, error.code, error.message);
    throw error;
  }
}

function answerAutoScaling(options: AwsHttpOptions, form: Form, caller: string): Answer {
  const name = form.get("Action") ?? "";
  const action = AUTO_SCALING_ACTIONS[name];
  if (action === undefined) return autoScalingError(400, "InvalidAction", `Could not find operation ${name}`);
  try {
    const { autoScaling, pageSize } = options;
    const result = action(form, { autoScaling, pageSize: pageSize ?? 50, caller });
    const metadata = { RequestId: REQUEST_ID };
    const fields = { [`${name}Result`]: result, ResponseMetadata: metadata };
    return xmlAnswer(200, element(`${name}Response`, fields, "member"));
  } catch (error) {
    if (error instanceof Ec2Fault) return autoScalingError(400, error.code, error.message);
    throw error;
  }
}

/** The same failure in each service's own words. */
function failureAnswer(service: Service, failure: Exclude<FailureKind, "network">): Answer {
  const isEc2 = service === "ec2";
  const fail = isEc2 ? ec2Error : autoScalingError;
  switch (failure) {
    case "throttled":
      return isEc2
        ? fail(503, "RequestLimitExceeded", "Request limit exceeded.")
        : fail(400, "Throttling", "Rate exceeded");
    case "server":
      return isEc2
        ? fail(500, "InternalError", "An internal error has occurred")
        : fail(500, "ResourceContention", "You already have a pending update to this resource");
    case "unauthenticated":
      return isEc2
        ? fail(401, "AuthFailure", "AWS was not able to validate the provided access credentials")
        : fail(403, "ExpiredToken", "The security token included in the request is expired");
    case "forbidden":
      return isEc2
        ? fail(403, "UnauthorizedOperation", "You are not authorized to perform this operation.")
        : fail(403, "AccessDenied", "User is not authorized to perform this operation");
    case "no-active-action":
      return fail(400, "ValidationError", "No active Lifecycle Action found with token unknown");
    case "not-found":
      return fail(400, "InvalidInstanceID.NotFound", "The instance ID does not exist");
    case "conflict":
    case "disruption-budget":
    case "namespace-terminating":
    case "rejected":
      return fail(400, "ValidationError", "The request is not valid");
    default:
      return failure satisfies never;
  }
}

function ec2Error(status: number, code: string, message: string): Answer {
  const error = { Errors: { Error: { Code: code, Message: message } }, RequestID: REQUEST_ID };
  return xmlAnswer(status, element("Response", error, "item"));
}

function autoScalingError(status: number, code: string, message: string): Answer {
  const type = status < 500 ? "Sender" : "Receiver";
  const error = { Error: { Type: type, Code: code, Message: message }, RequestId: REQUEST_ID };
  return xmlAnswer(status, element("ErrorResponse", error, "member"));
}

function xmlAnswer(status: number, root: string): Answer {
  return { status, body: `<?xml version="1.0" encoding="UTF-8"?>\n${root}` };
}

function callerOf(request: IncomingMessage): string {
  return /Credential=([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "unsigned";
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { "content-type": "text/xml;charset=UTF-8" });
  response.end(body);
}
