/** Composition root of the Lambdas: environment → settings → ports. Nothing here decides anything. */
import { EKSClient } from "@aws-sdk/client-eks";
import { createAutoScalingPort } from "../lib/aws/auto-scaling.ts";
import {
  CLIENT_SETTINGS,
  createAutoScalingClient,
  createEc2Client,
  createLambdaClient,
} from "../lib/aws/clients.ts";
import { createEc2Port } from "../lib/aws/ec2.ts";
import { createExecutionsPort } from "../lib/aws/executions.ts";
import { createGroupHooksPort } from "../lib/aws/group-hooks.ts";
import { clusterOfGroup } from "../lib/drain/settings.ts";
import { look } from "../lib/engine/look.ts";
import { withLookMetrics } from "../lib/telemetry/look-metrics.ts";
import type { TelemetryOptions } from "../lib/telemetry/metrics.ts";
import { createTelemetry, telemetryOf } from "../lib/telemetry/metrics.ts";
import { ClusterPorts } from "./cluster-ports.ts";
import type { DispatchHandlerDeps } from "./dispatch-handler.ts";
import type { DrainDeps } from "./drain-handler.ts";
import type { Variables } from "./environment.ts";
import { readDispatchEnvironment, readDrainEnvironment } from "./environment.ts";

/** Everything the drain function needs, once per container. Throws EnvironmentError. */
export function composeDrain(variables: Variables): DrainDeps {
  const { settings, region } = readDrainEnvironment(variables);
  const clusters = new ClusterPorts(new EKSClient(CLIENT_SETTINGS), region);
  const ec2 = createEc2Port(createEc2Client());
  const autoScaling = createAutoScalingPort(createAutoScalingClient());
  const stream = streamOf("drain");
  return {
    settings,
    look,
    log: createTelemetry(stream).log,
    openPorts: (task) => {
      const cluster = clusterOfGroup(settings, task.group);
      if (cluster === undefined) throw new RangeError(`group ${task.group} is not configured`);
      const dimensions = { cluster: task.cluster, group: task.group };
      return {
        cluster: clusters.ofInvocation(cluster),
        ec2,
        autoScaling,
        telemetry: withLookMetrics(telemetryOf(stream, { dimensions })),
        now: Date.now,
      };
    },
  };
}

/** Everything the dispatcher needs, once per container. Throws EnvironmentError. */
export function composeDispatch(variables: Variables): DispatchHandlerDeps {
  const { settings, region, drainFunction, account } = readDispatchEnvironment(variables);
  const clusters = new ClusterPorts(new EKSClient(CLIENT_SETTINGS), region);
  const autoScaling = createAutoScalingClient();
  return {
    settings,
    here: { account: settings.account ?? account, region: settings.region ?? region },
    ec2: createEc2Port(createEc2Client()),
    autoScaling: createAutoScalingPort(autoScaling),
    groupHooks: createGroupHooksPort(autoScaling),
    executions: createExecutionsPort(createLambdaClient(), drainFunction),
    clusterOf: (cluster) => clusters.of(cluster),
    telemetry: createTelemetry(streamOf("dispatch")),
    now: Date.now,
  };
}

/** Lambda's `console` puts a prefix before each line, and CloudWatch then sees no JSON and no metrics: hence the stream itself. */
function streamOf(part: string): TelemetryOptions {
  return { write: (line) => process.stdout.write(`${line}\n`), now: Date.now, fields: { function: part } };
}
