/** The local AWS as a process: MiniStack with the additions of local_aws/, IAM enforced. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { request } from "undici";
import { ChildPrograms } from "../child-programs.ts";
import { eventually } from "../eventually.ts";
import { freePorts } from "../ports.ts";
import { stateRoot } from "../run-settings.ts";
import { ACCOUNT, NO_PROFILE, REGION, ROOT } from "./account.ts";
import { localAwsPython } from "./venv.ts";

export interface LocalAwsOptions {
  readonly port: number;
  /** Where simulated EC2 and Auto Scaling answer. */
  readonly regionUrl: string;
  /** Of every EKS cluster. */
  readonly kubeServer: string;
  /** PEM in base64. */
  readonly kubeCa: string;
}

/** A decision of IAM. */
export interface AccessDecision {
  /** Unix milliseconds. */
  readonly at: number;
  /** ARN of the user or of the role's session. */
  readonly principal: string;
  readonly action: string;
  readonly resource: string;
  readonly allowed: boolean;
}

/** Settings of an AWS SDK client that speaks as the account's root. */
export interface RootClient {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: typeof ROOT;
}

export interface FunctionProcess {
  readonly pid: number;
  readonly residentKilobytes: number;
}

const run = promisify(execFile);
const NAME = "local-aws";

export class LocalAws {
  readonly client: RootClient;
  readonly #directory: string;
  readonly #children: ChildPrograms;
  readonly #podIdentityPort: number;

  private constructor(client: RootClient, directory: string, podIdentityPort: number) {
    this.client = client;
    this.#podIdentityPort = podIdentityPort;
    this.#directory = directory;
    this.#children = new ChildPrograms(directory);
  }

  /** Before it is started: others need to know where it will be. */
  static clientAt(port: number): RootClient {
    return { endpoint: `http://127.0.0.1:${port}`, region: REGION, credentials: ROOT };
  }

  static async start(options: LocalAwsOptions): Promise<LocalAws> {
    const python = await localAwsPython((line) => console.error(line));
    const directory = await mkdtemp(path.join(stateRoot() ?? tmpdir(), "ebs-drain-aws-"));
    const [podIdentityPort = 0] = await freePorts(1);
    const aws = new LocalAws(LocalAws.clientAt(options.port), directory, podIdentityPort);
    await mkdir(aws.#temporary);
    aws.#children.start({
      name: NAME,
      program: python,
      args: ["-m", "local_aws", "--state", directory],
      env: aws.#environment(options),
    });
    await eventually("the local AWS answers", () => aws.#isHealthy());
    return aws;
  }

  get url(): string {
    return this.client.endpoint;
  }

  /** What EKS sets in the containers of pods whose service account has a Pod Identity association. */
  podIdentity(tokenFile: string): Readonly<Record<string, string>> {
    return {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${this.#podIdentityPort}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    };
  }

  /** Every decision of IAM since that time, the oldest first. */
  async accessSince(since: number): Promise<readonly AccessDecision[]> {
    const text = await readFile(path.join(this.#directory, "access.jsonl"), "utf8");
    // The last line may be half written.
    const lines = text.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as AccessDecision).filter(({ at }) => at >= since);
  }

  /** The processes that run a function now, busy or not. */
  async functionProcesses(functionName: string): Promise<readonly FunctionProcess[]> {
    const { stdout } = await run("ps", ["-ww", "-A", "-o", "pid=,rss=,args="]);
    const code = path.join(this.#temporary, `ministack-lambda-${functionName}-`);
    return stdout
      .split("\n")
      .filter((line) => line.includes(code))
      .map((line) => line.trim().split(/\s+/).map(Number))
      .map(([pid = 0, residentKilobytes = 0]) => ({ pid, residentKilobytes }));
  }

  /** The end of its log, for the message of a failed test. */
  log(lines: number): string {
    return this.#children.log(NAME, lines);
  }

  async close(): Promise<void> {
    await this.#children.killAll();
    // The log stays for whoever reads a failed run; the functions' unpacked code does not.
    const leftOver = stateRoot() === undefined ? this.#directory : this.#temporary;
    await rm(leftOver, { recursive: true, force: true });
  }

  get #temporary(): string {
    return path.join(this.#directory, "tmp");
  }

  #environment(options: LocalAwsOptions): Readonly<Record<string, string>> {
    return {
      ...NO_PROFILE,
      PYTHONPATH: import.meta.dirname,
      PYTHONDONTWRITEBYTECODE: "1",
      // Functions run as the first `node` found: the one that runs this test.
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
      TMPDIR: this.#temporary,
      GATEWAY_PORT: String(options.port),
      BIND_HOST: "127.0.0.1",
      MINISTACK_HOST: "127.0.0.1",
      MINISTACK_ACCOUNT_ID: ACCOUNT,
      MINISTACK_REGION: REGION,
      AWS_ENDPOINT_URL: this.url,
      AUTH: "true",
      // Lambda waits a minute and more before it repeats.
      LAMBDA_ASYNC_RETRY_BASE_SECONDS: "0.2",
      LAMBDA_ASYNC_RETRY_MAX_SECONDS: "1",
      LOCAL_AWS_POD_IDENTITY_PORT: String(this.#podIdentityPort),
      LOCAL_AWS_REGION_URL: options.regionUrl,
      LOCAL_AWS_KUBE_SERVER: options.kubeServer,
      LOCAL_AWS_KUBE_CA: options.kubeCa,
    };
  }

  async #isHealthy(): Promise<boolean> {
    const answer = await request(`${this.url}/_ministack/health`).catch(() => undefined);
    await answer?.body.dump();
    return answer?.statusCode === 200;
  }
}
