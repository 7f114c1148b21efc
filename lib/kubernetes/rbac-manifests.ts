/** Roles and bindings for the drain's Kubernetes group and for the hook's service account, made from the permission tables. */
import { stringify } from "yaml";
import { KUBERNETES_GROUP, PRODUCT } from "../drain/names.ts";
import {
  CLUSTER_PERMISSIONS,
  CSI_NAMESPACE,
  HOOK_PERMISSIONS,
  type RbacRule,
} from "../engine/permissions.ts";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Whom a role is bound to. */
export type RbacSubject =
  | { readonly apiGroup: string; readonly kind: "Group"; readonly name: string }
  | { readonly kind: "ServiceAccount"; readonly name: string; readonly namespace: string };

/** A Role or ClusterRole, or the binding of one to its subject. */
export interface RbacObject {
  readonly apiVersion: "rbac.authorization.k8s.io/v1";
  readonly kind: "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
  readonly subjects?: readonly RbacSubject[];
  readonly roleRef?: {
    readonly apiGroup: string;
    readonly kind: "ClusterRole" | "Role";
    readonly name: string;
  };
}

const HEADER = `# What ${PRODUCT} may do in a cluster, for the Kubernetes group "${KUBERNETES_GROUP}" of its EKS access entry.
# Made by \`npm run manifests\` from lib/engine/permissions.ts; edits here are lost.
`;

/** The service account of the EBS CSI driver's node pods, as its chart and the EKS add-on name it. */
export const HOOK_ACCOUNT = "ebs-csi-node-sa";
/** Name of all that the hook's install makes in a cluster, and of its container. */
export const HOOK_OBJECTS = `${PRODUCT}-hook`;

/** Where the CSI node pods run, and as whom. */
export interface HookSubject {
  readonly namespace: string;
  readonly serviceAccount: string;
}

const HOOK_HEADER = `# What the hook of ${PRODUCT} may do in a cluster, for the service account of the EBS CSI driver's node pods. It changes nothing.
# Made from lib/engine/permissions.ts by \`npm run manifests\`, and for other names by \`ebs-drain install rbac --for hook\`; edits here are lost.
`;

/** Every rule of the table, once per method that needs it. */
export function clusterRules(): readonly RbacRule[] {
  return Object.values(CLUSTER_PERMISSIONS).flat();
}

/** Every rule of the hook's table, once per operation that needs it. */
export function hookRules(): readonly RbacRule[] {
  return Object.values(HOOK_PERMISSIONS).flat();
}

export function rbacManifests(rules: readonly RbacRule[] = clusterRules()): readonly RbacObject[] {
  return manifestsFor(PRODUCT, { apiGroup: API_GROUP, kind: "Group", name: KUBERNETES_GROUP }, rules);
}

/** Own pod and revisions are read in the namespace of the CSI node pods, wherever that is. */
export function hookRbacManifests(
  { namespace, serviceAccount }: HookSubject = { namespace: CSI_NAMESPACE, serviceAccount: HOOK_ACCOUNT },
  rules: readonly RbacRule[] = hookRules(),
): readonly RbacObject[] {
  const subject = { kind: "ServiceAccount", name: serviceAccount, namespace } as const;
  const placed = rules.map((rule) => (rule.namespace === CSI_NAMESPACE ? { ...rule, namespace } : rule));
  return manifestsFor(HOOK_OBJECTS, subject, placed);
}

/** The drain's manifests as a file for `kubectl apply`. */
export function rbacYaml(): string {
  return HEADER + yamlOf(rbacManifests());
}

/** The hook's manifests as a file for `kubectl apply`. */
export function hookRbacYaml(subject?: HookSubject): string {
  return HOOK_HEADER + yamlOf(hookRbacManifests(subject));
}

function yamlOf(manifests: readonly RbacObject[]): string {
  return manifests.map((manifest) => stringify(manifest, { lineWidth: 0 })).join("---\n");
}

const API = "rbac.authorization.k8s.io/v1";
const API_GROUP = "rbac.authorization.k8s.io";

/** One ClusterRole for what is needed everywhere, one Role for each namespace that confines a rule, and their bindings. */
function manifestsFor(name: string, subject: RbacSubject, rules: readonly RbacRule[]): readonly RbacObject[] {
  const namespaces = new Set(rules.flatMap((rule) => rule.namespace ?? []));
  return [undefined, ...[...namespaces].toSorted()].flatMap((namespace) =>
    roleAndBinding(
      namespace === undefined ? { name } : { name, namespace },
      subject,
      policyRules(rules.filter((rule) => rule.namespace === namespace)),
    ),
  );
}

function roleAndBinding(
  metadata: RbacObject["metadata"],
  subject: RbacSubject,
  rules: readonly PolicyRule[],
): readonly RbacObject[] {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  const roleRef = { apiGroup: API_GROUP, kind, name: metadata.name } as const;
  return [
    { apiVersion: API, kind, metadata, rules },
    { apiVersion: API, kind: `${kind}Binding`, metadata, subjects: [subject], roleRef },
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
