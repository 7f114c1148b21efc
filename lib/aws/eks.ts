/** EKS's DescribeCluster: where a cluster's API server is and whom to trust there. */
import { DescribeClusterCommand, EKSClient } from "@aws-sdk/client-eks";
import { PortError } from "../engine/errors.ts";
import { type AwsPlace, CLIENT_SETTINGS } from "./clients.ts";
import { toPortError } from "./errors.ts";

const OPERATION = "eks.describeCluster";

export function createEksClient(place: AwsPlace = {}): EKSClient {
  return new EKSClient({ ...CLIENT_SETTINGS, ...place });
}

/**
 * Asks EKS for the cluster's endpoint and certificate authority (PEM in base64).
 * Rejects with a PortError; kind `server` where the cluster has no endpoint (yet).
 */
export function describeClusterWith(
  client: EKSClient,
): (cluster: string) => Promise<{ readonly server: string; readonly caData: string }> {
  return async (cluster) => {
    const answer = await client
      .send(new DescribeClusterCommand({ name: cluster }))
      .catch((error: unknown) => {
        throw toPortError(OPERATION, error);
      });
    const server = answer.cluster?.endpoint;
    const caData = answer.cluster?.certificateAuthority?.data;
    if (server === undefined || caData === undefined) {
      const status = answer.cluster?.status ?? "unknown";
      throw new PortError(
        "server",
        OPERATION,
        `EKS cluster ${cluster} has no endpoint: its status is ${status}`,
      );
    }
    return { server, caData };
  };
}
