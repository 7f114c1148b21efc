/** Where a cluster's API server is: configured, or asked of EKS once. */

export interface EksEndpoint {
  /** `https://….eks.amazonaws.com`. */
  readonly server: string;
  /** The cluster's certificate authority, PEM in base64. */
  readonly caData: string;
}

/** EKS's DescribeCluster. */
export type DescribeCluster = (cluster: string) => Promise<EksEndpoint>;

/**
 * Finds the endpoint at the first call and remembers it: it does not change while a cluster lives. A failure is not remembered.
 * Rejects with whatever `describe` rejects with.
 */
export function endpointOf(options: {
  readonly cluster: string;
  readonly configured?: EksEndpoint;
  readonly describe: DescribeCluster;
}): () => Promise<EksEndpoint> {
  const { cluster, configured, describe } = options;
  let known = configured === undefined ? undefined : Promise.resolve(configured);
  return () => {
    if (known !== undefined) return known;
    const asked = describe(cluster);
    known = asked;
    asked.catch(() => {
      if (known === asked) known = undefined;
    });
    return asked;
  };
}
