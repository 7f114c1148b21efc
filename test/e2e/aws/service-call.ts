/** Calls of AWS services whose SDK clients the product does not need: signed, JSON or query in, JSON or XML out. */
import { request } from "undici";
import { SignatureV4 } from "@smithy/signature-v4";
import { Sha256 } from "../../../lib/kubernetes/sha256.ts";
import type { RootClient } from "./local-aws.ts";

/** Signing name, target prefix and JSON version of the services that take a JSON document. */
const JSON_SERVICES = {
  sqs: { target: "AmazonSQS", version: "1.0" },
  events: { target: "AWSEvents", version: "1.1" },
  logs: { target: "Logs_20140328", version: "1.1" },
  monitoring: { target: "GraniteServiceVersion20100801", version: "1.0" },
} as const;

/** API versions of the services that take a form. */
const QUERY_SERVICES = { iam: "2010-05-08" } as const;

/** @throws with what the service said where it refuses */
export async function callJson<T>(
  client: RootClient,
  service: keyof typeof JSON_SERVICES,
  action: string,
  input: object,
): Promise<T> {
  const { target, version } = JSON_SERVICES[service];
  const headers = {
    "content-type": `application/x-amz-json-${version}`,
    "x-amz-target": `${target}.${action}`,
  };
  const body = JSON.stringify(input);
  return JSON.parse(await send(client, service, { method: "POST", path: "/", headers, body })) as T;
}

/** The answer's XML. @throws with what the service said where it refuses */
export async function callQuery(
  client: RootClient,
  service: keyof typeof QUERY_SERVICES,
  action: string,
  input: Readonly<Record<string, string>> = {},
): Promise<string> {
  const body = new URLSearchParams({ Action: action, Version: QUERY_SERVICES[service], ...input }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send(client, service, { method: "POST", path: "/", headers, body });
}

/** What a service with paths answers to a GET. @throws with what the service said where it refuses */
export async function getJson<T>(client: RootClient, service: "scheduler", path: string): Promise<T> {
  return JSON.parse(await send(client, service, { method: "GET", path, headers: {} })) as T;
}

/** The texts of all elements of this name. */
export function textsOf(xml: string, element: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, "g"))].map(([, text = ""]) => text);
}

interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function send(
  { endpoint, region, credentials }: RootClient,
  service: string,
  { headers, ...call }: Call,
): Promise<string> {
  const { host, hostname, port, protocol } = new URL(endpoint);
  const signer = new SignatureV4({ service, region, credentials, sha256: Sha256 });
  const where = { protocol, hostname, port: Number(port) };
  const signed = await signer.sign({ ...where, ...call, headers: { host, ...headers } });
  const { method, body } = call;
  const answer = await request(`${endpoint}${call.path}`, {
    method,
    headers: signed.headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.body.text();
  if (answer.statusCode < 300) return text;
  throw new Error(`${service} answers ${answer.statusCode}: ${text}`);
}
