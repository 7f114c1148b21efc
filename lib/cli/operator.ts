/** An operator's connections: a cluster by kubeconfig, and AWS by profile where there are credentials. */
import type { Policy } from "../drain/policy.ts";
import type { Instant } from "../drain/time.ts";
import type { AutoScalingPort, ClusterPort, Ec2Port } from "../engine/ports.ts";
import type { AwsInspectionPort } from "../aws/inspection.ts";
import { createClusterPort } from "../kubernetes/cluster-adapter.ts";
import { createInspectionPort } from "../kubernetes/cluster-inspection.ts";
import type { ClusterConnection } from "../kubernetes/connection.ts";
import type { InspectionPort } from "../kubernetes/inspection.ts";
import { kubeconfigConnection } from "../kubernetes/kubeconfig-connection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { deploymentOf } from "./deployment-file.ts";
import { UsageError } from "./running.ts";

/** What AWS can be asked, or why nothing. */
export type AwsAccess =
  | {
      readonly kind: "granted";
      readonly region: string;
      readonly ec2: Ec2Port;
      readonly autoScaling: AutoScalingPort;
      readonly inspection: AwsInspectionPort;
    }
  | { readonly kind: "none"; readonly why: string };

export interface Operator {
  readonly cluster: ClusterPort;
  readonly inspection: InspectionPort;
  /** The cluster's name, and its API server's URL, as the kubeconfig has them. */
  readonly clusterName: string;
  readonly server: string;
  readonly aws: AwsAccess;
  readonly policy: Policy;
  /** Of `--config`; empty without one. */
  readonly groups: readonly string[];
  readonly now: () => Instant;
}

/** Connects, runs, and closes again. @throws UsageError where no connection can be made of the options */
export async function withOperator<T>(
  options: ConnectionOptions,
  run: (operator: Operator) => Promise<T>,
): Promise<T> {
  const { policy, groups } = await deploymentOf(options.config);
  const connection = connectionOf(options);
  const cluster = createClusterPort(connection);
  try {
    return await run({
      cluster,
      inspection: createInspectionPort(connection),
      clusterName: nameOf(connection),
      server: connection.server,
      aws: await awsOf(options, connection.server),
      policy,
      groups,
      now: Date.now,
    });
  } finally {
    await cluster.close();
  }
}

function connectionOf({ kubeconfig, context }: ConnectionOptions): ClusterConnection {
  try {
    return kubeconfigConnection({
      ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
      ...(context === undefined ? {} : { context }),
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `${why}. Name a kubeconfig with --kubeconfig and one of its contexts with --context; for EKS, \`aws eks update-kubeconfig --name CLUSTER\` writes both`,
    );
  }
}

/** EKS names its clusters by ARN in the kubeconfig: the last part is the name. */
function nameOf(connection: ClusterConnection): string {
  const name = connection.getCurrentCluster()?.name ?? "";
  return name.startsWith("arn:") ? name.slice(name.lastIndexOf("/") + 1) : name;
}

const SERVER_REGION = /\.([a-z]{2}(?:-[a-z]+)+-\d)\.eks\.amazonaws\.com/;

async function awsOf(options: ConnectionOptions, server: string): Promise<AwsAccess> {
  if (options.kubernetesOnly === true) return { kind: "none", why: "--kubernetes-only" };
  const { awsClients } = await import("./aws-clients.ts");
  const fallback = SERVER_REGION.exec(server)?.[1];
  return awsClients(options, fallback);
}
