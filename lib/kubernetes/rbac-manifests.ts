/** Roles and bindings for the drain's Kubernetes group, made from the permission table. */
import { stringify } from "yaml";
import { KUBERNETES_GROUP, PRODUCT } from "../drain/names.ts";
import { CLUSTER_PERMISSIONS, type RbacRule } from "../engine/permissions.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** A Role or ClusterRole, or the binding of one to the group. */
export interface RbacObject {
  readonly apiVersion: "rbac.authorization.k8s.io/v1";
  readonly kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
  readonly subjects?: readonly { readonly apiGroup: string; readonly kind: "Group"; readonly name: string }[];
  readonly roleRef?: {
    readonly apiGroup: string;
    readonly kind: "ClusterRole" | "Role";
    readonly name: string;
  };
}

const HEADER = `# What ${PRODUCT} may do in a cluster, for the Kubernetes group "${KUBERNETES_GROUP}" of its EKS access entry.
# Made by \`npm run manifests\` from lib/engine/permissions.ts; edits here are lost.
`;

/** Every rule of the table, once per method that needs it. */
export function clusterRules(): readonly RbacRule[] {
  return Object.values(CLUSTER_PERMISSIONS).flat();
}

/** One ClusterRole for what is needed everywhere, one Role for each namespace that confines a rule, and their bindings. */
export function rbacManifests(rules: readonly RbacRule[] = clusterRules()): readonly RbacObject[] {
  const namespaces = new Set(rules.flatMap((rule) => rule.namespace ?? []));
  return [
    ...clusterWide(policyRules(rules.filter((rule) => rule.namespace === undefined))),
    ...[...namespaces]
      .toSorted()
      .flatMap((namespace) =>
        inNamespace(namespace, policyRules(rules.filter((rule) => rule.namespace === namespace))),
      ),
  ];
}

/** The manifests as a file for `kubectl apply`. */
export function rbacYaml(): string {
  const documents = rbacManifests().map((manifest) => stringify(manifest, { lineWidth: 0 }));
  return `${HEADER}${documents.join("---\n")}`;
}

const API = "rbac.authorization.k8s.io/v1";
const API_GROUP = "rbac.authorization.k8s.io";
const SUBJECTS = [{ apiGroup: API_GROUP, kind: "Group", name: KUBERNETES_GROUP }] as const;

function clusterWide(rules: readonly PolicyRule[]): readonly RbacObject[] {
  const metadata = { name: PRODUCT };
  const roleRef = { apiGroup: API_GROUP, kind: "ClusterRole", name: PRODUCT } as const;
  return [
    { apiVersion: API, kind: "ClusterRole", metadata, rules },
    { apiVersion: API, kind: "ClusterRoleBinding", metadata, subjects: SUBJECTS, roleRef },
  ];
}

function inNamespace(namespace: string, rules: readonly PolicyRule[]): readonly RbacObject[] {
  const metadata = { name: PRODUCT, namespace };
  const roleRef = { apiGroup: API_GROUP, kind: "Role", name: PRODUCT } as const;
  return [
    { apiVersion: API, kind: "Role", metadata, rules },
    { apiVersion: API, kind: "RoleBinding", metadata, subjects: SUBJECTS, roleRef },
  ];
}

/** One rule per resource, with all the verbs that some method needs on it, in an order that does not depend on the table's. */
function policyRules(rules: readonly RbacRule[]): readonly PolicyRule[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    const key = `${rule.apiGroup}/${rule.resource}`;
    verbs.set(key, new Set([...(verbs.get(key) ?? []), ...rule.verbs]));
  }
  const keys = [...verbs.keys()].toSorted();
  return keys.map((key) => {
    const slash = key.indexOf("/");
    return {
      apiGroups: [key.slice(0, slash)],
      resources: [key.slice(slash + 1)],
      verbs: [...(verbs.get(key) ?? [])].toSorted(),
    };
  });
}
