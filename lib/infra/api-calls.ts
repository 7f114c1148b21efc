/** Requests that CloudFormation makes for us when it deploys, for what it has no resource type for. */
import { RemovalPolicy, Stack, Validations } from "aws-cdk-lib";
import type { IRole, Policy } from "aws-cdk-lib/aws-iam";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { AwsSdkCall } from "aws-cdk-lib/custom-resources";
import { AwsCustomResource, AwsCustomResourcePolicy } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import type { Grant } from "./grants.ts";
import { acknowledgeWildcards } from "./grants.ts";

export interface ApiCall {
  /** Made at creation and whenever its parameters change. */
  readonly make: AwsSdkCall;
  /** Made when the resource goes. */
  readonly undo?: AwsSdkCall;
}

/** A stack's calls are made by one function, which CDK makes; its role's policies have 10,240 characters: hence one policy for many. */
export class ApiCalls extends Construct {
  readonly #grants: readonly Grant[];
  #first: AwsCustomResource | undefined;

  constructor(scope: Construct, id: string, grants: readonly Grant[]) {
    super(scope, id);
    this.#grants = grants;
  }

  add(id: string, { make, undo }: ApiCall): AwsCustomResource {
    const resource = new AwsCustomResource(this, id, {
      onCreate: make,
      onUpdate: make,
      ...(undo === undefined ? {} : { onDelete: undo }),
      // The runtime's own: loading the newest would need a network at deployment.
      installLatestAwsSdk: false,
      logGroup: logsIn(Stack.of(this)),
      // The role is the function's own, whoever is named here after the first.
      ...(this.#first === undefined
        ? { policy: policyOf(this.#grants) }
        : { role: this.#first.grantPrincipal as IRole }),
    });
    this.#acknowledge(resource);
    return resource;
  }

  #acknowledge(resource: AwsCustomResource): void {
    acknowledgeProvider(Stack.of(this));
    this.#first ??= resource;
    const policy = this.#first.node.findChild("CustomResourcePolicy") as Policy;
    if (resource === this.#first) for (const grant of this.#grants) acknowledgeWildcards(policy, grant);
    else resource.node.addDependency(policy);
  }
}

function policyOf(grants: readonly Grant[]): AwsCustomResourcePolicy {
  return AwsCustomResourcePolicy.fromStatements(
    grants.map(
      ({ actions, resources }) => new PolicyStatement({ actions: [...actions], resources: [...resources] }),
    ),
  );
}

const LOGS = "EbsDrainApiCallLogs";

/** The function is the stack's, and so is its log group: without one Lambda makes one that outlives the stack. */
function logsIn(stack: Stack): ILogGroup {
  const there = stack.node.tryFindChild(LOGS);
  if (there !== undefined) return there as LogGroup;
  return new LogGroup(stack, LOGS, {
    retention: RetentionDays.ONE_MONTH,
    removalPolicy: RemovalPolicy.DESTROY,
  });
}

/** CDK names the function by this, and all of a stack's calls share it. */
const PROVIDER = `AWS${AwsCustomResource.PROVIDER_FUNCTION_UUID.replaceAll("-", "")}`;

function acknowledgeProvider(stack: Stack): void {
  const role = stack.node.tryFindChild(PROVIDER)?.node.tryFindChild("ServiceRole");
  if (role === undefined) return;
  Validations.of(role).acknowledge({
    id: "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
    reason:
      "It is CDK's own function; AWS's policy lets it write its log, and all else is granted beside it.",
  });
}
