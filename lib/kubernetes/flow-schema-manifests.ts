/** A place for the drain's requests where an overloaded API server does not starve them: it is needed most when all else fails. */
import { stringify } from "yaml";
import { KUBERNETES_GROUP, PRODUCT } from "../drain/names.ts";

export interface FlowSchemaObject {
  readonly apiVersion: "flowcontrol.apiserver.k8s.io/v1";
  readonly kind: "FlowSchema";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const HEADER = `# Gives requests of ${PRODUCT}'s Kubernetes group "${KUBERNETES_GROUP}" a priority level that others' load does not use up.
# Made by \`npm run manifests\`; edits here are lost.
`;

/** One that every API server has, as leader elections and kube-system's own service accounts have theirs. */
const PRIORITY_LEVEL = "workload-high";
/** Before kube-system's service accounts (900) and global-default (9900), which would take any authenticated user. */
const PRECEDENCE = 890;

export function flowSchemaManifest(): FlowSchemaObject {
  const everything = {
    verbs: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
    namespaces: ["*"],
    clusterScope: true,
  };
  return {
    apiVersion: "flowcontrol.apiserver.k8s.io/v1",
    kind: "FlowSchema",
    metadata: { name: PRODUCT },
    spec: {
      priorityLevelConfiguration: { name: PRIORITY_LEVEL },
      matchingPrecedence: PRECEDENCE,
      // The drain and the dispatcher are two users: a sweep over many nodes does not hold a drain up.
      distinguisherMethod: { type: "ByUser" },
      rules: [
        { subjects: [{ kind: "Group", group: { name: KUBERNETES_GROUP } }], resourceRules: [everything] },
      ],
    },
  };
}

/** As a file for `kubectl apply`. */
export function flowSchemaYaml(): string {
  return HEADER + stringify(flowSchemaManifest(), { lineWidth: 0 });
}
