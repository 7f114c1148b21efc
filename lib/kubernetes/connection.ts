/**
 * How the API server is reached. client-node itself makes a new agent, and so a new TLS connection, for every request; a connection
 * here keeps one pool for its lifetime.
 */
import { KubeConfig, type RequestContext } from "@kubernetes/client-node";
import { Agent } from "undici";

/** Milliseconds. */
export interface Timeouts {
  readonly connect: number;
  /** From the request to the answer's headers. */
  readonly headers: number;
  /** Between two pieces of the answer's body. */
  readonly body: number;
}

/** An API server that does not answer a read within 15 s is in trouble; a list of a big cluster may pause while it streams. */
export const TIMEOUTS: Timeouts = { connect: 5_000, headers: 15_000, body: 60_000 };

/** A bearer token; `fresh` asks for another one than was given last, because that one was refused. */
export type TokenSource = (options?: { readonly fresh: boolean }) => Promise<string>;

/** Credentials could not be had; the API server was not asked. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

/** A KubeConfig for client-node's API classes, with one pool of connections. */
export abstract class ClusterConnection extends KubeConfig {
  /** The current credentials were refused: the next request is made with new ones. */
  abstract renewCredentials(): void;
  /** Ends the pool; requests in flight fail. */
  abstract close(): Promise<void>;

  /** The API server's URL. */
  get server(): string {
    return this.getCurrentCluster()?.server ?? "";
  }
}

export function agentOptions(timeouts: Timeouts): Agent.Options {
  return {
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.body,
    keepAliveTimeout: 30_000,
    // One look asks a handful of things at once.
    connections: 8,
    // Over HTTP/2 all requests would share one connection, and its loss would fail them all.
    allowH2: false,
  };
}

export interface EksConnectionOptions {
  /** `https://….eks.amazonaws.com`. */
  readonly server: string;
  /** The cluster's certificate authority, PEM in base64 as DescribeCluster answers it. */
  readonly caData: string;
  readonly token: TokenSource;
  readonly timeouts?: Timeouts;
}

/** A connection to an EKS cluster's API server by bearer token. */
export function eksConnection(options: EksConnectionOptions): ClusterConnection {
  return new EksConnection(options);
}

class EksConnection extends ClusterConnection {
  readonly #token: TokenSource;
  readonly #agent: Agent;
  #refused = false;

  constructor({ server, caData, token, timeouts = TIMEOUTS }: EksConnectionOptions) {
    super();
    this.loadFromClusterAndUser({ name: "eks", server, caData, skipTLSVerify: false }, { name: "eks" });
    this.#token = token;
    this.#agent = new Agent({
      ...agentOptions(timeouts),
      connect: { ca: Buffer.from(caData, "base64").toString(), timeout: timeouts.connect },
    });
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    const fresh = this.#refused;
    this.#refused = false;
    const token = await this.#token({ fresh }).catch((cause: unknown) => {
      throw new CredentialsError(`no token: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    });
    context.setHeaderParam("Authorization", `Bearer ${token}`);
    context.setDispatcher(this.#agent);
  }

  override renewCredentials(): void {
    this.#refused = true;
  }

  override async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
