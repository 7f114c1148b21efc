/** A real API server on which nothing acts by itself: what a test arranges stays as it is. */
import { readFile } from "node:fs/promises";
import { type ClusterConnection, type TokenSource, eksConnection } from "../../lib/kubernetes/connection.ts";
import type { Identity } from "./certificates.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

/** @param tokenUsers users with a bearer token, besides `admin` */
export async function startQuietControlPlane(tokenUsers: readonly Identity[] = []): Promise<ControlPlane> {
  // Nobody listens on port 1, and nobody will ask.
  const controlPlane = await startControlPlane({ ec2Url: "http://127.0.0.1:1", tokenUsers });
  for (const program of ["csi-attacher", "kube-scheduler", "kube-controller-manager"] as const) {
    await controlPlane.kill(program);
  }
  return controlPlane;
}

/** A connection as the Lambda makes it, with a user's bearer token in the place of EKS's. */
export async function tokenConnection(
  controlPlane: ControlPlane,
  token: TokenSource,
): Promise<ClusterConnection> {
  const ca = await readFile(controlPlane.caFile);
  return eksConnection({ server: controlPlane.server, caData: ca.toString("base64"), token });
}
