/** The API's objects as an inspection sees them. The input is the API's JSON, plain or as client-node's classes hold it. */
import { conditionOf, given, mapAt, numberAt, objectsAt, textAt, textsAt, at } from "./json-fields.ts";
import type {
  BoundVolumeView,
  BudgetView,
  ContainerView,
  DaemonSetView,
  DriverPodView,
  SelectorView,
  StatefulSetView,
  WorkloadView,
  ZoneNodeView,
} from "./inspection.ts";
import { tolerationView } from "./pod-view.ts";
import { volumeView } from "./storage-views.ts";

const ZONE_LABEL = "topology.kubernetes.io/zone";
/** Labels by which nodes and volumes say their zone: the general one, and the EBS CSI driver's own. */
const ZONE_KEYS = [ZONE_LABEL, "topology.ebs.csi.aws.com/zone", "failure-domain.beta.kubernetes.io/zone"];
const OS_LABEL = "kubernetes.io/os";
/** What the API server fills in where a template names no grace. */
const DEFAULT_GRACE = 30;

export function budgetView(budget: unknown): BudgetView {
  return {
    ...nameOf(budget),
    ...given("selector", selectorView(at(budget, "spec", "selector"))),
    disruptionsAllowed: numberAt(budget, "status", "disruptionsAllowed") ?? 0,
    currentHealthy: numberAt(budget, "status", "currentHealthy") ?? 0,
    desiredHealthy: numberAt(budget, "status", "desiredHealthy") ?? 0,
    expectedPods: numberAt(budget, "status", "expectedPods") ?? 0,
  };
}

export function daemonSetView(set: unknown): DaemonSetView {
  const pod = at(set, "spec", "template", "spec");
  return {
    ...nameOf(set),
    ...given("selector", selectorView(at(set, "spec", "selector"))),
    containers: containersOf(pod),
    graceSeconds: numberAt(pod, "terminationGracePeriodSeconds") ?? DEFAULT_GRACE,
    tolerations: objectsAt(pod, "tolerations").map(tolerationView),
    ...given("os", mapAt(pod, "nodeSelector")[OS_LABEL] ?? osOfAffinity(pod)),
  };
}

export function deploymentView(deployment: unknown): WorkloadView {
  return {
    kind: "Deployment",
    ...nameOf(deployment),
    replicas: numberAt(deployment, "spec", "replicas") ?? 1,
    containers: containersOf(at(deployment, "spec", "template", "spec")),
  };
}

/** The upstream chart selects the system by affinity. */
function osOfAffinity(pod: unknown): string | undefined {
  const path = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
  return objectsAt(pod, ...path, "nodeSelectorTerms")
    .flatMap((term) => objectsAt(term, "matchExpressions"))
    .filter((expression) => textAt(expression, "key") === OS_LABEL)
    .flatMap((expression) => textsAt(expression, "values"))[0];
}

export function driverPodView(pod: unknown): DriverPodView {
  return {
    ...nameOf(pod),
    nodeName: textAt(pod, "spec", "nodeName") ?? "",
    serviceAccount: textAt(pod, "spec", "serviceAccountName") ?? "default",
    labels: mapAt(pod, "metadata", "labels"),
    graceSeconds: numberAt(pod, "spec", "terminationGracePeriodSeconds") ?? DEFAULT_GRACE,
    containers: containersOf(at(pod, "spec")),
  };
}

function containersOf(podSpec: unknown): readonly ContainerView[] {
  return objectsAt(podSpec, "containers").map((container) => ({
    name: textAt(container, "name") ?? "",
    image: textAt(container, "image") ?? "",
    args: [...textsAt(container, "command"), ...textsAt(container, "args")],
    env: Object.fromEntries(
      objectsAt(container, "env").flatMap((variable) => {
        const [name, value] = [textAt(variable, "name"), textAt(variable, "value")];
        return name === undefined || value === undefined ? [] : [[name, value] as const];
      }),
    ),
    ...given("preStop", preStopOf(at(container, "lifecycle", "preStop"))),
  }));
}

function preStopOf(handler: unknown): ContainerView["preStop"] {
  if (handler === undefined || handler === null) return undefined;
  if (at(handler, "exec") !== undefined) return "exec";
  return at(handler, "httpGet") === undefined ? "other" : "httpGet";
}

export function statefulSetView(set: unknown): StatefulSetView {
  return {
    ...nameOf(set),
    replicas: numberAt(set, "spec", "replicas") ?? 1,
    claimTemplates: objectsAt(set, "spec", "volumeClaimTemplates").flatMap(
      (template) => textAt(template, "metadata", "name") ?? [],
    ),
  };
}

export function boundVolumeView(volume: unknown): BoundVolumeView {
  const [namespace, claim] = [
    textAt(volume, "spec", "claimRef", "namespace"),
    textAt(volume, "spec", "claimRef", "name"),
  ];
  const zones = objectsAt(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
    .flatMap((term) => objectsAt(term, "matchExpressions"))
    .filter((expression) => ZONE_KEYS.includes(textAt(expression, "key") ?? ""))
    .flatMap((expression) => textsAt(expression, "values"));
  return {
    name: textAt(volume, "metadata", "name") ?? "",
    ...given("claim", namespace === undefined || claim === undefined ? undefined : `${namespace}/${claim}`),
    ...given("driver", volumeView(volume).driver),
    zones: [...new Set(zones)],
  };
}

export function zoneNodeView(node: unknown): ZoneNodeView {
  const labels = mapAt(node, "metadata", "labels");
  const isReady = conditionOf(node, "Ready")?.["status"] === "True";
  return {
    name: textAt(node, "metadata", "name") ?? "",
    ...given("zone", ZONE_KEYS.flatMap((key) => labels[key] ?? [])[0]),
    isUsable: isReady && at(node, "spec", "unschedulable") !== true,
  };
}

function selectorView(selector: unknown): SelectorView | undefined {
  if (selector === undefined || selector === null) return undefined;
  return {
    matchLabels: mapAt(selector, "matchLabels"),
    matchExpressions: objectsAt(selector, "matchExpressions").map((expression) => ({
      key: textAt(expression, "key") ?? "",
      operator: textAt(expression, "operator") ?? "",
      values: textsAt(expression, "values"),
    })),
  };
}

/** As a request's `labelSelector`. */
export function selectorText(selector: SelectorView | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (selector?.matchExpressions ?? []).map(({ key, operator, values }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${values.join(",")})`;
  });
  return [...labels, ...expressions].join(",");
}

function nameOf(object: unknown): { readonly namespace: string; readonly name: string } {
  return {
    namespace: textAt(object, "metadata", "namespace") ?? "",
    name: textAt(object, "metadata", "name") ?? "",
  };
}
