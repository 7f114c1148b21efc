/** What a deployment may say about a cluster: what the functions read, and what concerns the deployment only. */
import { isObject } from "../drain/raw-json.ts";
import type { Checks } from "../drain/setting-checks.ts";
import { checked, list, mismatch, readKeys, repeated, schemaOf, text } from "../drain/setting-checks.ts";
import type { ClusterSettings } from "../drain/settings.ts";
import { CLUSTER_CHECKS } from "../drain/settings.ts";
import type { HookCredentials, ServiceAccount } from "./props.ts";

/** A cluster of the configuration file: its groups are named, or asked of EKS at deployment, or both. */
export interface DeployedCluster extends Omit<ClusterSettings, "groups"> {
  readonly groups?: readonly string[];
  readonly managedNodeGroups?: readonly string[];
  readonly hookCredentials?: HookCredentials;
}

const nodeGroups = list(
  "managed node group names",
  text(
    "a managed node group's name",
    /^[0-9A-Za-z][0-9A-Za-z_-]{0,62}$/,
    "It is what `aws eks list-nodegroups` prints; Auto Scaling groups by their own names go under groups.",
  ),
  "Their Auto Scaling groups are asked of EKS at deployment. Leave it out where there are none.",
);

/** Each once. */
export const NODE_GROUPS = checked(nodeGroups.schema, (value, path, problems) => {
  const names = nodeGroups(value, path, problems);
  for (const name of repeated(names ?? [])) {
    problems.push({ path, problem: `${name} stands in it more than once. Name each node group once.` });
  }
  return names;
});

const name = (what: string) =>
  text(`a ${what}'s name`, /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, "It is that of the CSI driver's node pods.");

const ACCOUNT: Checks<ServiceAccount> = {
  namespace: name("namespace"),
  serviceAccount: name("service account"),
};

interface InstanceRoles {
  readonly instanceRoles: readonly string[];
}

const ROLES: Checks<InstanceRoles> = {
  instanceRoles: list(
    "role names",
    text("an IAM role's name", /^[\w+=,.@-]{1,64}$/, "It is the name, not the ARN, of the nodes' own role."),
    "Each gets the right to complete lifecycle actions of the cluster's groups.",
  ),
};

const WORDS = ["pod-identity", "none"] as const;
const ACCOUNT_KEYS = ["namespace", "serviceAccount"] as const;
const ROLES_KEYS = ["instanceRoles"] as const;

const hookCredentials = checked<HookCredentials>(
  {
    anyOf: [{ enum: WORDS }, schemaOf(ACCOUNT, ACCOUNT_KEYS), schemaOf(ROLES, ROLES_KEYS)],
    default: "pod-identity",
    description:
      "How the hook on the nodes gets at completing lifecycle actions; with none the drain completes.",
  },
  (value, path, problems) => {
    const word = WORDS.find((each) => each === value);
    if (word !== undefined) return word;
    if (!isObject(value)) {
      const fix = "Leave it out for pod-identity; with none the drain completes.";
      problems.push(
        mismatch(
          path,
          `${WORDS.join(", ")}, or an object with namespace and serviceAccount or with instanceRoles`,
          value,
          fix,
        ),
      );
      return undefined;
    }
    if ("instanceRoles" in value) {
      const { instanceRoles } = readKeys<InstanceRoles>(value, path, ROLES, ROLES_KEYS, problems);
      return instanceRoles === undefined ? undefined : { instanceRoles };
    }
    const { namespace, serviceAccount } = readKeys<ServiceAccount>(
      value,
      path,
      ACCOUNT,
      ACCOUNT_KEYS,
      problems,
    );
    return namespace === undefined || serviceAccount === undefined
      ? undefined
      : { namespace, serviceAccount };
  },
);

const CHECKS: Checks<DeployedCluster> = {
  ...CLUSTER_CHECKS,
  managedNodeGroups: NODE_GROUPS,
  hookCredentials,
};

const schema = {
  ...schemaOf(CHECKS, ["name"]),
  anyOf: [{ required: ["groups"] }, { required: ["managedNodeGroups"] }],
};

const cluster = checked<DeployedCluster>(schema, (value, path, problems) => {
  const { name: named, ...others } = readKeys<DeployedCluster>(value, path, CHECKS, ["name"], problems);
  if (isObject(value) && value["groups"] === undefined && value["managedNodeGroups"] === undefined) {
    problems.push({
      path: `${path}.groups`,
      problem:
        "expected groups, managedNodeGroups or both, got neither. Nothing of the cluster is drained without its groups.",
    });
  }
  return named === undefined ? undefined : { name: named, ...others };
});

export const CLUSTERS = list("clusters", cluster, "Each is an EKS cluster's name and its groups.");
