import { describe, expect, test } from "vitest";
import { createDispatchHandler } from "../../lambda/dispatch-handler.ts";
import { createDrainHandler } from "../../lambda/drain-handler.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { Settings } from "../../lib/drain/settings.ts";
import { MINUTE } from "../../lib/drain/time.ts";
import { look } from "../../lib/engine/look.ts";
import type { Ports } from "../../lib/engine/ports.ts";
import { addStatefulSet } from "../../lib/sim/cluster-scene.ts";
import type { DurableBackendOptions } from "../../lib/sim/durable-backend.ts";
import { DurableBackend } from "../../lib/sim/durable-backend.ts";
import type { BusEvent } from "../../lib/sim/event-bridge.ts";
import { volumesHeld } from "../../lib/sim/truth.ts";
import { ACCOUNT, CLUSTER, REGION, World } from "../../lib/sim/world.ts";
import { Recorder } from "../engine/recorder.ts";

const SETTINGS: Settings = { policy: DEFAULT_POLICY, clusters: [{ name: CLUSTER, groups: ["workers-a"] }] };

interface Trouble {
  readonly onCheckpoint?: DurableBackendOptions["onCheckpoint"];
  /** Events that never arrive. */
  readonly isLost?: (event: BusEvent) => boolean;
}

/** Both functions with their real looks and sweeps over the simulated region and cluster, events and schedule included. */
async function deploy({ onCheckpoint, isLost = () => false }: Trouble) {
  const world = new World({ seed: 7 });
  const { clock } = world;
  const telemetry = new Recorder();
  const heldAtCompletion: (readonly string[])[] = [];
  const autoScaling: Ports["autoScaling"] = {
    ...world.aws.autoScaling,
    complete: (action, result) => {
      heldAtCompletion.push(volumesHeld(world, action.instance));
      return world.aws.autoScaling.complete(action, result);
    },
  };
  const ports: Ports = {
    cluster: world.clusterPort,
    ec2: world.aws.ec2,
    autoScaling,
    telemetry,
    now: clock.now,
  };
  const backend = new DurableBackend({
    clock,
    handler: createDrainHandler({ settings: SETTINGS, openPorts: () => ports, look, log: telemetry.log }),
    ...(onCheckpoint === undefined ? {} : { onCheckpoint }),
  });
  const dispatch = createDispatchHandler({
    ...world.aws,
    settings: SETTINGS,
    here: { account: ACCOUNT, region: REGION },
    executions: backend.executionsPort(),
    clusterOf: () => world.clusterPort,
    telemetry,
    now: clock.now,
  });
  const failures: unknown[] = [];
  world.deliver = (event) => {
    if (isLost(event)) return;
    clock.actor("dispatch", () => dispatch(event)).catch((error: unknown) => failures.push(error));
  };
  world.launchNode("workers-a");
  world.launchNode("workers-a");
  addStatefulSet(world.cluster, { name: "db", replicas: 2 });
  await world.settle();
  world.bridge.startSweep();
  return { world, backend, telemetry, heldAtCompletion, failures };
}

/** Scales in a machine whose node runs a pod with a volume, and runs until it is gone and all work has ended. */
async function scaleIn(trouble: Trouble = {}) {
  const region = await deploy(trouble);
  const { world, backend } = region;
  const victim = world.autoScaling
    .describeMembers()
    .find(({ instance }) => volumesHeld(world, instance).length > 0);
  if (victim === undefined) throw new Error("no machine holds a volume");
  world.autoScaling.scaleIn(victim.instance);
  const begunAt = world.clock.now();
  await world.clock.advance(begunAt + 20 * MINUTE, () => {
    const isGone = world.ec2.instance(victim.instance)?.state === "terminated";
    return isGone && world.clock.now() > begunAt + 5 * MINUTE && backend.listRunning().length === 0;
  });
  const accepted = world.autoScaling
    .getHistory()
    .filter((record) => record.kind === "complete" && record.outcome === "accepted");
  return { ...region, instance: victim.instance, accepted };
}

describe("both functions over a simulated region and cluster", () => {
  test("drain a scaled-in machine: its volumes are free when its action is completed, by token and once (C1, C2)", async () => {
    const { world, backend, instance, accepted, heldAtCompletion, failures, telemetry } = await scaleIn();
    expect(failures).toEqual([]);
    expect(accepted).toMatchObject([{ instance, result: "CONTINUE", by: "drain", named: "token" }]);
    expect(heldAtCompletion[0]).toEqual([]);
    expect(world.ec2.instance(instance)?.state).toBe("terminated");
    const drain = backend.executions().find(({ name }) => name.startsWith(`lifecycle-${instance}`));
    expect(drain).toMatchObject({ status: "SUCCEEDED", result: { outcome: "completed" } });
    expect(drain?.operations).toBeLessThanOrEqual(4);
    expect(drain?.largestState).toBeLessThan(16_384);
    expect(backend.executions().filter(({ status }) => status === "FAILED")).toEqual([]);
    expect(telemetry.metrics.map(({ name }) => name)).not.toContain("CompletedByOther");
  });

  test("leave nothing to the sweep where events arrive: it starts no work of its own and undoes nothing", async () => {
    const { backend, telemetry } = await scaleIn();
    const sweeps = telemetry.lines.filter((line) => line["message"] === "sweep");
    expect(sweeps.length).toBeGreaterThanOrEqual(4);
    for (const sweep of sweeps) expect(sweep).toMatchObject({ started: [], undone: [], failures: [] });
    expect(backend.executions().filter(({ name }) => name.includes("-sweep-"))).toEqual([]);
  });

  test("drain a machine whose lifecycle event was lost, within two sweeps of its going (C16, I2)", async () => {
    const { world, backend, accepted, heldAtCompletion, instance } = await scaleIn({
      isLost: (event) => event["detail-type"].includes("Lifecycle Action"),
    });
    const [work] = backend.executions();
    expect(work).toMatchObject({
      name: expect.stringMatching(/^lifecycle-.*-sweep-/),
      payload: { by: "sweep" },
    });
    expect(work).toMatchObject({ status: "SUCCEEDED", result: { outcome: "completed" } });
    expect(accepted).toMatchObject([{ instance, result: "CONTINUE", by: "drain", named: "instance" }]);
    expect(heldAtCompletion[0]).toEqual([]);
    const opened = world.autoScaling.getHistory().find((record) => record.kind === "opened");
    expect((work?.startedAt ?? Infinity) - (opened?.at ?? 0)).toBeLessThanOrEqual(2 * MINUTE);
  });

  test("come to the same end whichever checkpoint an invocation dies at, before it or after (C6, I1, I2)", async () => {
    const total = (await scaleIn()).backend
      .executions()
      .reduce((sum, { checkpoints }) => sum + checkpoints, 0);
    expect(total).toBeGreaterThan(10);
    for (let at = 1; at <= total; at++) {
      const fate = at % 2 === 0 ? "crash-before" : "crash-after";
      const { accepted, heldAtCompletion, backend } = await scaleIn({
        onCheckpoint: ({ number }) => (number === at ? fate : undefined),
      });
      expect(accepted, `${fate} ${at}`).toMatchObject([{ result: "CONTINUE", by: "drain" }]);
      expect(heldAtCompletion[0], `${fate} ${at}`).toEqual([]);
      expect(backend.deadLetters(), `${fate} ${at}`).toEqual([]);
    }
  });
});
