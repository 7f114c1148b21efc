/** A connection by kubeconfig, as kubectl makes it: client certificates, tokens, exec plugins, proxies. For laptops. */
import type { AgentOptions, RequestOptions } from "node:https";
import {
  type ConnectOptions,
  type DispatcherOptions,
  KubeConfig,
  type RequestContext,
} from "@kubernetes/client-node";
import { Agent, type Dispatcher, ProxyAgent, type buildConnector } from "undici";
import { ClusterConnection, CredentialsError, TIMEOUTS, type Timeouts, agentOptions } from "./connection.ts";

export interface KubeconfigOptions {
  /** Default: `KUBECONFIG`, then `~/.kube/config`. */
  readonly file?: string;
  /** Default: the file's current context. */
  readonly context?: string;
  readonly timeouts?: Timeouts;
}

/** @throws Error where the file cannot be read or names no such context or cluster */
export function kubeconfigConnection(options: KubeconfigOptions = {}): ClusterConnection {
  return new KubeconfigConnection(options);
}

class KubeconfigConnection extends ClusterConnection {
  readonly #options: KubeconfigOptions;
  readonly #timeouts: Timeouts;
  /** Knows the credentials, an exec plugin's cached ones among them: another one knows none yet. */
  #source: KubeConfig;
  #pool: { readonly key: string; readonly dispatcher: Dispatcher } | undefined;

  constructor(options: KubeconfigOptions) {
    super();
    this.#options = options;
    this.#timeouts = options.timeouts ?? TIMEOUTS;
    this.#source = loadKubeconfig(options);
    this.mergeConfig(this.#source);
    this.setCurrentContext(this.#source.getCurrentContext());
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    const credentials: RequestOptions = {};
    await this.#source.applyToHTTPSOptions(credentials).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CredentialsError(`the kubeconfig's credentials cannot be had: ${why}`, { cause });
    });
    for (const [name, value] of Object.entries(credentials.headers ?? {})) {
      context.setHeaderParam(name, String(value));
    }
    if (typeof credentials.auth === "string") {
      context.setHeaderParam("Authorization", `Basic ${Buffer.from(credentials.auth).toString("base64")}`);
    }
    const dispatcher = this.#dispatcherFor(credentials);
    if (dispatcher === undefined) await super.applySecurityAuthentication(context);
    else context.setDispatcher(dispatcher);
  }

  /** The pool for these certificates: an exec plugin may give others later. Undefined for SOCKS, which client-node does itself. */
  #dispatcherFor(credentials: RequestOptions): Dispatcher | undefined {
    const wanted = this.createDispatcherOptions(this.getCurrentCluster(), pickTls(credentials));
    if (wanted.type === "socks") return undefined;
    const key = JSON.stringify(wanted);
    if (this.#pool?.key === key) return this.#pool.dispatcher;
    // Closed, not destroyed: requests may still be under way in it.
    void this.#pool?.dispatcher.close();
    this.#pool = { key, dispatcher: makeDispatcher(wanted, this.#timeouts) };
    return this.#pool.dispatcher;
  }

  override renewCredentials(): void {
    this.#source = loadKubeconfig(this.#options);
  }

  override async close(): Promise<void> {
    await this.#pool?.dispatcher.destroy();
  }
}

function makeDispatcher(
  wanted: Exclude<DispatcherOptions, { type: "socks" }>,
  timeouts: Timeouts,
): Dispatcher {
  const timeout = timeouts.connect;
  switch (wanted.type) {
    case "proxy":
      return new ProxyAgent({
        ...agentOptions(timeouts),
        uri: wanted.uri,
        requestTls: forUndici({ ...wanted.requestTls, timeout }),
        connect: forUndici({ ...wanted.connect, timeout }),
      });
    case "agent":
      return new Agent({ ...agentOptions(timeouts), connect: forUndici({ ...wanted.connect, timeout }) });
    case "none":
      return new Agent({ ...agentOptions(timeouts), connect: { timeout } });
    default:
      return wanted satisfies never;
  }
}

/** The same options: only the two libraries' declarations differ, in whether an optional one may be `undefined`. */
function forUndici(options: ConnectOptions): buildConnector.BuildOptions {
  return options as buildConnector.BuildOptions;
}

function loadKubeconfig({ file, context }: KubeconfigOptions): KubeConfig {
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  if (config.getCurrentCluster() === null) {
    const known = config.getContexts().map((one) => one.name);
    throw new Error(
      `the kubeconfig ${file ?? ""} has no context "${config.getCurrentContext()}" with a cluster; it has: ${known.join(", ")}`,
    );
  }
  return config;
}

function pickTls(options: RequestOptions): AgentOptions {
  const keys = ["ca", "cert", "key", "pfx", "passphrase", "rejectUnauthorized", "servername"] as const;
  return Object.fromEntries(
    keys.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])),
  ) as AgentOptions;
}
