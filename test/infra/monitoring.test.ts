import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { METRICS } from "../../lib/drain/names.ts";
import { PRODUCT_ALARMS } from "../../lib/infra/alarm-table.ts";
import type { Resource } from "./synthesized.ts";
import { onCall, resourcesOf, templateOf } from "./synthesized.ts";

const RUNBOOK = "https://docs.example.com/ebs-drain/runbook.md";
const ALARM = "AWS::CloudWatch::Alarm";
const template = templateOf((stack) => ({
  monitoring: { alarmTopic: onCall(stack), runbookUrl: RUNBOOK },
}));
const alarms = Object.values(resourcesOf(template, ALARM)).map(({ Properties }) => Properties);
const sources = [
  "drain/draining",
  "drain/drafting",
  "drain/gone",
  "drain/lifecycle",
  "drain/lifecycle-limits",
]
  .concat(["drain/over", "drain/spot", "engine/dispatch", "engine/drain-loop", "engine/sweep"])
  .concat(["engine/hook-watch", "telemetry/look-metrics"])
  .map((name) => readFileSync(new URL(`../../lib/${name}.ts`, import.meta.url), "utf8"))
  .join("\n");

/** The article that an alarm's description links to. */
function articleOf(alarm: Resource["Properties"]): string {
  return /#([a-z-]+)$/.exec(String(alarm["AlarmDescription"]))?.[1] ?? "";
}

describe("the alarms", () => {
  it("each link to an article of the runbook, and no article is without its alarm", () => {
    const runbook = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
    const articles = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title]) => title ?? "");

    expect(alarms.map(articleOf).toSorted()).toEqual(articles.toSorted());
    for (const alarm of alarms) expect(String(alarm["AlarmDescription"])).toContain(`${RUNBOOK}#`);
  });

  it("link to the runbook's place in the project where no address is given", () => {
    const plain = templateOf((stack) => ({ monitoring: { alarmTopic: onCall(stack) } }));

    for (const { Properties } of Object.values(resourcesOf(plain, ALARM))) {
      expect(Properties["AlarmDescription"]).toMatch(/ docs\/runbook\.md#[a-z-]+$/);
    }
  });

  it("all tell whoever is on call", () => {
    const [topic] = Object.keys(resourcesOf(template, "AWS::SNS::Topic"));

    expect(alarms.length).toBeGreaterThanOrEqual(PRODUCT_ALARMS.length);
    for (const alarm of alarms) expect(alarm["AlarmActions"]).toEqual([{ Ref: topic }]);
  });

  it("watch only metrics that the product emits, for the causes that it tells apart (C37)", () => {
    const causes = PRODUCT_ALARMS.flatMap(({ cause }) => cause ?? []);

    for (const { metric } of PRODUCT_ALARMS) {
      expect(sources).toMatch(new RegExp(`(metric\\(|name: |measure\\(loop, )"${metric}"`));
    }
    expect(causes.filter((cause) => !sources.includes(`"${cause}"`))).toEqual([]);
    expect(PRODUCT_ALARMS.map(({ metric }) => metric)).toContain("NoProgress");
  });

  it("watch what the product emits where it emits it: its namespace, without dimensions or with the cause alone", () => {
    const watched = alarms.filter((alarm) => alarm["Namespace"] === "ebs-drain");

    expect(watched).toHaveLength(PRODUCT_ALARMS.length);
    for (const { metric, cause } of PRODUCT_ALARMS) {
      const dimensions = cause === undefined ? {} : { Dimensions: [{ Name: "cause", Value: cause }] };
      expect(watched).toContainEqual(expect.objectContaining({ MetricName: metric, ...dimensions }));
    }
  });

  it("take silence for good news, but for the sweep", () => {
    const byMissing = Map.groupBy(alarms, (alarm) => alarm["TreatMissingData"]);

    expect(byMissing.get("breaching")?.map(articleOf)).toEqual(["sweep-silent"]);
    expect(byMissing.get("notBreaching")).toHaveLength(alarms.length - 1);
  });

  it("include both dead-letter queues and both ends of an execution that are nobody's wish", () => {
    expect(alarms.map((alarm) => alarm["MetricName"])).toEqual(
      expect.arrayContaining([
        "DurableExecutionFailed",
        "DurableExecutionTimedOut",
        "ApproximateNumberOfMessagesVisible",
      ]),
    );
    expect(alarms.map(articleOf)).toEqual(expect.arrayContaining(["events-unhandled", "events-undelivered"]));
  });

  it("and the dashboard are not made where monitoring is off", () => {
    const off = templateOf();

    expect(resourcesOf(off, ALARM)).toEqual({});
    expect(resourcesOf(off, "AWS::CloudWatch::Dashboard")).toEqual({});
  });
});

describe("the dashboard", () => {
  it("shows every metric of the product but the deadlines' announcements, and the last look of each work", () => {
    const [dashboard] = Object.values(resourcesOf(template, "AWS::CloudWatch::Dashboard"));
    const body = JSON.stringify(dashboard?.Properties["DashboardBody"]);

    expect(METRICS.filter((name) => !body.includes(`\\"${name}\\"`))).toEqual(["DeadlinesNear"]);
    expect(body).toContain("filter message = 'look'");
  });
});
