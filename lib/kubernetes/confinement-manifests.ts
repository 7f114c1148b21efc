/**
 * A ValidatingAdmissionPolicy that confines the drain's Kubernetes group to the acts of a drain. RBAC grants verbs on whole objects:
 * who may patch a Node's cordon may patch its labels. Everything that is not listed here is refused, whatever roles the group has.
 */
import { stringify } from "yaml";
import {
  DISRUPTION_REASON,
  KUBERNETES_GROUP,
  OUT_OF_SERVICE_TAINT,
  PRODUCT,
  WORK_ANNOTATION,
} from "../drain/names.ts";

export interface Validation {
  readonly expression: string;
  readonly message: string;
}

export interface PolicyObject {
  readonly apiVersion: "admissionregistration.k8s.io/v1";
  readonly kind: "ValidatingAdmissionPolicy" | "ValidatingAdmissionPolicyBinding";
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const API = "admissionregistration.k8s.io/v1";

const HEADER = `# Confines ${PRODUCT}'s Kubernetes group "${KUBERNETES_GROUP}" to what a drain does. Optional: RBAC holds without it.
# Made by \`npm run manifests\`; edits here are lost.
`;

/** Operation, API group, resource and subresource. */
const NODE = "UPDATE /nodes";
const EVICTION = "CREATE /pods/eviction";
const DELETION = "DELETE /pods";
const POD_STATUS = "UPDATE /pods/status";
const EVENT = "CREATE /events";
/** Questions about oneself, which change nothing. */
const QUESTIONS = [
  "CREATE authorization.k8s.io/selfsubjectaccessreviews",
  "CREATE authorization.k8s.io/selfsubjectrulesreviews",
  "CREATE authentication.k8s.io/selfsubjectreviews",
];
const ACTS = [NODE, EVICTION, DELETION, POD_STATUS, EVENT, ...QUESTIONS];

/** Values of our taint: work ids (lib/drain/task.ts). */
const WORK_ID = "^(lifecycle|spot|gone)-i-[0-9a-f]+-";

/** The policy, and its binding to the whole cluster. */
export function confinementManifests(): readonly PolicyObject[] {
  const metadata = { name: PRODUCT };
  return [
    { apiVersion: API, kind: "ValidatingAdmissionPolicy", metadata, spec: policySpec() },
    {
      apiVersion: API,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: PRODUCT, validationActions: ["Deny"] },
    },
  ];
}

/** As a file for `kubectl apply`. */
export function confinementYaml(): string {
  return (
    HEADER +
    confinementManifests()
      .map((manifest) => stringify(manifest, { lineWidth: 0 }))
      .join("---\n")
  );
}

function policySpec(): PolicyObject["spec"] {
  return {
    // An expression that fails must not let through what it could not judge.
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"], scope: "*" },
      ],
    },
    matchConditions: [
      {
        name: "is-the-drain",
        expression: `has(request.userInfo.groups) && '${KUBERNETES_GROUP}' in request.userInfo.groups`,
      },
    ],
    variables: [
      {
        name: "subresource",
        expression: "has(request.subResource) && request.subResource != '' ? '/' + request.subResource : ''",
      },
      {
        name: "act",
        expression:
          "request.operation + ' ' + request.resource.group + '/' + request.resource.resource + variables.subresource",
      },
    ],
    // 403, as of RBAC: it does not pass by itself, and the alarm for it is the same.
    validations: [
      {
        expression: `variables.act in [${ACTS.map((act) => `'${act}'`).join(", ")}]`,
        message: "a drain does not do this",
      },
      ...ofNodes(),
      ...ofEvictions(),
      ...ofDeletions(),
      ...ofPodStatus(),
      when(
        EVENT,
        `object.involvedObject.kind == 'Node' && has(object.source) && object.source.component == '${PRODUCT}'`,
        "a drain tells its own Events, of Nodes only",
      ),
    ].map((validation) => ({ ...validation, reason: "Forbidden" })),
  };
}

