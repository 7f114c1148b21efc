/**
 * The deployed handlers' own code in an embedded world: simulated EC2, Auto Scaling, EventBridge, Kubernetes and Lambda's durable
 * executions, all in virtual time.
 */
import { createDispatchHandler } from "../../lambda/dispatch-handler.ts";
import type { DispatchHandler } from "../../lambda/dispatch-handler.ts";
import { createDrainHandler } from "../../lambda/drain-handler.ts";
import type { Policy } from "../drain/policy.ts";
import { DEFAULT_POLICY } from "../drain/policy.ts";
import type { Settings } from "../drain/settings.ts";
import type { Here } from "../drain/signal.ts";
import type { Task } from "../drain/task.ts";
import { MINUTE } from "../drain/time.ts";
import type { DispatchResult } from "../engine/dispatch.ts";
import { look } from "../engine/look.ts";
import type { LookRecord, Ports, TelemetryPort } from "../engine/ports.ts";
import { DurableBackend } from "../sim/durable-backend.ts";
import type { RunExecution } from "../sim/invariants.ts";
import { ACCOUNT, CLUSTER, REGION, type World } from "../sim/world.ts";
import { createTelemetry } from "../telemetry/metrics.ts";

/** What dispatch made of one event. */
export interface Dispatched {
  readonly at: number;
  readonly event: unknown;
  readonly result?: DispatchResult;
  /** Thrown; the event is then delivered again. */
  readonly error?: unknown;
}

/** ebs-drain at work in a world. */
export interface Embedded {
  readonly settings: Settings;
  /** The deployed dispatcher. To be called as an actor of the world's clock. */
  readonly dispatch: DispatchHandler;
  readonly dispatched: readonly Dispatched[];
  readonly executions: () => readonly RunExecution[];
  /** Times that Lambda invoked the drain function. */
  readonly invocations: () => number;
  readonly looks: readonly LookRecord[];
  /** The functions' log, line by line. */
  readonly log: readonly string[];
}

/** Lambda delivers an event again after a failure: twice, after one minute and then two. */
const REDELIVERIES = [MINUTE, 2 * MINUTE];

export interface Deployment {
  /** The Auto Scaling group whose instances are the cluster's nodes. */
  readonly group: string;
  readonly policy?: Partial<Policy> | undefined;
  /** Default: the world's own account and region. */
  readonly here?: Here | undefined;
}

/** Installs ebs-drain in the world: its event rules, its schedule, its two functions. */
export function embed(world: World, { group, policy, here }: Deployment): Embedded {
  const { clock } = world;
  const settings: Settings = {
    policy: { ...DEFAULT_POLICY, ...policy },
    clusters: [{ name: CLUSTER, groups: [group] }],
  };
  const looks: LookRecord[] = [];
  const log: string[] = [];
  const telemetry = listening(
    createTelemetry({ write: (line) => void log.push(line), now: clock.now }),
    looks,
  );
  const ports: Ports = { cluster: world.clusterPort, ...world.aws, telemetry, now: clock.now };
  const drain = createDrainHandler({ settings, openPorts: () => ports, look, log: telemetry.log });
  const backend = new DurableBackend({ clock, handler: drain, faults: world.faults });
  const dispatch = createDispatchHandler({
    ...world.aws,
    settings,
    here: here ?? { account: ACCOUNT, region: REGION },
    executions: backend.executionsPort(),
    clusterOf: () => world.clusterPort,
    telemetry,
    now: clock.now,
  });
  const dispatched: Dispatched[] = [];
  world.deliver = (event) => deliver(event, world, dispatch, dispatched);
  world.bridge.startSweep();
  return {
    settings,
    dispatch,
    dispatched,
    executions: () => backend.executions().map((report) => executionOf(report, looks)),
    invocations: () => backend.executions().reduce((sum, { invocations }) => sum + invocations, 0),
    looks,
    log,
  };
}

function listening(telemetry: TelemetryPort, looks: LookRecord[]): TelemetryPort {
  return {
    ...telemetry,
    look: (record) => {
      looks.push(record);
      telemetry.look(record);
    },
  };
}

function deliver(
  event: unknown,
  world: World,
  dispatch: DispatchHandler,
  dispatched: Dispatched[],
  attempt = 0,
): void {
  const { clock } = world;
  const invocation = clock.actor("dispatch", () => dispatch(event));
  invocation.then(
    (result) => dispatched.push({ at: clock.now(), event, result }),
    (error: unknown) => {
      dispatched.push({ at: clock.now(), event, error });
      const wait = REDELIVERIES[attempt];
      if (wait !== undefined)
        clock.after(wait, () => deliver(event, world, dispatch, dispatched, attempt + 1));
    },
  );
}

function executionOf(
  report: ReturnType<DurableBackend["executions"]>[number],
  looks: readonly LookRecord[],
): RunExecution {
  const { name, payload, startedAt, endedAt, error } = report;
  const task = payload as Task;
  return {
    name,
    task,
    startedAt,
    turns: looks.filter(({ observation }) => observation.task.id === task.id).length,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(error === undefined ? {} : { error }),
  };
}
