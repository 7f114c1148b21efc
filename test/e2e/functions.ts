/**
 * The deployed functions as Lambda runs them, their handlers' own code and their real adapters: both over AWS's wire format, the
 * API server by a bearer token, and the durable service on the real clock.
 */
import { AutoScalingClient } from "@aws-sdk/client-auto-scaling";
import { EC2Client } from "@aws-sdk/client-ec2";
import { createDispatchHandler } from "../../lambda/dispatch-handler.ts";
import type { DispatchHandler } from "../../lambda/dispatch-handler.ts";
import { createDrainHandler } from "../../lambda/drain-handler.ts";
import { createAutoScalingPort } from "../../lib/aws/auto-scaling.ts";
import { CLIENT_SETTINGS } from "../../lib/aws/clients.ts";
import { createEc2Port } from "../../lib/aws/ec2.ts";
import { DEFAULT_POLICY, type Policy } from "../../lib/drain/policy.ts";
import type { Settings } from "../../lib/drain/settings.ts";
import type { DispatchResult } from "../../lib/engine/dispatch.ts";
import { look } from "../../lib/engine/look.ts";
import type { ClusterPort, LookRecord, Ports, TelemetryPort } from "../../lib/engine/ports.ts";
import { DurableBackend, type ExecutionReport } from "../../lib/sim/durable-backend.ts";
import type { BusEvent } from "../../lib/sim/event-bridge.ts";
import { createTelemetry } from "../../lib/telemetry/metrics.ts";
import { ACCOUNT, GROUP, HEARTBEAT_TIMEOUT, REGION, type Region } from "./region.ts";

/** Whom Auto Scaling's history names. */
export const CALLER = "drain";

function settingsOf(policy: Partial<Policy>): Settings {
  return {
    policy: { ...DEFAULT_POLICY, heartbeatTimeout: HEARTBEAT_TIMEOUT, ...policy },
    clusters: [{ name: "blue", groups: [GROUP] }],
  };
}

/** Both functions, installed as the targets of the region's event rules. */
export class Functions {
  readonly backend: DurableBackend;
  /** Every look of every execution: the decision log. */
  readonly looks: LookRecord[] = [];
  /** The log, line by line. */
  readonly log: string[] = [];
  /** What dispatch made of the events. */
  readonly dispatched: DispatchResult[] = [];
  /** Events that dispatch threw for. */
  readonly failures: unknown[] = [];
  readonly #dispatch: DispatchHandler;
  readonly #clients: readonly { destroy(): void }[];

  constructor(region: Region, cluster: ClusterPort, policy: Partial<Policy>) {
    const { clock } = region;
    const settings = settingsOf(policy);
    const client = {
      ...CLIENT_SETTINGS,
      endpoint: region.url,
      region: REGION,
      credentials: { accessKeyId: CALLER, secretAccessKey: "not-a-secret" },
    };
    const ec2Client = new EC2Client(client);
    const autoScalingClient = new AutoScalingClient(client);
    this.#clients = [ec2Client, autoScalingClient];
    const telemetry = this.#listening(
      createTelemetry({ write: (line) => void this.log.push(line), now: clock.now }),
    );
    const ports: Ports = {
      cluster,
      ec2: createEc2Port(ec2Client),
      autoScaling: createAutoScalingPort(autoScalingClient),
      telemetry,
      now: clock.now,
    };
    const handler = createDrainHandler({ settings, openPorts: () => ports, look, log: telemetry.log });
    this.backend = new DurableBackend({ clock, handler });
    this.#dispatch = createDispatchHandler({
      ...ports,
      settings,
      here: { account: ACCOUNT, region: REGION },
      executions: this.backend.executionsPort(),
      clusterOf: () => cluster,
    });
    region.deliver = (event) => void this.invoke(event);
  }

  /** One delivery of one event. */
  async invoke(event: BusEvent): Promise<void> {
    try {
      this.dispatched.push(await this.#dispatch(event));
    } catch (error) {
      this.failures.push(error);
    }
  }

  /** The executions for an instance, the oldest first. */
  executionsFor(instance: string): readonly ExecutionReport[] {
    return this.backend.executions().filter(({ name }) => name.includes(instance));
  }

  /** The looks at an instance, of all its executions. */
  looksAt(instance: string): readonly LookRecord[] {
    return this.looks.filter(({ observation }) => observation.task.instance === instance);
  }

  close(): void {
    for (const client of this.#clients) client.destroy();
  }

  #listening(telemetry: TelemetryPort): TelemetryPort {
    return {
      ...telemetry,
      look: (record) => {
        this.looks.push(record);
        telemetry.look(record);
      },
    };
  }
}
