/** The CDK CLI, as somebody who deploys the product runs it, against the local AWS. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ACCOUNT, NO_PROFILE, REGION } from "./account.ts";

const run = promisify(execFile);
const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const CLI = path.join(REPOSITORY, "node_modules", "aws-cdk", "bin", "cdk");

export class Cdk {
  readonly #endpoint: string;
  readonly #directory: string;

  /** Configuration, assembly and outputs lie in the folder. */
  constructor(endpoint: string, directory: string) {
    this.#endpoint = endpoint;
    this.#directory = directory;
  }

  /** Away from the product's cdk.json: there the CLI would run the app for this too. */
  async bootstrap(): Promise<void> {
    await this.#run(["bootstrap", `aws://${ACCOUNT}/${REGION}`], this.#directory);
  }

  /** Deploys the product's app with this configuration; the stack's outputs. */
  async deploy(configuration: object): Promise<Readonly<Record<string, string>>> {
    await writeFile(this.#configFile, JSON.stringify(configuration));
    const outputs = path.join(this.#directory, "outputs.json");
    const context = ["--context", `config=${this.#configFile}`];
    const answers = ["--require-approval", "never", "--outputs-file", outputs];
    await this.#run(["deploy", "--output", this.#assembly, ...context, ...answers], REPOSITORY);
    const stacks = JSON.parse(await readFile(outputs, "utf8")) as Record<string, Record<string, string>>;
    const [stack] = Object.values(stacks);
    if (stack === undefined) throw new Error(`${outputs} names no stack`);
    return stack;
  }

  /** What was deployed last. */
  async destroy(): Promise<void> {
    await this.#run(["destroy", "--app", this.#assembly, "--force"], this.#directory);
  }

  get #configFile(): string {
    return path.join(this.#directory, "deployment.json");
  }

  get #assembly(): string {
    return path.join(this.#directory, "cdk.out");
  }

  /** @throws with what the CLI said */
  async #run(args: readonly string[], cwd: string): Promise<void> {
    const env = {
      ...process.env,
      ...NO_PROFILE,
      // The app is run by `node`.
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
      AWS_ENDPOINT_URL: this.#endpoint,
      CDK_DISABLE_VERSION_CHECK: "1",
      CDK_DISABLE_CLI_TELEMETRY: "true",
    };
    await run(process.execPath, [CLI, ...args, "--no-color"], {
      cwd,
      env,
      maxBuffer: 64 * 1024 * 1024,
    }).catch((error: unknown) => {
      const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
      throw new Error(`cdk ${args.join(" ")} failed:\n${stdout}\n${stderr}`);
    });
  }
}
