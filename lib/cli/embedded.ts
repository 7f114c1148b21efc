/** The deployed handlers' own code in an embedded world: simulated EC2, Auto Scaling, EventBridge, Kubernetes and durable service. */
import { createDispatchHandler } from "../../lambda/dispatch.ts";
import { createDrainHandler } from "../../lambda/drain.ts";
import type { Settings } from "../drain/settings.ts";
import { DEFAULT_POLICY } from "../drain/policy.ts";
import { MINUTE } from "../drain/time.ts";
import { look } from "../engine/look.ts";
import type { LookRecord } from "../engine/ports.ts";
import { DurableBackend } from "../sim/durable-backend.ts";
import type { Scenario, Scene } from "../sim/scenarios.ts";
import { ACCOUNT, CLUSTER, REGION, World } from "../sim/world.ts";
import { createTelemetry } from "../telemetry/metrics.ts";

export interface Run {
  readonly world: World;
  readonly scene: Scene;
  readonly backend: DurableBackend;
  readonly looks: readonly LookRecord[];
  readonly log: readonly string[];
  readonly begunAt: number;
}

export async function run(scenario: Scenario, seed: number): Promise<Run> {
  const world = new World({ seed });
  const scene = await scenario.build(world);
  const looks: LookRecord[] = [];
  const log: string[] = [];
  const backend = connect(world, looks, log);
  const begunAt = world.clock.now();
  world.bridge.startSweep();
  scenario.begin(world, scene);
  await world.clock.advance(begunAt + 15 * MINUTE);
  return { world, scene, backend, looks, log, begunAt };
}

function connect(world: World, looks: LookRecord[], log: string[]): DurableBackend {
  const { clock } = world;
  const settings: Settings = {
    policy: DEFAULT_POLICY,
    clusters: [{ name: CLUSTER, groups: ["workers-a"] }],
  };
  const written = createTelemetry({ write: (line) => void log.push(line), now: clock.now });
  const telemetry = {
    ...written,
    look: (record: LookRecord) => {
      looks.push(record);
      written.look(record);
    },
  };
  const ports = { cluster: world.clusterPort, ...world.aws, telemetry, now: clock.now };
  const drain = createDrainHandler({ settings, openPorts: () => ports, look, log: telemetry.log });
  const backend = new DurableBackend({ clock, handler: drain });
  const dispatch = createDispatchHandler({
    ...world.aws,
    settings,
    here: { account: ACCOUNT, region: REGION },
    executions: backend.executionsPort(),
    clusterOf: () => world.clusterPort,
    telemetry,
    now: clock.now,
  });
  world.deliver = (event) => void clock.actor("dispatch", () => dispatch(event));
  return backend;
}
