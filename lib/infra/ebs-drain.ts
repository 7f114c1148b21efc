/** ebs-drain for one region of one account: any number of clusters, each with any number of Auto Scaling groups. */
import { Stack } from "aws-cdk-lib";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { ENV } from "../drain/names.ts";
import { Alarms } from "./alarms.ts";
import { ClusterAccess } from "./cluster-access.ts";
import { addDashboard } from "./dashboard.ts";
import { deadLetterQueue } from "./dead-letters.ts";
import { EventRules } from "./event-rules.ts";
import { durableConfig } from "./execution-limits.ts";
import { AliasedFunction } from "./functions.ts";
import { DISPATCH_CALLS, DRAIN_CALLS, grantsFor } from "./grants.ts";
import type { NamedCluster } from "./group-names.ts";
import { GroupNames } from "./group-names.ts";
import { HookAccess } from "./hook-credentials.ts";
import { LifecycleHooks } from "./lifecycle-hooks.ts";
import type { EbsDrainProps } from "./props.ts";
import { RetainOnAbandon } from "./retention.ts";
import { SettingsError, findNodeGroupProblems, settingsOf } from "./settings-of-props.ts";
import { stableId } from "./stable-id.ts";

/** The constructor throws SettingsError for settings that the functions would refuse. */
export class EbsDrain extends Construct {
  readonly drain: AliasedFunction;
  readonly dispatch: AliasedFunction;
  /** Events, and inputs of executions, with which a function failed. */
  readonly unhandled: Queue;
  /** Events that did not reach the dispatcher. */
  readonly undelivered: Queue;

  constructor(scope: Construct, id: string, props: EbsDrainProps) {
    super(scope, id);
    const { vpc, monitoring } = props;
    const problems = findNodeGroupProblems(props.clusters);
    if (problems.length > 0) throw new SettingsError(problems);
    const { clusters } = new GroupNames(this, "Groups", props.clusters);
    const { settings, text } = settingsOf(clusters, props);
    const environment = { [ENV.settings]: Stack.of(this).toJsonString(text) };
    this.unhandled = deadLetterQueue(this, "Unhandled");
    this.undelivered = deadLetterQueue(this, "Undelivered");
    this.drain = new AliasedFunction(this, "Drain", {
      source: "drain",
      environment,
      grants: grantsFor(this, DRAIN_CALLS, { settings, drainFunction: undefined }),
      deadLetters: this.unhandled,
      vpc,
      durable: durableConfig(settings.policy),
      // A failed execution is taken up again by the sweep, under another name; Lambda's own repetition would be the same name.
      retryAttempts: 0,
    });
    const drainFunction = {
      functionArn: this.drain.code.functionArn,
      aliasArn: this.drain.alias.functionArn,
    };
    this.dispatch = new AliasedFunction(this, "Dispatch", {
      source: "dispatch",
      environment: { ...environment, [ENV.drainFunction]: drainFunction.aliasArn },
      grants: grantsFor(this, DISPATCH_CALLS, { settings, drainFunction }),
      deadLetters: this.unhandled,
      vpc,
      retryAttempts: 2,
    });
    const access = new ClusterAccess(this, "Access", settings, [this.drain.role, this.dispatch.role]);
    const rules = new EventRules(this, "Events", {
      settings,
      target: this.dispatch.alias,
      deadLetters: this.undelivered,
    });
    // The last to come and the first to go: a hook whose action nobody hears holds an instance for its whole timeout.
    new LifecycleHooks(this, "Hooks", settings).node.addDependency(rules, access);
    this.#letHooksComplete(clusters);
    if (props.retainOnAbandon === true) {
      new RetainOnAbandon(
        this,
        "Retention",
        clusters.flatMap(({ groups }) => groups),
      );
    }
    if (monitoring !== "off") {
      new Alarms(this, "Alarms", this, monitoring);
      addDashboard(this, "Dashboard", this.drain);
    }
  }
  #letHooksComplete(clusters: readonly NamedCluster[]): void {
    const hooks = new Construct(this, "HookAccess");
    for (const { hookCredentials = "pod-identity", ...cluster } of clusters) {
      new HookAccess(hooks, stableId(this, cluster.name), cluster, hookCredentials);
    }
  }
}
