/** Ports of the configured clusters, each connected once per container and at its first use. */
import type { EKSClient } from "@aws-sdk/client-eks";
import type { ClusterSettings } from "../lib/drain/settings.ts";
import { CLUSTER_PERMISSIONS } from "../lib/engine/permissions.ts";
import type { ClusterPort } from "../lib/engine/ports.ts";
import { describeClusterWith } from "../lib/aws/eks.ts";
import { createClusterPort } from "../lib/kubernetes/cluster-adapter.ts";
import type { TokenSource } from "../lib/kubernetes/connection.ts";
import { eksConnection } from "../lib/kubernetes/connection.ts";
import { endpointOf } from "../lib/kubernetes/eks-endpoint.ts";
import { eksTokens } from "../lib/kubernetes/eks-token.ts";

interface Opened {
  readonly port: ClusterPort;
  tokens: TokenSource;
}

export class ClusterPorts {
  readonly #eks: EKSClient;
  readonly #region: string;
  readonly #opened = new Map<string, Opened>();

  /** Credentials come from the EKS client. */
  constructor(eks: EKSClient, region: string) {
    this.#eks = eks;
    this.#region = region;
  }

  /** The port of this cluster. Asks nothing yet; where the cluster cannot be found or reached, the port's methods say so. */
  of(cluster: ClusterSettings): ClusterPort {
    return this.#open(cluster).port;
  }

  /** The same with a new token: a container may have been frozen for longer than a token is good. */
  ofInvocation(cluster: ClusterSettings): ClusterPort {
    const opened = this.#open(cluster);
    opened.tokens = this.#tokens(cluster);
    return opened.port;
  }

  #open(cluster: ClusterSettings): Opened {
    const known = this.#opened.get(cluster.name);
    if (known !== undefined) return known;
    const opened: Opened = {
      port: lazyPort(this.#connector(cluster, (options) => opened.tokens(options))),
      tokens: this.#tokens(cluster),
    };
    this.#opened.set(cluster.name, opened);
    return opened;
  }

  #tokens(cluster: ClusterSettings): TokenSource {
    return eksTokens({
      cluster: cluster.name,
      region: this.#region,
      credentials: () => this.#eks.config.credentials(),
    });
  }

  #connector(cluster: ClusterSettings, token: TokenSource): () => Promise<ClusterPort> {
    const { name, endpoint, certificateAuthority } = cluster;
    const find = endpointOf({
      cluster: name,
      describe: describeClusterWith(this.#eks),
      ...(endpoint === undefined || certificateAuthority === undefined
        ? {}
        : { configured: { server: endpoint, caData: certificateAuthority } }),
    });
    let port: ClusterPort | undefined;
    return async () => {
      const address = await find();
      port ??= createClusterPort(eksConnection({ ...address, token }));
      return port;
    };
  }
}

/** A port whose methods connect first. A failure to connect is a PortError already and becomes the method's own. */
function lazyPort(connect: () => Promise<ClusterPort>): ClusterPort {
  // The permission table has every method of the port: the compiler sees to that.
  const methods = Object.keys(CLUSTER_PERMISSIONS) as (keyof ClusterPort)[];
  const lazy = methods.map((method) => [
    method,
    async (...args: unknown[]) => {
      const port = await connect();
      return (port[method] as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(lazy) as ClusterPort;
}
