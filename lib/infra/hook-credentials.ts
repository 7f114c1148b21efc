/** What the hook on the nodes may do: complete lifecycle actions of its own cluster's groups. */
import { CfnPodIdentityAssociation } from "aws-cdk-lib/aws-eks";
import type { IPrincipal, IRole } from "aws-cdk-lib/aws-iam";
import { Policy, Role, ServicePrincipal, SessionTagsPrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import type { ClusterSettings } from "../drain/settings.ts";
import { AUTO_SCALING_PERMISSIONS } from "../engine/permissions.ts";
import { allow, clusterArn, grantOnGroups } from "./grants.ts";
import type { HookCredentials, ServiceAccount } from "./props.ts";

/** As the EBS CSI driver's chart and the EKS add-on name it. */
const NODE_PODS: ServiceAccount = { namespace: "kube-system", serviceAccount: "ebs-csi-node-sa" };

/** Heartbeats stay the drain's: the hook completes, and nothing else. */
const ACTIONS = AUTO_SCALING_PERMISSIONS.complete.map(({ action }) => action);

/** One cluster's. */
export class HookAccess extends Construct {
  constructor(scope: Construct, id: string, cluster: ClusterSettings, credentials: HookCredentials) {
    super(scope, id);
    const roles = this.#rolesFor(cluster, credentials);
    if (roles.length === 0) return;
    allow(new Policy(this, "Policy", { roles: [...roles] }), grantOnGroups(this, ACTIONS, cluster.groups));
  }

  #rolesFor(cluster: ClusterSettings, credentials: HookCredentials): readonly IRole[] {
    if (credentials === "none") return [];
    if (credentials === "pod-identity") return [this.#podRole(cluster.name, NODE_PODS)];
    if ("serviceAccount" in credentials) return [this.#podRole(cluster.name, credentials)];
    return credentials.instanceRoles.map((name) => Role.fromRoleName(this, name, name));
  }

  #podRole(clusterName: string, account: ServiceAccount): IRole {
    const role = new Role(this, "Role", {
      assumedBy: podsOf(clusterArn(this, clusterName), account),
      description: "The hook of ebs-drain completes lifecycle actions",
    });
    new CfnPodIdentityAssociation(this, "Association", { clusterName, ...account, roleArn: role.roleArn });
    return role;
  }
}

/** EKS asks in the name of any association; the tags it sends say for which pods of which cluster. */
function podsOf(cluster: string, { namespace, serviceAccount }: ServiceAccount): IPrincipal {
  const principal = new ServicePrincipal("pods.eks.amazonaws.com", {
    conditions: {
      StringEquals: {
        "aws:RequestTag/eks-cluster-arn": cluster,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": serviceAccount,
      },
    },
  });
  return new SessionTagsPrincipal(principal);
}
