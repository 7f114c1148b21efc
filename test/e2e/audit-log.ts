/** The API server's own record of some users' requests: what an adapter says of itself is not taken for granted. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { stateRoot } from "./run-settings.ts";

/** By name, or by a group that all of them are in. */
export type AuditedUsers = { readonly users: readonly string[] } | { readonly userGroups: readonly string[] };

export interface AuditedRequest {
  /** Unix milliseconds. */
  readonly at: number;
  /** `get`, `list`, `create`, `patch`, `delete`, …: RBAC's verbs. */
  readonly verb: string;
  /** `nodes`, `pods/eviction`, …. */
  readonly resource: string;
  readonly uri: string;
  /** HTTP status of the answer. */
  readonly status: number;
}

interface AuditEvent {
  readonly requestReceivedTimestamp: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

export class AuditLog {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async create(of: AuditedUsers): Promise<AuditLog> {
    const log = new AuditLog(await mkdtemp(path.join(stateRoot() ?? tmpdir(), "ebs-drain-audit-")));
    const policy = {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "Metadata", ...of }, { level: "None" }],
    };
    await writeFile(log.#policyFile, stringify(policy));
    return log;
  }

  /** Of the API server. Its log is written before it answers: what was answered is in it. */
  get flags(): readonly string[] {
    return [`--audit-policy-file=${this.#policyFile}`, `--audit-log-path=${this.#file}`];
  }

  /** Their requests since that time, the oldest first. */
  async requestsSince(since: number): Promise<readonly AuditedRequest[]> {
    const text = await readFile(this.#file, "utf8").catch(() => "");
    const events = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => requestOf(JSON.parse(line) as AuditEvent));
    return events.filter(({ at }) => at >= since);
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #file(): string {
    return path.join(this.#directory, "audit.log");
  }

  get #policyFile(): string {
    return path.join(this.#directory, "policy.yaml");
  }
}

function requestOf(event: AuditEvent): AuditedRequest {
  const { resource = "", subresource } = event.objectRef ?? {};
  return {
    at: Date.parse(event.requestReceivedTimestamp),
    verb: event.verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    uri: event.requestURI,
    status: event.responseStatus?.code ?? 0,
  };
}
