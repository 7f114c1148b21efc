import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLambdaClient } from "../../lib/aws/clients.ts";
import { createExecutionsPort } from "../../lib/aws/executions.ts";
import type { Task } from "../../lib/drain/task.ts";
import type { ExecutionsPort } from "../../lib/engine/ports.ts";

const FUNCTION = "arn:aws:lambda:eu-west-1:111122223333:function:ebs-drain";
const NAME = "gone-i-0f3a9c1d2b4e5f607-t3x1a0";
const TASK: Task = {
  kind: "gone",
  id: NAME,
  cluster: "prod-1",
  group: "workers-a",
  instance: "i-0f3a9c1d2b4e5f607",
  at: Date.parse("2026-11-02T09:30:00Z"),
  by: "event",
  state: "terminated",
};

interface Execution {
  readonly name: string;
  readonly status: "RUNNING" | "SUCCEEDED";
  readonly version: string;
}

/** Lambda's durable executions with memory: one payload per name, pages of two. */
class FakeLambda {
  readonly executions: Execution[] = [];
  readonly requests: URL[] = [];
  readonly #payloads = new Map<string, string>();
  /** What the alias points to now. */
  alias = "7";
  failWith: { readonly status: number; readonly type: string } | undefined;

  async start(): Promise<string> {
    const server = createServer((request, response) => void this.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const url = new URL(request.url ?? "", "http://lambda");
    this.requests.push(url);
    if (this.failWith !== undefined) return refuse(response, this.failWith.status, this.failWith.type);
    if (request.method === "POST") return this.#invoke(request, response, url, body);
    return this.#list(response, url);
  }

  #invoke(request: IncomingMessage, response: ServerResponse, url: URL, body: string): void {
    const name = String(request.headers["x-amz-durable-execution-name"]);
    const isAsync = request.headers["x-amz-invocation-type"] === "Event";
    const isQualified = decodeURIComponent(url.pathname).includes(`${FUNCTION}:live`);
    if (!isAsync || !isQualified) return refuse(response, 400, "InvalidParameterValueException");
    const known = this.#payloads.get(name);
    if (known !== undefined && known !== body) {
      return refuse(response, 409, "DurableExecutionAlreadyStartedException");
    }
    if (known === undefined) this.executions.push({ name, status: "RUNNING", version: this.alias });
    this.#payloads.set(name, body);
    response.writeHead(202).end();
  }

  #list(response: ServerResponse, url: URL): void {
    const qualifier = url.searchParams.get("Qualifier");
    const statuses = url.searchParams.getAll("Statuses");
    const found = this.executions.filter(
      ({ status, version }) => statuses.includes(status) && (qualifier === null || version === this.alias),
    );
    const start = Number(url.searchParams.get("Marker") ?? 0);
    const page = found.slice(start, start + 2);
    const more = start + 2 < found.length;
    response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        DurableExecutions: page.map(({ name, status }) => ({
          DurableExecutionArn: `${FUNCTION}:7/durable-execution/${name}/1`,
          DurableExecutionName: name,
          FunctionArn: FUNCTION,
          Status: status,
          StartTimestamp: 1_793_611_800,
        })),
        ...(more ? { NextMarker: String(start + 2) } : {}),
      }),
    );
  }
}

function refuse(response: ServerResponse, status: number, type: string): void {
  response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type });
  response.end(JSON.stringify({ Type: "User", Message: "refused" }));
}

let lambda: FakeLambda;
let executions: ExecutionsPort;

beforeEach(async () => {
  lambda = new FakeLambda();
  vi.stubEnv("AWS_ENDPOINT_URL", await lambda.start());
  vi.stubEnv("AWS_REGION", "eu-west-1");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "dispatch");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "not-a-secret");
  const client = createLambdaClient();
  executions = createExecutionsPort(client, `${FUNCTION}:live`);
  onTestFinished(() => {
    client.destroy();
    vi.unstubAllEnvs();
  });
});

describe("durable executions", () => {
  test("a start invokes the alias asynchronously under the execution's name", async () => {
    expect(await executions.start(NAME, TASK)).toBe("started");
    expect(lambda.executions).toEqual([{ name: NAME, status: "RUNNING", version: "7" }]);
  });

  test("the same event again starts nothing, and another signal under that name is already at work (C5)", async () => {
    await executions.start(NAME, TASK);
    expect(await executions.start(NAME, TASK)).toBe("started");
    expect(await executions.start(NAME, { ...TASK, by: "sweep" })).toBe("already-started");
    expect(lambda.executions).toHaveLength(1);
  });

  test("only running executions are listed, from every page", async () => {
    for (let count = 0; count < 5; count++) await executions.start(`${NAME}-${count}`, TASK);
    lambda.executions.push({ name: "ended", status: "SUCCEEDED", version: "7" });
    const names = await executions.listRunning();
    expect([...names].sort()).toEqual([0, 1, 2, 3, 4].map((count) => `${NAME}-${count}`));
  });

  test("an execution that runs on the version before the last deployment is listed", async () => {
    await executions.start(NAME, TASK);
    lambda.alias = "8";
    await executions.start(`${NAME}-2`, TASK);
    expect([...(await executions.listRunning())].sort()).toEqual([NAME, `${NAME}-2`]);
  });

  test.each([
    [429, "TooManyRequestsException", "throttled"],
    [403, "AccessDeniedException", "forbidden"],
    [404, "ResourceNotFoundException", "not-found"],
    [500, "ServiceException", "server"],
  ])("an answer %d %s is %s", async (status, type, kind) => {
    lambda.failWith = { status, type };
    await expect(executions.start(NAME, TASK)).rejects.toMatchObject({ kind, operation: "executions.start" });
    await expect(executions.listRunning()).rejects.toMatchObject({
      kind,
      operation: "executions.listRunning",
    });
  });

  test("a function without version or alias is refused, because Lambda runs none durably", () => {
    expect(() => createExecutionsPort(createLambdaClient(), FUNCTION)).toThrow(RangeError);
  });
});
