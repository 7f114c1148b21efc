/** A way into the clusters for the functions' roles. */
import { CfnAccessEntry } from "aws-cdk-lib/aws-eks";
import type { IRole } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { KUBERNETES_GROUP } from "../drain/names.ts";
import type { Settings } from "../drain/settings.ts";
import { stableId } from "./stable-id.ts";

/**
 * Each role enters each cluster as a member of the drain's Kubernetes group, which has no rights until manifests/rbac.yaml gives
 * it some.
 */
export class ClusterAccess extends Construct {
  constructor(scope: Construct, id: string, settings: Settings, roles: readonly IRole[]) {
    super(scope, id);
    for (const { name } of settings.clusters) {
      const cluster = new Construct(this, stableId(this, name));
      for (const role of roles) {
        new CfnAccessEntry(cluster, role.node.scope?.node.id ?? role.node.id, {
          clusterName: name,
          principalArn: role.roleArn,
          kubernetesGroups: [KUBERNETES_GROUP],
          type: "STANDARD",
        });
      }
    }
  }
}
