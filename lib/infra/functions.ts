/** The two functions, each with its role, log group and alias. */
import { Annotations, Duration, RemovalPolicy } from "aws-cdk-lib";
import { Policy, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type {
  AliasOptions,
  CfnFunction,
  DurableConfig,
  FunctionOptions,
  IAlias,
  IVersion,
} from "aws-cdk-lib/aws-lambda";
import {
  Alias,
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from "aws-cdk-lib/aws-lambda";
import { NodejsFunction } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { BUNDLING, PROJECT, bundleOf, entryOf } from "./bundles.ts";
import type { Grant } from "./grants.ts";
import { allow } from "./grants.ts";
import type { FunctionsVpc } from "./props.ts";

export interface FunctionProps {
  readonly source: "dispatch" | "drain";
  readonly environment: Readonly<Record<string, string>>;
  readonly grants: readonly Grant[];
  readonly deadLetters: IQueue;
  readonly vpc: FunctionsVpc | undefined;
  readonly durable?: DurableConfig;
  /** How often Lambda repeats an event that failed. */
  readonly retryAttempts: 0 | 1 | 2;
}

/** Events older than this are dead letters: the sweep has seen to what they told long before. */
export const OLDEST_EVENT = Duration.hours(1);

/** A look's ten calls take at most about a minute where nothing answers; the sweep makes more, a few at a time. */
const TIMEOUT = Duration.minutes(2);
/** The bundle alone takes 130 MB; more memory is also more CPU for the cold start. */
const MEMORY = 512;
const ALIAS = "live";

/** Interfaces are made by Lambda with the function's own rights. */
const VPC_GRANT: Grant = {
  actions: [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
  ],
  resources: ["*"],
  wildcard: "Lambda checks these actions on all resources before it puts a function into a VPC.",
};

/** A function that is invoked through its alias only. No concurrency is reserved: in a new account there is none to spare. */
export class AliasedFunction extends Construct {
  readonly role: Role;
  readonly code: LambdaFunction;
  readonly alias: IAlias;

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { durable, vpc } = props;
    const logGroup = new LogGroup(this, "Logs", {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    const policy = new Policy(this, "Policy", { roles: [this.role] });
    allow(policy, logGrant(logGroup));
    for (const grant of [...props.grants, ...(vpc === undefined ? [] : [VPC_GRANT])]) allow(policy, grant);
    this.code = functionOf(this, "Code", props.source, { ...settingsOf(props), role: this.role, logGroup });
    this.code.node.addDependency(policy);
    if (vpc !== undefined) this.#putInto(vpc);
    this.alias = this.#aliasWith({ retryAttempts: props.retryAttempts, maxEventAge: OLDEST_EVENT });
    if (durable !== undefined) this.#allowCheckpoints();
  }

  /** On the alias, whose invocations the configuration of the function does not govern. */
  #aliasWith(options: AliasOptions): IAlias {
    // CDK's types differ from its interfaces where an optional property may also be given as undefined.
    const version = this.code.currentVersion as IVersion;
    return new Alias(this, "Alias", { aliasName: ALIAS, version, ...options }) as IAlias;
  }

  /** By plain ids: a VPC construct would have to be looked up. */
  #putInto({ subnetIds, securityGroupIds }: FunctionsVpc): void {
    const resource = this.code.node.defaultChild as CfnFunction;
    resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
  }

  /** A policy of its own: it names the function, which waits for its other policy. */
  #allowCheckpoints(): void {
    Annotations.of(this.code).acknowledgeInfo(
      "aws-lambda:Function.DurableConfig",
      "The function is durable from its first deployment; none is replaced.",
    );
    const policy = new Policy(this, "Checkpoints", { roles: [this.role] });
    allow(policy, {
      actions: ["lambda:CheckpointDurableExecution", "lambda:GetDurableExecutionState"],
      resources: [`${this.code.functionArn}:*`],
      wildcard: "Executions run on any version of this one function, and checkpoint there.",
    });
    this.alias.node.addDependency(policy);
  }
}

/** Bundled already where this is the package, else now. */
function functionOf(
  scope: Construct,
  id: string,
  source: FunctionProps["source"],
  options: FunctionOptions & { readonly runtime: Runtime },
): LambdaFunction {
  const bundle = bundleOf(source);
  return bundle === undefined
    ? new NodejsFunction(scope, id, {
        ...options,
        entry: entryOf(source),
        projectRoot: PROJECT,
        depsLockFilePath: `${PROJECT}package-lock.json`,
        bundling: BUNDLING,
      })
    : new LambdaFunction(scope, id, { ...options, handler: "index.handler", code: Code.fromAsset(bundle) });
}

function settingsOf({
  environment,
  deadLetters,
  durable,
}: FunctionProps): FunctionOptions & { readonly runtime: Runtime } {
  return {
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    timeout: TIMEOUT,
    memorySize: MEMORY,
    environment: { ...environment, NODE_OPTIONS: "--enable-source-maps" },
    // Our own lines are JSON and stay as they are; this makes Lambda's the same.
    loggingFormat: LoggingFormat.JSON,
    deadLetterQueue: deadLetters,
    // A running execution stays on the version it began with.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN },
    ...(durable === undefined ? {} : { durableConfig: durable }),
  };
}

function logGrant(logGroup: LogGroup): Grant {
  return { actions: ["logs:CreateLogStream", "logs:PutLogEvents"], resources: [logGroup.logGroupArn] };
}
