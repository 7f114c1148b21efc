/** One seeded run: the drawn world, the engine's own dispatch, sweep and loop, and every invariant. */
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { Settings } from "../../lib/drain/settings.ts";
import { MINUTE, SECOND } from "../../lib/drain/time.ts";
import { initialMemory } from "../../lib/drain/memory.ts";
import type { Task } from "../../lib/drain/task.ts";
import { dispatch } from "../../lib/engine/dispatch.ts";
import { type DrainState, initialState, secondsToNext, turn } from "../../lib/engine/drain-loop.ts";
import { ForeignInstances } from "../../lib/engine/foreign-instances.ts";
import { look } from "../../lib/engine/look.ts";
import type { Ports, TelemetryPort } from "../../lib/engine/ports.ts";
import { sweep } from "../../lib/engine/sweep.ts";
import { simulatedClusterPort } from "../../lib/sim/cluster-port.ts";
import { OURS, type DrawnRun, drawRun } from "../../lib/sim/drawn-run.ts";
import { NO_FAULTS } from "../../lib/sim/faults.ts";
import { Invariants, type Violation } from "../../lib/sim/invariants.ts";
import { LoopExecutions } from "../../lib/sim/loop-executions.ts";
import { ACCOUNT, CLUSTER, REGION } from "../../lib/sim/world.ts";

export interface SoakResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly run: DrawnRun;
  readonly outcomes: readonly string[];
  readonly looks: number;
}

/** The longest policy drawn is 30 minutes; this lets every execution end and the sweep come by a few times afterwards. */
const LIMIT = 75 * MINUTE;
/** I8 allows two sweeps; of these six some may meet faults. */
const QUIET = 400 * SECOND;

export async function runSeed(seed: number): Promise<SoakResult> {
  const run = await drawRun(seed);
  const { world, policy } = run;
  const settings: Settings = {
    policy,
    clusters: [{ name: CLUSTER, groups: [OURS] }],
    account: ACCOUNT,
    region: REGION,
  };
  const telemetry = notingTelemetry(run);
  const ports: Ports = { cluster: world.clusterPort, ...world.aws, telemetry, now: world.clock.now };
  const executions = new LoopExecutions<DrainState>({
    clock: world.clock,
    random: world.random.fork(),
    begin: initialState,
    turn: (task, state) =>
      turn(state, {
        task,
        policy,
        look: (of, memory) => look(of, memory, policy, ports),
        autoScaling: ports.autoScaling,
        telemetry,
        now: ports.now,
      }),
    secondsToNext,
    crashes: run.crashes,
    doubles: run.doubles,
  });
  const invariants = new Invariants({
    world,
    policy,
    groups: [OURS],
    executions: () => executions.all(),
    undisturbed: run.undisturbed,
  });
  deliverTo(run, settings, ports, executions);
  const broken = await runToRest(run, executions, ports).catch(worldViolation(run));
  return {
    seed,
    run,
    violations: [...broken, ...invariants.check()],
    outcomes: executions.all().map(({ state, task }) => `${task.kind}:${outcomeOf(state)}`),
    looks: executions.all().reduce((sum, { turns }) => sum + turns, 0),
  };
}

/** I3: the simulated disks refuse by throwing what no real disk would survive. */
function worldViolation({ world }: DrawnRun): (error: unknown) => readonly Violation[] {
  return (error) => [
    {
      invariant: "I3",
      at: world.clock.now(),
      text: error instanceof Error ? (error.stack ?? error.message) : String(error),
    },
  ];
}

function outcomeOf({ next }: DrainState): string {
  return next.kind === "done" ? next.outcome : "open";
}

/** Lambda tries a failed invocation twice more. */
const TRIES = 3;

