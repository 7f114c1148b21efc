/** Stacks for the assertions, synthesized without bundling: what the functions hold is another test's business. */
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EbsDrain } from "../../lib/infra/ebs-drain.ts";
import type { EbsDrainProps } from "../../lib/infra/props.ts";

// CDK's own check of templates takes seconds to start; it runs once, where the app is synthesized whole.
process.env["CDK_VALIDATION"] = "false";

export type Resource = Readonly<Record<string, unknown>> & {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
};

/** An app whose stacks are not bundled. */
export function appWithoutBundles(): App {
  return new App({ context: { "aws:cdk:bundling-stacks": [] }, analyticsReporting: false });
}

export function stackIn(app: App): Stack {
  return new Stack(app, "Stack", { env: { account: "111122223333", region: "eu-west-1" } });
}

export const CLUSTERS = [
  { name: "blue", groups: ["workers-a", "workers-b"] },
  {
    name: "green",
    groups: ["workers-c"],
    endpoint: "https://ABC123.gr7.eu-west-1.eks.amazonaws.com",
    certificateAuthority: btoa("-----BEGIN CERTIFICATE-----\n"),
  },
] as const;

/** Whoever is woken. */
export function onCall(stack: Stack): Topic {
  return new Topic(stack, "OnCall");
}

/** The template of one EbsDrain; what is not said is the two clusters above, without monitoring. */
export function templateOf(
  change: Partial<EbsDrainProps> | ((stack: Stack) => Partial<EbsDrainProps>) = {},
): Template {
  const stack = stackIn(appWithoutBundles());
  const props = typeof change === "function" ? change(stack) : change;
  new EbsDrain(stack, "EbsDrain", { clusters: CLUSTERS, monitoring: "off", ...props });
  return Template.fromStack(stack);
}

/** Resources of a type, by logical id. */
export function resourcesOf(template: Template, type: string): Readonly<Record<string, Resource>> {
  return template.findResources(type) as Readonly<Record<string, Resource>>;
}

/** The one resource of a type whose logical id has this part. */
export function theOne(template: Template, type: string, part: string): readonly [string, Resource] {
  const found = Object.entries(resourcesOf(template, type)).filter(([id]) => id.includes(part));
  const [only] = found;
  if (only === undefined || found.length > 1) throw new RangeError(`${found.length} of ${type} with ${part}`);
  return only;
}
