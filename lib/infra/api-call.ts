/** A request that CloudFormation makes for us when it deploys, for what it has no resource type for. */
import { Stack, Validations } from "aws-cdk-lib";
import type { Policy } from "aws-cdk-lib/aws-iam";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { AwsSdkCall } from "aws-cdk-lib/custom-resources";
import { AwsCustomResource, AwsCustomResourcePolicy } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import type { Grant } from "./grants.ts";
import { acknowledgeWildcards } from "./grants.ts";

export interface ApiCallProps {
  /** Made at creation and whenever its parameters change. */
  readonly read: AwsSdkCall;
  /** Made when the resource goes. */
  readonly undo?: AwsSdkCall;
  readonly grant: Grant;
}

/** All of a stack's calls are made by one function, which CDK makes. */
export class ApiCall extends Construct {
  readonly #resource: AwsCustomResource;

  constructor(scope: Construct, id: string, { read, undo, grant }: ApiCallProps) {
    super(scope, id);
    this.#resource = new AwsCustomResource(this, "Call", {
      onCreate: read,
      onUpdate: read,
      ...(undo === undefined ? {} : { onDelete: undo }),
      // The runtime's own SDK: loading the newest one would need a network at deployment, and changes what was tested.
      installLatestAwsSdk: false,
      policy: AwsCustomResourcePolicy.fromStatements([
        new PolicyStatement({ actions: [...grant.actions], resources: [...grant.resources] }),
      ]),
    });
    const policy = this.#resource.node.findChild("CustomResourcePolicy") as Policy;
    acknowledgeWildcards(policy, grant);
    this.#acknowledgeProvider();
  }

  /** A field of the answer. Deployment fails where the answer has no such field. */
  answer(path: string): string {
    return this.#resource.getResponseField(path);
  }

  #acknowledgeProvider(): void {
    const role = Stack.of(this)
      .node.findAll()
      .find(({ node }) => node.path.endsWith("679f53fac002430cb0da5b7982bd2287/ServiceRole"));
    if (role === undefined) return;
    Validations.of(role).acknowledge({
      id: "AwsSolutions-IAM4",
      reason: "CDK's own function for such calls may write its log, and what is granted beside it.",
    });
  }
}