function deliverTo(
  { world }: DrawnRun,
  settings: Settings,
  ports: Ports,
  executions: LoopExecutions<DrainState>,
): void {
  const foreign = new ForeignInstances(ports.now);
  const deps = {
    settings,
    ec2: ports.ec2,
    foreign,
    executions,
    telemetry: ports.telemetry,
    now: ports.now,
    here: { account: ACCOUNT, region: REGION },
    sweep: () =>
      sweep({
        settings,
        clusterOf: () => ports.cluster,
        ec2: ports.ec2,
        autoScaling: ports.autoScaling,
        executions,
        telemetry: ports.telemetry,
        now: ports.now,
      }),
  };
  const invoke = (event: unknown, tries: number): void => {
    void world.clock.actor("dispatch", async () => {
      try {
        await dispatch(event, deps);
      } catch (error) {
        world.note("event", "dispatch", `failed: ${String(error)}`);
        if (tries > 1) world.clock.after(30 * SECOND, () => invoke(event, tries - 1));
      }
    });
  };
  world.deliver = (event) => invoke(event, TRIES);
}

async function runToRest(
  run: DrawnRun,
  executions: LoopExecutions<DrainState>,
  ports: Ports,
): Promise<readonly Violation[]> {
  const { world } = run;
  const end = world.clock.now() + LIMIT;
  run.begin();
  const dry = await dryRun(run, ports);
  await world.clock.advance(world.clock.now() + 10 * MINUTE);
  let restSince = world.clock.now();
  while (world.clock.now() < end && world.clock.now() - restSince < QUIET) {
    await world.clock.advance(world.clock.now() + 20 * SECOND);
    const busy =
      executions.all().some(({ endedAt }) => endedAt === undefined) ||
      run.victims.some((instance) => world.autoScaling.activeActions(instance).some(isOurs));
    if (busy) restSince = world.clock.now();
  }
  return dry;
}

function isOurs(action: { readonly hook: { readonly name: string } }): boolean {
  return action.hook.name === DEFAULT_POLICY.hookName;
}

/** I7: in the middle of it all, the same look as a dry run, through ports of its own that must have nothing to show. */
async function dryRun(run: DrawnRun, ports: Ports): Promise<readonly Violation[]> {
  const { world, victims, policy } = run;
  const instance = victims[0];
  if (instance === undefined || run.seed % 10 !== 0) return [];
  await world.clock.advance(world.clock.now() + 15 * SECOND);
  const cluster = simulatedClusterPort(world.cluster, world.clock, NO_FAULTS);
  const used: string[] = [];
  const note = async (): Promise<void> => void used.push("lifecycle action");
  const autoScaling = { ...ports.autoScaling, heartbeat: note, complete: note };
  const telemetry = { ...ports.telemetry, look: () => undefined };
  let finished = false;
  void world.clock.actor("dry run", async () => {
    const task = taskOf(instance, policy.hookName, world.clock.now());
    const dry: Ports = { ...ports, cluster, autoScaling, telemetry };
    await look(task, initialMemory(task.at), policy, dry, { dryRun: true });
    finished = true;
  });
  await world.clock.advance(world.clock.now() + MINUTE, () => finished);
  used.push(...cluster.changes.map(({ method }) => method));
  const at = world.clock.now();
  return used.length === 0 ? [] : [{ invariant: "I7", at, text: `a dry run changed: ${used.join()}` }];
}

function taskOf(instance: string, hook: string, at: number): Task {
  return {
    kind: "lifecycle",
    id: `lifecycle-${instance}-0`,
    cluster: CLUSTER,
    group: OURS,
    instance,
    at,
    by: "operator",
    hook,
    destination: "EC2",
    replacesRootVolume: false,
  };
}

/** Decisions become happenings of the world's timeline. */
function notingTelemetry({ world }: DrawnRun): TelemetryPort {
  return {
    look: ({ observation, decision, failures }) => {
      const actions = decision.actions.map((action) => action.kind).join(" ");
      const failed = failures.length > 0 ? ` failed: ${failures.join("; ")}` : "";
      const { kind, instance } = observation.task;
      world.note(
        "drain",
        instance,
        `${kind} ${decision.phase} [${decision.rules.join()}] ${decision.reason} <${actions}>${failed}`,
      );
    },
    log: (line) => world.note("drain", "log", JSON.stringify(line)),
    metric: () => undefined,
  };
}
