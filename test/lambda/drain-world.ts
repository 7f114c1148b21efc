/** The drain function on a virtual durable service, over a machine that is empty after a while. The world remembers; looks ask it. */
import type { LifecycleTask, Task } from "../../lib/drain/task.ts";
import { workId } from "../../lib/drain/task.ts";
import type { Policy } from "../../lib/drain/policy.ts";
import { DEFAULT_POLICY } from "../../lib/drain/policy.ts";
import type { LookResult } from "../../lib/engine/drain-loop.ts";
import type { Memory } from "../../lib/drain/memory.ts";
import { PortError } from "../../lib/engine/errors.ts";
import type { Ports } from "../../lib/engine/ports.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import type { DurableBackendOptions, ExecutionReport } from "../../lib/sim/durable-backend.ts";
import { DurableBackend } from "../../lib/sim/durable-backend.ts";
import { createDrainHandler } from "../../lambda/drain-handler.ts";
import { Recorder } from "../engine/recorder.ts";
import { quietDecision } from "../telemetry/quiet-look.ts";

export const START = Date.parse("2026-11-02T09:30:00Z");
const LAUNCHED = START - 3_600_000;
const CALL = 20;

export function lifecycleTask(differs: Partial<LifecycleTask> = {}): LifecycleTask {
  const instance = differs.instance ?? "i-0aaaaaaaaaaaaaaaa";
  const token = differs.token ?? "token";
  return {
    kind: "lifecycle",
    id: workId({ kind: "lifecycle", instance, launchTime: LAUNCHED, token }),
    cluster: "blue",
    group: "workers-a",
    instance,
    launchTime: LAUNCHED,
    at: START,
    by: "event",
    hook: "ebs-drain",
    token,
    destination: "EC2",
    replacesRootVolume: false,
    ...differs,
  };
}

export interface WorldOptions {
  /** Seconds after the start until nothing blocks any more. */
  readonly busyFor?: number;
  readonly interval?: number;
  readonly onCheckpoint?: DurableBackendOptions["onCheckpoint"];
  readonly faults?: DurableBackendOptions["faults"];
  /** Whether this look, counted from 1, throws. */
  readonly hasBug?: (look: number) => boolean;
  readonly policy?: Partial<Policy>;
}

export class DrainWorld {
  readonly clock = new VirtualClock(START);
  readonly telemetry = new Recorder();
  readonly backend: DurableBackend;
  readonly opened: string[] = [];
  looks = 0;
  /** What happened to the machine, each change once however often it was asked for. */
  readonly evicted = new Map<string, number>();
  readonly results: string[] = [];
  refusedCompletions = 0;
  readonly #options: WorldOptions;

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.backend = new DurableBackend({
      clock: this.clock,
      handler: createDrainHandler({
        settings: {
          policy: { ...DEFAULT_POLICY, ...options.policy },
          clusters: [{ name: "blue", groups: ["workers-a"] }],
        },
        openPorts: (task) => this.#openPorts(task),
        look: (task, memory, _policy, ports) => this.#look(task, memory, ports),
        log: this.telemetry.log,
      }),
      ...(options.onCheckpoint === undefined ? {} : { onCheckpoint: options.onCheckpoint }),
      ...(options.faults === undefined ? {} : { faults: options.faults }),
    });
  }

  /** Starts the task's execution and runs until nothing runs any more, for at most this many virtual minutes. */
  async drain(task: unknown = lifecycleTask(), minutes = 300): Promise<ExecutionReport> {
    const name = (task as Task).id ?? "nameless";
    this.backend.start(name, task);
    await this.settle(minutes);
    const report = this.backend.execution(name);
    if (report === undefined) throw new Error(`no execution ${name}`);
    return report;
  }

  async settle(minutes = 300): Promise<void> {
    const until = this.clock.now() + minutes * 60_000;
    await this.clock.advance(until, () => this.backend.listRunning().length === 0);
  }

  #openPorts(task: Task): Ports {
    this.opened.push(task.cluster);
    const unused = (): Promise<never> => Promise.reject(new Error("this look asks nothing else"));
    return {
      autoScaling: {
        heartbeat: () => this.clock.call(CALL, () => undefined),
        complete: (_action, result) =>
          this.clock.call(CALL, () => {
            if (this.results.length > 0) {
              this.refusedCompletions++;
              throw new PortError(
                "no-active-action",
                "autoScaling.complete",
                "No active Lifecycle Action found",
              );
            }
            this.results.push(result);
          }),
        describeMember: unused,
        listMembers: unused,
      },
      telemetry: this.telemetry,
      now: this.clock.now,
    } as Partial<Ports> as Ports;
  }

  /** Evicts one pod once, waits until the machine is free, completes; as any look must be, it is harmless when repeated. */
  async #look(task: Task, memory: Memory, ports: Ports): Promise<LookResult> {
    const number = ++this.looks;
    if (this.#options.hasBug?.(number) === true) throw new TypeError("a bug in the look");
    const { busyFor = 30, interval = 10 } = this.#options;
    // A few reads first, as in a real look: the checkpoint of the look's start is on its way meanwhile.
    for (let read = 0; read < 3; read++) await this.clock.call(CALL, () => undefined);
    await this.clock.call(CALL, () => {
      if (!this.evicted.has(task.instance)) this.evicted.set(task.instance, this.clock.now());
    });
    const after = { ...memory, looks: memory.looks + 1 };
    const decision = quietDecision(this.clock.now());
    if (this.clock.now() < START + busyFor * 1_000) {
      return { memory: after, decision, next: { kind: "again", inSeconds: interval } };
    }
    const over = await complete(task, ports);
    return {
      memory: over ? { ...after, action: "over" } : after,
      decision,
      next: { kind: "done", outcome: "completed", reason: "nothing blocks" },
    };
  }
}

/** Whether the action was over already. */
async function complete(task: Task, ports: Ports): Promise<boolean> {
  if (task.kind !== "lifecycle") return false;
  const { group, hook, instance } = task;
  try {
    await ports.autoScaling.complete({ group, hook, instance }, "CONTINUE");
    return false;
  } catch (error) {
    if (error instanceof PortError && error.kind === "no-active-action") return true;
    throw error;
  }
}
