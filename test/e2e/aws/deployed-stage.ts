/**
 * What the deployment's tests share: the product's own CDK app deployed into the local AWS, its functions at work on a real control
 * plane that knows their roles by EKS tokens and access entries, and machines on demand.
 */
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateClusterCommand, EKSClient } from "@aws-sdk/client-eks";
import { LambdaClient, ListFunctionsCommand } from "@aws-sdk/client-lambda";
import { KUBERNETES_GROUP, LIFECYCLE_HOOK } from "../../../lib/drain/names.ts";
import type { BusEvent } from "../../../lib/sim/event-bridge.ts";
import type { ApiClient } from "../api-client.ts";
import { AuditLog } from "../audit-log.ts";
import { type ControlPlane, startControlPlane } from "../control-plane.ts";
import { createAll } from "../create-all.ts";
import { Timeline } from "../drain-timeline.ts";
import { grantRoles } from "../grant-roles.ts";
import { KubeletFleet } from "../kubelet-fleet.ts";
import { type Machine, type MachineOptions, Machines } from "../machines.ts";
import { freePorts } from "../ports.ts";
import { GROUP, Region } from "../region.ts";
import { stateRoot } from "../run-settings.ts";
import { ebsStorage } from "../volume-objects.ts";
import { ACCOUNT, CLUSTER, OTHER_CLUSTER, REGION } from "./account.ts";
import { Cdk } from "./cdk.ts";
import { DeployedFunctions } from "./deployed-functions.ts";
import { type Inventory, takeInventory } from "./inventory.ts";
import { LocalAws, type RootClient } from "./local-aws.ts";
import { callJson, callQuery, textsOf } from "./service-call.ts";
import { TokenWebhook } from "./token-webhook.ts";

/** The deployment's configuration file; what is left out keeps its default. */
export const CONFIGURATION = {
  account: ACCOUNT,
  region: REGION,
  clusters: [{ name: CLUSTER, groups: [GROUP] }],
  // Whatever a test takes away or stops, no action runs out meanwhile.
  policy: { heartbeatTimeout: 600 },
  monitoring: { alarmTopicArn: `arn:aws:sns:${REGION}:${ACCOUNT}:on-call` },
} as const;

/** For a test file's beginning: a control plane, a bootstrap and a deployment, on a machine that has other things to do. */
export const SET_UP_MS = 600_000;

interface Parts {
  readonly directory: string;
  readonly region: Region;
  readonly aws: LocalAws;
  readonly webhook: TokenWebhook;
  /** Every request of the functions, as the API server saw it. */
  readonly audit: AuditLog;
  readonly controlPlane: ControlPlane;
  readonly fleet: KubeletFleet;
  readonly timeline: Timeline;
  readonly clients: { readonly eks: EKSClient; readonly lambda: LambdaClient };
}

