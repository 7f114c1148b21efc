/** Alarms, each with its article in the runbook. */
import { Duration } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Alarm, ComparisonOperator, Metric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import type { MetricName } from "../drain/names.ts";
import { PRODUCT } from "../drain/names.ts";
import { PRODUCT_ALARMS } from "./alarm-table.ts";
import type { Monitoring } from "./props.ts";

export interface Watched {
  readonly drain: { readonly code: IFunction };
  readonly dispatch: { readonly code: IFunction };
  readonly unhandled: IQueue;
  readonly undelivered: IQueue;
}

const RUNBOOK = "docs/runbook.md";

/** The product's metric, summed over everything or over what has this cause. */
export function productMetric(name: MetricName, minutes: number, cause?: string): Metric {
  return new Metric({
    namespace: PRODUCT,
    metricName: name,
    statistic: "Sum",
    period: Duration.minutes(minutes),
    ...(cause === undefined ? {} : { dimensionsMap: { cause } }),
  });
}

/** Lambda's metric of durable executions, which CDK has no method for. */
export function executionMetric(drain: IFunction, metricName: string, statistic: "Sum" | "Maximum"): Metric {
  return new Metric({
    namespace: "AWS/Lambda",
    metricName,
    dimensionsMap: { FunctionName: drain.functionName },
    statistic,
    period: Duration.minutes(5),
  });
}

export class Alarms extends Construct {
  readonly #monitoring: Monitoring;

  constructor(scope: Construct, id: string, watched: Watched, monitoring: Monitoring) {
    super(scope, id);
    this.#monitoring = monitoring;
    for (const { id: article, metric, minutes, cause, threshold, meaning } of PRODUCT_ALARMS) {
      this.#raise(article, productMetric(metric, minutes, cause), threshold, meaning);
    }
    this.#watchExecutions(watched.drain.code);
    this.#watchQueues(watched);
    this.#watchSweep(watched.dispatch.code);
  }

  #watchExecutions(drain: IFunction): void {
    const failed = executionMetric(drain, "DurableExecutionFailed", "Sum");
    this.#raise(
      "execution-failed",
      failed,
      1,
      "A drain ended with an error; the sweep takes its work up again.",
    );
    const timedOut = executionMetric(drain, "DurableExecutionTimedOut", "Sum");
    this.#raise(
      "execution-timed-out",
      timedOut,
      1,
      "Lambda ended a drain that had outlived its own deadline.",
    );
  }

  #watchQueues({ unhandled, undelivered }: Watched): void {
    const visible = (queue: IQueue): IMetric =>
      queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1), statistic: "Maximum" });
    this.#raise("events-unhandled", visible(unhandled), 1, "A function could not handle an event.");
    this.#raise(
      "events-undelivered",
      visible(undelivered),
      1,
      "EventBridge could not invoke the dispatcher.",
    );
  }

  /** The one alarm for which silence is bad news. */
  #watchSweep(dispatch: IFunction): void {
    this.#raise(
      "sweep-silent",
      dispatch.metricInvocations({ period: Duration.minutes(5), statistic: "Sum" }),
      1,
      "The dispatcher was not invoked for ten minutes, though a sweep is due every minute.",
      {
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        treatMissingData: TreatMissingData.BREACHING,
        evaluationPeriods: 2,
      },
    );
  }

  #raise(article: string, metric: IMetric, threshold: number, meaning: string, how: How = AT_ONCE): void {
    const { alarmTopic, runbookUrl } = this.#monitoring;
    new Alarm(this, article, {
      metric,
      threshold,
      alarmDescription: `${meaning} ${runbookUrl ?? RUNBOOK}#${article}`,
      ...how,
    }).addAlarmAction(new SnsAction(alarmTopic));
  }
}

interface How {
  readonly comparisonOperator: ComparisonOperator;
  readonly treatMissingData: TreatMissingData;
  readonly evaluationPeriods: number;
}

/** Metrics of what happens have no points while nothing does. */
const AT_ONCE: How = {
  comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  treatMissingData: TreatMissingData.NOT_BREACHING,
  evaluationPeriods: 1,
};
