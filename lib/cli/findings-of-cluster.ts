/** Version, and the rights of whoever asks, of the functions, and of the hook. */
import { KUBERNETES_GROUP, PRODUCT } from "../drain/names.ts";
import {
  CLUSTER_PERMISSIONS,
  CSI_NAMESPACE,
  HOOK_PERMISSIONS,
  type RbacRule,
} from "../engine/permissions.ts";
import type {
  AccessAnswer,
  AccessQuestion,
  AccessSubject,
  DriverPodView,
  InspectionPort,
} from "../kubernetes/inspection.ts";
import { questionsOf, rightText } from "./drain-rights.ts";
import { type Finding, lookedAt, ok, problem } from "./finding.ts";

/** The out-of-service taint is stable since then; before, volumes of a dead machine wait six minutes and more. */
const OUT_OF_SERVICE_SINCE = 28;

export async function findingsOfVersion(inspection: InspectionPort): Promise<readonly Finding[]> {
  const version = await inspection.getVersion();
  const minor = Number(/^v?1\.(\d+)/.exec(version)?.[1]);
  if (minor >= OUT_OF_SERVICE_SINCE) {
    return [
      ok(
        "cluster",
        `Kubernetes ${version}: reached, and its controller manager heeds the out-of-service taint (D14)`,
      ),
    ];
  }
  return [
    problem(
      "cluster",
      "warning",
      `Kubernetes ${version}`,
      `before 1.${OUT_OF_SERVICE_SINCE} the controller manager may not heed the out-of-service taint: volumes of a dead machine wait 6 minutes and more`,
      "aws eks update-cluster-version --name CLUSTER --kubernetes-version 1.34",
    ),
  ];
}

/** SelfSubjectAccessReview for each verb of the permission table. */
export async function findingsOfOwnRights(inspection: InspectionPort): Promise<readonly Finding[]> {
  const missing = await missingOf(Object.values(CLUSTER_PERMISSIONS).flat(), (question) =>
    inspection.reviewOwnAccess(question),
  );
  if (missing.length === 0) return [ok("rights", "you may all that a drain needs")];
  return [
    problem(
      "rights",
      "warning",
      `you may not ${missing.join(", ")}`,
      "`drain` needs it when you run it; the deployed functions have rights of their own",
      `${PRODUCT} install rbac | kubectl apply -f -   # then bind your user or group to ClusterRole ${PRODUCT}`,
    ),
  ];
}

/** The same for the group that the functions' access entry maps to. */
export async function findingsOfGroupRights(inspection: InspectionPort): Promise<readonly Finding[]> {
  const subject = { user: PRODUCT, groups: [KUBERNETES_GROUP] };
  const missing = await missingOf(Object.values(CLUSTER_PERMISSIONS).flat(), (question) =>
    inspection.reviewAccessOf(subject, question),
  );
  if (missing.length === 0) return [ok("rights", `group ${KUBERNETES_GROUP} may all that a drain needs`)];
  return [
    problem(
      "rights",
      "error",
      `group ${KUBERNETES_GROUP} may not ${missing.join(", ")}`,
      "the functions come as members of this group; without the rights a drain is blind (D17) or cannot evict",
      `${PRODUCT} install rbac | kubectl apply -f -`,
    ),
  ];
}

/** Of the service account under which a pod with the hook runs. */
export async function findingsOfHookRights(
  inspection: InspectionPort,
  { namespace, serviceAccount }: DriverPodView,
): Promise<readonly Finding[]> {
  const subject: AccessSubject = {
    user: `system:serviceaccount:${namespace}:${serviceAccount}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
  };
  const rules = Object.values(HOOK_PERMISSIONS)
    .flat()
    .map((rule) => (rule.namespace === CSI_NAMESPACE ? { ...rule, namespace } : rule));
  return lookedAt("rights", async () => {
    const missing = await missingOf(rules, (question) => inspection.reviewAccessOf(subject, question));
    if (missing.length === 0) return [ok("rights", `the hook (${serviceAccount}) may all that it needs`)];
    return [
      problem(
        "rights",
        "error",
        `the hook (${serviceAccount}) may not ${missing.join(", ")}`,
        "it cannot see the node's volumes then, and holds until its own deadline",
        `${PRODUCT} install rbac --for hook --namespace ${namespace} --service-account ${serviceAccount} | kubectl apply -f -`,
      ),
    ];
  });
}

async function missingOf(
  rules: readonly RbacRule[],
  ask: (question: AccessQuestion) => Promise<AccessAnswer>,
): Promise<readonly string[]> {
  const questions = new Map(questionsOf(rules).map((question) => [rightText(question), question]));
  const answers = await Promise.all(
    [...questions].map(async ([text, question]) => ({ text, ...(await ask(question)) })),
  );
  return answers.filter(({ allowed }) => !allowed).map(({ text }) => text);
}