function ofNodes(): readonly Validation[] {
  const others = (of: string): string =>
    `(has(${of}) ? ${of}.filter(t, t.key != '${OUT_OF_SERVICE_TAINT}') : [])`;
  const taken = (of: string): string =>
    `(has(${of}) ? ${of}.filter(t, t.key == '${OUT_OF_SERVICE_TAINT}') : [])`;
  const [now, before] = ["object.spec.taints", "oldObject.spec.taints"] as const;
  const isOurs = `(has(t.value) && t.value.matches('${WORK_ID}') && t.effect == 'NoExecute')`;
  return [
    when(
      NODE,
      sameBut("object.spec", "oldObject.spec", ["taints", "unschedulable"]),
      "of a Node's spec a drain changes the cordon and the out-of-service taint only",
    ),
    when(NODE, `${others(now)} == ${others(before)}`, `a drain changes no taint but ${OUT_OF_SERVICE_TAINT}`),
    when(
      NODE,
      `${taken(now)}.all(t, t in ${taken(before)} || ${isOurs}) && ${taken(before)}.all(t, t in ${taken(now)} || ${isOurs})`,
      "a drain sets and takes off only an out-of-service taint of its own",
    ),
    when(
      NODE,
      sameMetadata([WORK_ANNOTATION]),
      `of a Node's metadata a drain changes ${WORK_ANNOTATION} only`,
    ),
  ];
}

function ofEvictions(): readonly Validation[] {
  const options = "object.deleteOptions";
  return [
    when(
      EVICTION,
      `has(${options}) && ${hasUid(options)} && (!has(${options}.gracePeriodSeconds) || ${options}.gracePeriodSeconds >= 1)`,
      "a drain evicts the pod that it saw, by uid, and gives it time",
    ),
  ];
}

function ofDeletions(): readonly Validation[] {
  const ours = `c.type == 'DisruptionTarget' && c.status == 'True' && has(c.reason) && c.reason == '${DISRUPTION_REASON}'`;
  const isFailedByUs = `(has(oldObject.status.conditions) && oldObject.status.conditions.exists(c, ${ours}))`;
  // The API server has filled in the pod's own where the request says none.
  const hasItsTime =
    "!has(request.options.gracePeriodSeconds) || request.options.gracePeriodSeconds >= oldObject.spec.terminationGracePeriodSeconds";
  const isOver = "(has(oldObject.status.phase) && oldObject.status.phase in ['Succeeded', 'Failed'])";
  return [
    when(
      DELETION,
      `has(request.options) && ${hasUid("request.options")}`,
      "a drain deletes the pod that it saw, by uid",
    ),
    when(
      DELETION,
      `${hasItsTime} || ${isFailedByUs} || ${isOver}`,
      "a drain shortens a pod's grace only where its machine is gone and its status says so, or where the pod has ended",
    ),
  ];
}

function ofPodStatus(): readonly Validation[] {
  const [now, before] = ["object.status.conditions", "oldObject.status.conditions"] as const;
  const others = (of: string): string => `(has(${of}) ? ${of}.filter(c, c.type != 'DisruptionTarget') : [])`;
  const ours = `c.type == 'DisruptionTarget' && c.status == 'True' && c.reason == '${DISRUPTION_REASON}'`;
  return [
    when(
      POD_STATUS,
      `object.status.phase == 'Failed' && has(${now}) && ${now}.exists(c, ${ours})`,
      "a drain fails a pod, with its own DisruptionTarget, and writes no other status",
    ),
    when(
      POD_STATUS,
      `${sameBut("object.status", "oldObject.status", ["phase", "conditions"])} && ${others(now)} == ${others(before)}`,
      "of a pod's status a drain changes the phase and DisruptionTarget only",
    ),
    when(POD_STATUS, sameMetadata([]), "a drain changes nothing of a pod's metadata"),
  ];
}

/** Holds for this act only; others have their own rules. */
function when(act: string, expression: string, message: string): Validation {
  return { expression: `variables.act != '${act}' || (${expression})`, message };
}

function hasUid(options: string): string {
  return `has(${options}.preconditions) && has(${options}.preconditions.uid)`;
}

/** Both maps are equal but for these keys. */
function sameBut(now: string, before: string, keys: readonly string[]): string {
  const free = `[${keys.map((key) => `'${key}'`).join(", ")}]`;
  const isFree = keys.length === 0 ? "" : `k in ${free} || `;
  return (
    `${now}.all(k, ${isFree}(k in ${before} && ${now}[k] == ${before}[k])) && ` +
    `${before}.all(k, ${isFree}k in ${now})`
  );
}

/** What people and controllers keep in metadata; the rest is the API server's own. */
function sameMetadata(annotations: readonly string[]): string {
  const given = (of: string, field: string): string =>
    `(has(${of}.metadata.${field}) ? ${of}.metadata.${field} : {})`;
  const list = (of: string, field: string): string =>
    `(has(${of}.metadata.${field}) ? ${of}.metadata.${field} : [])`;
  return [
    `${given("object", "labels")} == ${given("oldObject", "labels")}`,
    sameBut(given("object", "annotations"), given("oldObject", "annotations"), annotations),
    ...["finalizers", "ownerReferences"].map(
      (field) => `${list("object", field)} == ${list("oldObject", field)}`,
    ),
  ].join(" && ");
}
