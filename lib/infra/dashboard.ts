/** What is draining now, and what blocks it. */
import {
  Dashboard,
  GraphWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { Duration } from "aws-cdk-lib";
import type { MetricName } from "../drain/names.ts";
import type { AliasedFunction } from "./functions.ts";
import { executionMetric, productMetric } from "./alarms.ts";

const WIDTH = 24;
const MINUTES = 5;

/** The last look of each work; a work whose last look is over says so in `next`. */
const NOW: readonly string[] = [
  "filter message = 'look'",
  "stats latest(@timestamp) as lastLook, latest(node) as onNode, latest(phase) as inPhase, latest(reason) as why, latest(next) as nextLook, latest(blocking.0) as blockedBy, latest(waitingFor.0) as waitsFor by cluster, group, work",
  "sort lastLook desc",
  "limit 50",
];

/** `drain` writes one line per look. */
export function addDashboard(scope: Construct, id: string, drain: AliasedFunction): void {
  const graph = (title: string, names: readonly MetricName[]): GraphWidget =>
    new GraphWidget({ title, width: WIDTH / 3, left: names.map((name) => productMetric(name, MINUTES)) });
  new Dashboard(scope, id, {
    defaultInterval: Duration.hours(3),
    widgets: [
      [
        new LogQueryWidget({
          title: "What is draining, and what blocks it",
          logGroupNames: [drain.code.logGroup.logGroupName],
          queryLines: [...NOW],
          view: LogQueryVisualizationType.TABLE,
          width: WIDTH,
          height: 9,
        }),
      ],
      [
        new GraphWidget({
          title: "Executions",
          width: WIDTH / 3,
          left: [
            executionMetric(drain.code, "ApproximateRunningDurableExecutions", "Maximum"),
            executionMetric(drain.code, "DurableExecutionFailed", "Sum"),
          ],
        }),
        graph("Drains", ["DrainsStarted", "DrainsCompleted", "DrainDeadlines", "DrainsCalledOff"]),
        graph("In the way", ["BlockedEvictions", "VolumesBlocking", "NoProgress"]),
      ],
      [
        new GraphWidget({
          title: "Seconds per drain",
          width: WIDTH / 3,
          left: ["p50", "p90", "Maximum"].map((statistic) =>
            productMetric("DrainSeconds", MINUTES).with({ statistic, label: statistic }),
          ),
        }),
        graph("Trouble", ["ClusterUnreachable", "ApiErrors", "CompletedByOther"]),
        graph("Machines gone", ["OutOfService", "NodesAdopted"]),
      ],
    ],
  });
}
