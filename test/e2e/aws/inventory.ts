/** Everything that a deployment makes and could leave behind in the account, by kind and name. */
import type { EKSClient } from "@aws-sdk/client-eks";
import { ListAccessEntriesCommand, ListPodIdentityAssociationsCommand } from "@aws-sdk/client-eks";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { ListFunctionsCommand } from "@aws-sdk/client-lambda";
import type { Region } from "../region.ts";
import { CLUSTER, OTHER_CLUSTER } from "./account.ts";
import type { RootClient } from "./local-aws.ts";
import { callJson, callQuery, getJson, textsOf } from "./service-call.ts";

export interface InventoryClients {
  readonly root: RootClient;
  readonly eks: EKSClient;
  readonly lambda: LambdaClient;
  readonly region: Region;
}

export type Inventory = Readonly<Record<string, readonly string[]>>;

export async function takeInventory({ root, eks, lambda, region }: InventoryClients): Promise<Inventory> {
  const { Rules } = await callJson<{ Rules: { Name: string }[] }>(root, "events", "ListRules", {});
  const { QueueUrls = [] } = await callJson<{ QueueUrls?: string[] }>(root, "sqs", "ListQueues", {});
  const { logGroups } = await callJson<{ logGroups: { logGroupName: string }[] }>(
    root,
    "logs",
    "DescribeLogGroups",
    {},
  );
  const { Schedules } = await getJson<{ Schedules: { Name: string }[] }>(root, "scheduler", "/schedules");
  const { Functions = [] } = await lambda.send(new ListFunctionsCommand({}));
  const alarms = await listAlarms(root);
  const { DashboardEntries } = await callJson<{ DashboardEntries: { DashboardName: string }[] }>(
    root,
    "monitoring",
    "ListDashboards",
    {},
  );
  const hooks = region.autoScaling
    .describeGroups()
    .flatMap((group) => group.hooks.map((hook) => `${group.name} ${hook.name}`));
  const found: Inventory = {
    functions: Functions.map(({ FunctionName = "" }) => FunctionName),
    rules: Rules.map(({ Name }) => Name),
    schedules: Schedules.map(({ Name }) => Name),
    queues: QueueUrls,
    "log groups": logGroups.map(({ logGroupName }) => logGroupName),
    roles: textsOf(await callQuery(root, "iam", "ListRoles"), "RoleName"),
    alarms: alarms.map(({ AlarmName }) => AlarmName),
    dashboards: DashboardEntries.map(({ DashboardName }) => DashboardName),
    "lifecycle hooks": hooks,
    ...(await clusterAccess(eks)),
  };
  return Object.fromEntries(Object.entries(found).map(([kind, names]) => [kind, names.toSorted()]));
}

export async function listAlarms(
  root: RootClient,
): Promise<readonly { readonly AlarmName: string; readonly AlarmDescription: string }[]> {
  const { MetricAlarms } = await callJson<{
    MetricAlarms: { AlarmName: string; AlarmDescription: string }[];
  }>(root, "monitoring", "DescribeAlarms", { MaxRecords: 100 });
  return MetricAlarms;
}

async function clusterAccess(eks: EKSClient): Promise<Inventory> {
  const entries: string[] = [];
  const associations: string[] = [];
  for (const clusterName of [CLUSTER, OTHER_CLUSTER]) {
    const { accessEntries = [] } = await eks.send(new ListAccessEntriesCommand({ clusterName }));
    const listed = await eks.send(new ListPodIdentityAssociationsCommand({ clusterName }));
    entries.push(...accessEntries.map((principal) => `${clusterName} ${principal}`));
    associations.push(
      ...(listed.associations ?? []).map(({ associationId }) => `${clusterName} ${associationId}`),
    );
  }
  return { "access entries": entries, "pod identities": associations };
}