export class DeployedStage {
  readonly region: Region;
  readonly aws: LocalAws;
  readonly webhook: TokenWebhook;
  /** Every request of the functions, as the API server saw it. */
  readonly audit: AuditLog;
  readonly controlPlane: ControlPlane;
  readonly fleet: KubeletFleet;
  readonly timeline: Timeline;
  readonly machines: Machines;
  readonly cdk: Cdk;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.region = parts.region;
    this.aws = parts.aws;
    this.webhook = parts.webhook;
    this.audit = parts.audit;
    this.controlPlane = parts.controlPlane;
    this.fleet = parts.fleet;
    this.timeline = parts.timeline;
    this.machines = new Machines(parts.region, parts.fleet);
    this.cdk = new Cdk(parts.aws.url, parts.directory);
    this.#parts = parts;
    parts.region.deliver = (event) => void this.putEvent(event);
  }

  /** Everything but the deployment: an account with two EKS clusters and two groups that nobody cares for. */
  static async start(): Promise<DeployedStage> {
    const directory = await mkdtemp(path.join(stateRoot() ?? tmpdir(), "ebs-drain-deployment-"));
    const [port = 0] = await freePorts(1);
    const client = LocalAws.clientAt(port);
    const clients = { eks: new EKSClient(client), lambda: new LambdaClient(client) };
    const region = await Region.start();
    // The deployment's own hook comes with the deployment.
    region.autoScaling.deleteHook(GROUP, LIFECYCLE_HOOK);
    const stsUrl = client.endpoint;
    const webhook = await TokenWebhook.start({ cluster: CLUSTER, region: REGION, stsUrl, eks: clients.eks });
    // Whoever the access entries put into the drain's group.
    const audit = await AuditLog.create({ userGroups: [KUBERNETES_GROUP] });
    const webhookFlags = await webhook.flags(path.join(directory, "webhook.kubeconfig"));
    const apiServerArgs = [...webhookFlags, ...audit.flags];
    const controlPlane = await startControlPlane({ ec2Url: region.url, apiServerArgs });
    const ca = await readFile(controlPlane.caFile);
    const aws = await LocalAws.start({
      port,
      regionUrl: region.url,
      kubeServer: controlPlane.server,
      kubeCa: ca.toString("base64"),
    });
    await createClusters(client, clients.eks);
    await grantRoles(controlPlane.api);
    await createAll(controlPlane.api, ebsStorage());
    const fleet = await KubeletFleet.create(controlPlane.api);
    const timeline = await Timeline.start(controlPlane.api, region);
    return new DeployedStage({
      directory,
      region,
      aws,
      webhook,
      audit,
      controlPlane,
      fleet,
      timeline,
      clients,
    });
  }

  get api(): ApiClient {
    return this.controlPlane.api;
  }

  readonly launch = (options: MachineOptions): Promise<Machine> => this.machines.launch(options);

  /** Deploys the product's app; its functions. */
  async deploy(configuration: object = CONFIGURATION, cdk = this.cdk): Promise<DeployedFunctions> {
    const outputs = await cdk.deploy(configuration);
    const output = (name: string): string => {
      const value = outputs[name];
      if (value === undefined) throw new Error(`the stack has no output ${name}`);
      return value;
    };
    return new DeployedFunctions(
      {
        drainFunction: output("DrainFunction"),
        dispatchFunction: await this.#functionWithLogs(output("DispatchLogs")),
        drainLogs: output("DrainLogs"),
        dispatchLogs: output("DispatchLogs"),
        unhandled: output("Unhandled"),
        undelivered: output("Undelivered"),
      },
      this.aws.client,
      this.#parts.clients.lambda,
    );
  }

  async #functionWithLogs(logGroup: string): Promise<string> {
    const { Functions = [] } = await this.#parts.clients.lambda.send(new ListFunctionsCommand({}));
    const found = Functions.find(({ LoggingConfig }) => LoggingConfig?.LogGroup === logGroup);
    if (found?.FunctionName === undefined) throw new Error(`no function logs to ${logGroup}`);
    return found.FunctionName;
  }

  /** The CLI for another stack, with files of its own. */
  async anotherCdk(name: string): Promise<Cdk> {
    const directory = path.join(this.#parts.directory, name);
    await mkdir(directory);
    return new Cdk(this.aws.url, directory);
  }

  inventory(): Promise<Inventory> {
    const { eks, lambda } = this.#parts.clients;
    return takeInventory({ root: this.aws.client, eks, lambda, region: this.region });
  }

  /** An event on the account's bus. */
  async putEvent(event: BusEvent): Promise<void> {
    const entry = {
      Source: event.source,
      DetailType: event["detail-type"],
      Detail: JSON.stringify(event.detail),
      Resources: event.resources,
    };
    await callJson(this.aws.client, "events", "PutEvents", { Entries: [entry] });
  }

  /** @throws what went wrong in a kubelet meanwhile */
  async close(): Promise<void> {
    const { directory, clients } = this.#parts;
    await this.region.close();
    await this.timeline.stop();
    await this.aws.close();
    clients.eks.destroy();
    clients.lambda.destroy();
    try {
      await this.fleet.stop();
    } finally {
      await this.controlPlane.stop();
      await this.webhook.close();
      await this.audit.remove();
      if (stateRoot() === undefined) await rm(directory, { recursive: true, force: true });
    }
  }
}

async function createClusters(client: RootClient, eks: EKSClient): Promise<void> {
  const trust = {
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Principal: { Service: "eks.amazonaws.com" }, Action: "sts:AssumeRole" }],
  };
  const role = await callQuery(client, "iam", "CreateRole", {
    RoleName: "eks",
    AssumeRolePolicyDocument: JSON.stringify(trust),
  });
  const [roleArn] = textsOf(role, "Arn");
  for (const name of [CLUSTER, OTHER_CLUSTER]) {
    const network = { subnetIds: ["subnet-1"] };
    await eks.send(new CreateClusterCommand({ name, roleArn, resourcesVpcConfig: network }));
  }
}
