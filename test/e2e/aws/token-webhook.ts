/**
 * EKS's authentication webhook in small: kube-apiserver asks it about bearer tokens. The checks are those that
 * aws-iam-authenticator makes; the signature is checked by sending the presigned request on to STS (here the local one, which
 * verifies it), and the cluster's access entries, as deployed, decide user and groups.
 */
import { writeFile } from "node:fs/promises";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { EKSClient } from "@aws-sdk/client-eks";
import { DescribeAccessEntryCommand, paginateListAccessEntries } from "@aws-sdk/client-eks";
import type { AccessEntry } from "@aws-sdk/client-eks";
import { stringify } from "yaml";
import { type CallerIdentity, callerIdentity } from "./caller-identity.ts";
import { presignedUrlOf, RefusedError } from "./presigned-token.ts";

export interface TokenWebhookOptions {
  readonly cluster: string;
  /** Only a token that was signed for this region's STS is taken. */
  readonly region: string;
  /** Where STS answers. */
  readonly stsUrl: string;
  readonly eks: EKSClient;
}

/** What the webhook told of one token. */
export interface Review {
  /** Unix milliseconds. */
  readonly at: number;
  /** The user, or why there is none. */
  readonly verdict:
    | { readonly kind: "user"; readonly name: string; readonly groups: readonly string[] }
    | { readonly kind: "refused"; readonly why: string };
}

interface User {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export class TokenWebhook {
  /** Every token that the API server asked about: those it has in its cache it does not ask about. */
  readonly reviews: Review[] = [];
  readonly #options: TokenWebhookOptions;
  readonly #server: Server;

  private constructor(options: TokenWebhookOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(options: TokenWebhookOptions): Promise<TokenWebhook> {
    const webhook = new TokenWebhook(options);
    await new Promise<void>((resolve) => webhook.#server.listen(0, "127.0.0.1", resolve));
    return webhook;
  }

  /** Flags of kube-apiserver; the configuration is written to this file. */
  async flags(configFile: string): Promise<readonly string[]> {
    const { port } = this.#server.address() as AddressInfo;
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "webhook", cluster: { server: `http://127.0.0.1:${port}/` } }],
      users: [{ name: "api-server" }],
      contexts: [{ name: "webhook", context: { cluster: "webhook", user: "api-server" } }],
      "current-context": "webhook",
    };
    await writeFile(configFile, stringify(config));
    return [
      `--authentication-token-webhook-config-file=${configFile}`,
      "--authentication-token-webhook-version=v1",
      // A removed access entry should show within a test's patience; EKS keeps accepted tokens for minutes.
      "--authentication-token-webhook-cache-ttl=5s",
    ];
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** As aws-iam-authenticator: 403 for every refusal; kube-apiserver takes that as final and does not keep it. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const { spec } = JSON.parse(body) as { readonly spec: { readonly token: string } };
    const status = await this.#review(spec.token);
    const code = status.kind === "authenticated" ? 200 : status.kind === "refused" ? 403 : 500;
    const { kind, ...user } = status;
    const review = { authenticated: kind === "authenticated", ...user };
    response.writeHead(code, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status: review }),
    );
  }

  async #review(
    token: string,
  ): Promise<{ kind: "authenticated"; user: User } | { kind: "refused" } | { kind: "failed" }> {
    const at = Date.now();
    try {
      const user = await this.#authenticate(token, at);
      this.reviews.push({ at, verdict: { kind: "user", name: user.username, groups: user.groups } });
      return { kind: "authenticated", user };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.reviews.push({ at, verdict: { kind: "refused", why } });
      return { kind: error instanceof RefusedError ? "refused" : "failed" };
    }
  }

  async #authenticate(token: string, now: number): Promise<User> {
    const { cluster, region, stsUrl } = this.#options;
    const url = presignedUrlOf(token, `sts.${region}.amazonaws.com`, now);
    const identity = await callerIdentity(url, { cluster, stsUrl });
    return userOf(identity, await this.#entryOf(identity));
  }

  /** A role's session belongs to its role's entry, whatever path the role has. */
  async #entryOf({ arn }: CallerIdentity): Promise<AccessEntry> {
    const { eks, cluster: clusterName } = this.#options;
    const [, account, role] = /^arn:[\w-]+:sts::(\d+):assumed-role\/([^/]+)\/[^/]+$/.exec(arn) ?? [];
    const isMeant = (principal: string): boolean =>
      principal === arn ||
      (role !== undefined && principal.includes(`:iam::${account}:role/`) && principal.endsWith(`/${role}`));
    for await (const { accessEntries = [] } of paginateListAccessEntries({ client: eks }, { clusterName })) {
      const principalArn = accessEntries.find(isMeant);
      if (principalArn === undefined) continue;
      const { accessEntry } = await eks.send(new DescribeAccessEntryCommand({ clusterName, principalArn }));
      if (accessEntry !== undefined) return accessEntry;
    }
    throw new RefusedError(`no access entry for ${arn}`);
  }
}

/** Without a user name of its own an entry names a role's session by the session's ARN. */
function userOf({ arn, account, userId }: CallerIdentity, entry: AccessEntry): User {
  const session = arn.includes(":assumed-role/") ? (arn.split("/").at(-1) ?? "") : "";
  const principalId = userId.split(":")[0] ?? "";
  const isNamed = entry.username !== undefined && entry.username !== entry.principalArn;
  const username = (isNamed ? (entry.username ?? arn) : arn)
    .replaceAll("{{SessionName}}", session.replaceAll("@", "-"))
    .replaceAll("{{SessionNameRaw}}", session)
    .replaceAll("{{AccountID}}", account);
  return {
    username,
    uid: `aws-iam-authenticator:${account}:${principalId}`,
    groups: entry.kubernetesGroups ?? [],
    extra: {
      arn: [arn],
      canonicalArn: [entry.principalArn ?? ""],
      principalId: [principalId],
      sessionName: [session],
    },
  };
}
