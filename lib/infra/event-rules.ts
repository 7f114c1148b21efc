/** EventBridge rules for the handled events, and the sweep's schedule. */
import { Aws, Duration, Token } from "aws-cdk-lib";
import type { EventPattern } from "aws-cdk-lib/aws-events";
import { Rule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { IAlias } from "aws-cdk-lib/aws-lambda";
import {
  ContextAttribute,
  Schedule,
  ScheduleExpression,
  ScheduleTargetInput,
} from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { HandledEvent } from "../drain/handled-events.ts";
import { HANDLED_EVENTS } from "../drain/handled-events.ts";
import type { Settings } from "../drain/settings.ts";
import { OLDEST_EVENT } from "./functions.ts";

export interface EventRulesProps {
  readonly settings: Settings;
  /** Of the dispatcher. */
  readonly target: IAlias;
  readonly deadLetters: IQueue;
}

const SWEEP_INTERVAL = Duration.minutes(1);

/** One source of events for each row of the table. */
export class EventRules extends Construct {
  constructor(scope: Construct, id: string, props: EventRulesProps) {
    super(scope, id);
    for (const event of HANDLED_EVENTS) {
      switch (event.kind) {
        case "lifecycle":
          // EventBridge can tell our hook and groups from others here, and only here.
          for (const [index, groups] of packed(groupsOf(props.settings)).entries()) {
            const detail = {
              AutoScalingGroupName: [...groups],
              LifecycleHookName: [props.settings.policy.hookName],
            };
            addRule(this, `Lifecycle${index === 0 ? "" : index + 1}`, event, detail, props);
          }
          break;
        case "spot":
          // These events name no group: whose instance it is, the dispatcher asks once (D1).
          addRule(this, "Spot", event, undefined, props);
          break;
        case "gone":
          addRule(this, "Gone", event, { state: [...(event.states ?? [])] }, props);
          break;
        case "sweep":
          addSchedule(this, event, props);
          break;
        default:
          event.kind satisfies never;
      }
    }
  }
}

function addRule(
  scope: Construct,
  id: string,
  { source, detailType }: HandledEvent,
  detail: EventPattern["detail"],
  { target, deadLetters }: EventRulesProps,
): void {
  new Rule(scope, id, {
    eventPattern: { source: [source], detailType: [detailType], ...(detail === undefined ? {} : { detail }) },
    targets: [new LambdaFunction(target, { deadLetterQueue: deadLetters, maxEventAge: OLDEST_EVENT })],
  });
}

function addSchedule(
  scope: Construct,
  { source, detailType }: HandledEvent,
  { target, deadLetters }: EventRulesProps,
): void {
  const role = new Role(scope, "SweepRole", {
    assumedBy: new ServicePrincipal("scheduler.amazonaws.com", {
      conditions: { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } },
    }),
  });
  new Schedule(scope, "Sweep", {
    schedule: ScheduleExpression.rate(SWEEP_INTERVAL),
    description: "ebs-drain looks for machines that no event told of",
    target: new LambdaInvoke(target, {
      role,
      deadLetterQueue: deadLetters,
      // The next sweep looks at everything again.
      maxEventAge: SWEEP_INTERVAL,
      retryAttempts: 1,
      input: ScheduleTargetInput.fromObject({
        source,
        "detail-type": detailType,
        account: Aws.ACCOUNT_ID,
        region: Aws.REGION,
        time: ContextAttribute.scheduledTime,
        detail: {},
      }),
    }),
  });
}

function groupsOf({ clusters }: Settings): readonly string[] {
  return clusters.flatMap(({ groups }) => groups);
}

/** EventBridge takes patterns of 2,048 characters; what is not a name takes about 250. */
const NAMES_LENGTH = 1_500;
const LONGEST_NAME = 255;

/** The names in as few lists as rules can hold. */
function packed(names: readonly string[]): readonly (readonly string[])[] {
  const lists: string[][] = [];
  let left = 0;
  for (const name of names) {
    // Quotes and a comma go with each.
    const length = (Token.isUnresolved(name) ? LONGEST_NAME : name.length) + 3;
    const last = lists.at(-1);
    if (last === undefined || length > left) {
      lists.push([name]);
      left = NAMES_LENGTH - length;
    } else {
      last.push(name);
      left -= length;
    }
  }
  return lists;
}
