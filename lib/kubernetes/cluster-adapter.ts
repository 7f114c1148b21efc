/** ClusterPort over the Kubernetes API, on client-node's generated API classes. */
import type { ClusterPort } from "../engine/ports.ts";
import { asking } from "./calls.ts";
import { clusterChanges } from "./cluster-changes.ts";
import { clusterReads } from "./cluster-reads.ts";
import type { ClusterConnection } from "./connection.ts";

/**
 * The port of one cluster, for as long as its connection is open. Every method rejects with a PortError and nothing else.
 * `close` ends the connection.
 */
export function createClusterPort(
  connection: ClusterConnection,
): ClusterPort & { readonly close: () => Promise<void> } {
  const ask = asking(connection);
  return {
    ...clusterReads(connection, ask),
    ...clusterChanges(connection, ask),
    close: () => connection.close(),
  };
}
