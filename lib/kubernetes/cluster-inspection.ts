/** InspectionPort over the Kubernetes API. */
import { AppsV1Api, AuthorizationV1Api, CoreV1Api, PolicyV1Api, VersionApi } from "@kubernetes/client-node";
import { type Ask, asking } from "./calls.ts";
import type { ClusterConnection } from "./connection.ts";
import type { AccessAnswer, AccessQuestion, InspectionPort } from "./inspection.ts";
import {
  boundVolumeView,
  budgetView,
  daemonSetView,
  deploymentView,
  driverPodView,
  selectorText,
  statefulSetView,
  zoneNodeView,
} from "./inspection-views.ts";
import { listPages } from "./pages.ts";

const PAGE = 500;

/** Over a connection that somebody else closes. Every method rejects with a PortError and nothing else. */
export function createInspectionPort(connection: ClusterConnection): InspectionPort {
  const ask = asking(connection);
  return { ...lists(connection, ask), ...reviews(connection, ask) };
}

interface List {
  readonly items: readonly unknown[];
  readonly metadata?: { readonly _continue?: string };
}

function lists(connection: ClusterConnection, ask: Ask) {
  const core = connection.makeApiClient(CoreV1Api);
  const apps = connection.makeApiClient(AppsV1Api);
  const policy = connection.makeApiClient(PolicyV1Api);
  const version = connection.makeApiClient(VersionApi);
  const all = (request: (page: { limit: number; _continue?: string }) => Promise<List>) =>
    listPages(async (next) => {
      const list = await request({ limit: PAGE, ...(next === undefined ? {} : { _continue: next }) });
      const { _continue: after } = list.metadata ?? {};
      return { items: list.items, next: after };
    });
  return {
    getVersion: async () =>
      (await ask("getVersion", "read of the version", () => version.getCode())).gitVersion,
    listBudgets: async () => {
      const found = await ask("listBudgets", "list of PodDisruptionBudgets", () =>
        all((page) => policy.listPodDisruptionBudgetForAllNamespaces(page)),
      );
      return found.map(budgetView);
    },
    listDaemonSets: async () => {
      const found = await ask("listDaemonSets", "list of DaemonSets", () =>
        all((page) => apps.listDaemonSetForAllNamespaces(page)),
      );
      return found.map(daemonSetView);
    },
    listDeployments: async () => {
      const found = await ask("listDeployments", "list of Deployments", () =>
        all((page) => apps.listDeploymentForAllNamespaces(page)),
      );
      return found.map(deploymentView);
    },
    listDriverPods: async ({ namespace, name, selector }) => {
      const labelSelector = selectorText(selector);
      const found = await ask("listDriverPods", `list of the pods of DaemonSet ${namespace}/${name}`, () =>
        all((page) => core.listNamespacedPod({ namespace, labelSelector, ...page })),
      );
      return found.map(driverPodView);
    },
    listStatefulSets: async () => {
      const found = await ask("listStatefulSets", "list of StatefulSets", () =>
        all((page) => apps.listStatefulSetForAllNamespaces(page)),
      );
      return found.map(statefulSetView);
    },
    listBoundVolumes: async () => {
      const found = await ask("listBoundVolumes", "list of PersistentVolumes", () =>
        all((page) => core.listPersistentVolume(page)),
      );
      return found.map(boundVolumeView);
    },
    listZoneNodes: async () => {
      const found = await ask("listZoneNodes", "list of Nodes", () => all((page) => core.listNode(page)));
      return found.map(zoneNodeView);
    },
  } satisfies Partial<InspectionPort>;
}

function reviews(connection: ClusterConnection, ask: Ask) {
  const api = connection.makeApiClient(AuthorizationV1Api);
  return {
    reviewOwnAccess: async (question) => {
      const body = { spec: { resourceAttributes: attributesOf(question) } };
      const { status } = await ask("reviewOwnAccess", "review of one's own rights", () =>
        api.createSelfSubjectAccessReview({ body }),
      );
      return answerOf(status);
    },
    reviewAccessOf: async ({ user, groups }, question) => {
      const all = [...groups, "system:authenticated"];
      const body = { spec: { user, groups: all, resourceAttributes: attributesOf(question) } };
      const { status } = await ask("reviewAccessOf", `review of the rights of ${user}`, () =>
        api.createSubjectAccessReview({ body }),
      );
      return answerOf(status);
    },
  } satisfies Partial<InspectionPort>;
}

function attributesOf({ apiGroup, resource, verb, namespace }: AccessQuestion) {
  const [name = "", subresource] = resource.split("/");
  return {
    group: apiGroup,
    resource: name,
    verb,
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

function answerOf(status: { readonly allowed: boolean; readonly reason?: string } | undefined): AccessAnswer {
  return { allowed: status?.allowed === true, reason: status?.reason ?? "" };
}
