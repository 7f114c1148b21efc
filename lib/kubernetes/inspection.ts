/** What an operator's commands read of a cluster beyond what a drain needs. Views are plain JSON, with the fields that a finding reads. */
import type { RbacRule } from "../engine/permissions.ts";
import type { Toleration } from "../drain/cluster.ts";

export interface BudgetView {
  readonly namespace: string;
  readonly name: string;
  /** `spec.selector`; undefined selects nothing. */
  readonly selector?: SelectorView;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
}

export interface SelectorView {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values: readonly string[];
  }[];
}

/** Of a pod or of a pod template. */
export interface ContainerView {
  readonly name: string;
  readonly image: string;
  /** Command and arguments. */
  readonly args: readonly string[];
  /** Variables with a literal value. */
  readonly env: Readonly<Record<string, string>>;
  /** How the kubelet runs its preStop; absent: it has none. */
  readonly preStop?: "exec" | "httpGet" | "other";
}

export interface DaemonSetView {
  readonly namespace: string;
  readonly name: string;
  readonly selector?: SelectorView;
  readonly containers: readonly ContainerView[];
  /** `terminationGracePeriodSeconds` of its pods' template. */
  readonly graceSeconds: number;
  readonly tolerations: readonly Toleration[];
  /** `kubernetes.io/os` of its node selector. */
  readonly os?: string;
}

/** A DaemonSet or Deployment as far as it tells what runs in the cluster. */
export interface WorkloadView {
  readonly kind: "DaemonSet" | "Deployment";
  readonly namespace: string;
  readonly name: string;
  readonly replicas?: number;
  readonly containers: readonly ContainerView[];
}

/** A running pod as far as it concerns the CSI driver. */
export interface DriverPodView {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly graceSeconds: number;
  readonly containers: readonly ContainerView[];
}

export interface StatefulSetView {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  readonly claimTemplates: readonly string[];
}

/** A bound PersistentVolume: whose claim it is, and the zones it may be attached in. */
export interface BoundVolumeView {
  readonly name: string;
  /** `namespace/name`. */
  readonly claim?: string;
  readonly driver?: string;
  /** Empty: not confined to zones. */
  readonly zones: readonly string[];
}

export interface ZoneNodeView {
  readonly name: string;
  readonly zone?: string;
  readonly isUsable: boolean;
}

export interface AccessAnswer {
  readonly allowed: boolean;
  readonly reason: string;
}

/** One verb on one resource, as the permission tables have it. */
export type AccessQuestion = Omit<RbacRule, "verbs"> & { readonly verb: RbacRule["verbs"][number] };

export interface AccessSubject {
  readonly user: string;
  /** Besides those of everybody who is authenticated. */
  readonly groups: readonly string[];
}

export interface InspectionPort {
  /** `v1.36.2`. */
  readonly getVersion: () => Promise<string>;
  readonly listBudgets: () => Promise<readonly BudgetView[]>;
  readonly listDaemonSets: () => Promise<readonly DaemonSetView[]>;
  readonly listDeployments: () => Promise<readonly WorkloadView[]>;
  /** Pods of a DaemonSet. */
  readonly listDriverPods: (daemonSet: DaemonSetView) => Promise<readonly DriverPodView[]>;
  readonly listStatefulSets: () => Promise<readonly StatefulSetView[]>;
  readonly listBoundVolumes: () => Promise<readonly BoundVolumeView[]>;
  readonly listZoneNodes: () => Promise<readonly ZoneNodeView[]>;
  /** SelfSubjectAccessReview. */
  readonly reviewOwnAccess: (question: AccessQuestion) => Promise<AccessAnswer>;
  /** SubjectAccessReview. */
  readonly reviewAccessOf: (subject: AccessSubject, question: AccessQuestion) => Promise<AccessAnswer>;
}

export type InspectionMethod = keyof InspectionPort;

const create = (resource: string): readonly RbacRule[] => [
  { apiGroup: "authorization.k8s.io", resource, verbs: ["create"] },
];

/** What the operator needs for each; nothing deployed asks for any of it. */
export const INSPECTION_PERMISSIONS: Readonly<Record<InspectionMethod, readonly RbacRule[]>> = {
  getVersion: [],
  listBudgets: [{ apiGroup: "policy", resource: "poddisruptionbudgets", verbs: ["list"] }],
  listDaemonSets: [{ apiGroup: "apps", resource: "daemonsets", verbs: ["list"] }],
  listDeployments: [{ apiGroup: "apps", resource: "deployments", verbs: ["list"] }],
  listDriverPods: [{ apiGroup: "", resource: "pods", verbs: ["list"] }],
  listStatefulSets: [{ apiGroup: "apps", resource: "statefulsets", verbs: ["list"] }],
  listBoundVolumes: [{ apiGroup: "", resource: "persistentvolumes", verbs: ["list"] }],
  listZoneNodes: [{ apiGroup: "", resource: "nodes", verbs: ["list"] }],
  reviewOwnAccess: create("selfsubjectaccessreviews"),
  reviewAccessOf: create("subjectaccessreviews"),
};

/** As the API server selects: every label and every expression; an empty selector selects all of the namespace. */
export function isSelected(
  selector: SelectorView | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (selector === undefined) return false;
  const hasLabels = Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && selector.matchExpressions.every((expression) => isMatch(expression, labels));
}

function isMatch(
  { key, operator, values }: SelectorView["matchExpressions"][number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
