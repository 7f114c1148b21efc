/** What is draining now, and what blocks it. */
import {
  Dashboard,
  GraphWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { Duration } from "aws-cdk-lib";
import type { Phase, Verdict } from "../drain/decision.ts";
import type { MetricName } from "../drain/names.ts";
import type { AliasedFunction } from "./functions.ts";
import { executionMetric, productMetric } from "./alarms.ts";

const WIDTH = 24;
const MINUTES = 5;

const STAGES = Object.keys({
  locating: true,
  cordoning: true,
  evicting: true,
  detaching: true,
  confirming: true,
  "proving-death": true,
  "awaiting-ec2": true,
  "forcing-off": true,
  blind: true,
  ending: true,
} satisfies Record<Phase, true>);

const VERDICTS = Object.keys({
  attached: true,
  detaching: true,
  busy: true,
  leaked: true,
  moved: true,
  foreign: true,
  local: true,
  pinned: true,
  volumeless: true,
} satisfies Record<Verdict, true>);

/** Those that somebody can do something about, and our own faults. */
const CAUSES = [
  "network",
  "throttled",
  "server",
  "unauthenticated",
  "forbidden",
  "conflict",
  "rejected",
  "bug",
] as const;

/** The last look of each work; a work whose last look is over says so in `next`. */
const NOW: readonly string[] = [
  "filter message = 'look'",
  "stats latest(@timestamp) as lastLook, latest(node) as onNode, latest(phase) as inPhase, latest(reason) as why, latest(next) as nextLook, latest(blocking.0) as blockedBy, latest(waitingFor.0) as waitsFor by cluster, group, work",
  "sort lastLook desc",
  "limit 50",
];

/** One line for each value of the metric's own dimension. */
function graphOfEach(
  title: string,
  name: MetricName,
  dimension: string,
  values: readonly string[],
  statistic: string,
): GraphWidget {
  const left = values.map((value) =>
    productMetric(name, MINUTES).with({ dimensionsMap: { [dimension]: value }, statistic, label: value }),
  );
  return new GraphWidget({ title, width: WIDTH / 3, left });
}

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
        graph("Trouble", ["ClusterUnreachable", "CompletedByOther", "GroupsWithoutHook"]),
        graph("Machines gone", ["OutOfService", "UnheldTerminations", "NodesAdopted"]),
      ],
      [
        graphOfEach("Seconds per stage", "StageSeconds", "stage", STAGES, "p90"),
        graphOfEach("Volumes by verdict", "Volumes", "verdict", VERDICTS, "Maximum"),
        graphOfEach("API errors by class", "ApiErrors", "cause", CAUSES, "Sum"),
      ],
      [
        new GraphWidget({
          title: "Seconds that the hook held",
          width: WIDTH / 3,
          left: ["p50", "p90", "Maximum"].map((statistic) =>
            productMetric("HookHoldSeconds", MINUTES).with({ statistic, label: statistic }),
          ),
        }),
      ],
    ],
  });
}
