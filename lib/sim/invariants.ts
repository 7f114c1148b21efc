/**
 * The invariants (docs/rules.md, I1–I12) over a simulated run: those of a moment are checked in that moment, from the world's own
 * truth, which no port of the product can see; those of a whole run at its end.
 */
import { ownDeadline } from "../drain/deadline.ts";
import type { Policy } from "../drain/policy.ts";
import type { Task } from "../drain/task.ts";
import type { Instant } from "../drain/time.ts";
import { SECOND, isoOf } from "../drain/time.ts";
import { checkChanges } from "./invariants-of-changes.ts";
import { checkActions, checkExecutions, checkLeftovers } from "./invariants-of-ends.ts";
import { podsRunning, volumesHeld } from "./truth.ts";
import type { World } from "./world.ts";

export interface Violation {
  readonly invariant: string;
  readonly at: Instant;
  readonly text: string;
}

/** What the run's executions were; LoopExecutions and the durable backend both tell it. */
export interface RunExecution {
  readonly name: string;
  readonly task: Task;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
  readonly turns: number;
  readonly error?: unknown;
}

export interface Watched {
  readonly world: World;
  readonly policy: Policy;
  /** Groups that are ours. */
  readonly groups: readonly string[];
  readonly executions: () => readonly RunExecution[];
  /** Nothing goes wrong in this run: bounds on requests hold to the letter. */
  readonly undisturbed: boolean;
}

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #watched: Watched;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#watchCompletions();
  }

  /** At the end of a run that has come to rest. */
  check(): readonly Violation[] {
    const found = [
      ...checkChanges(this.#watched),
      ...checkActions(this.#watched),
      ...checkExecutions(this.#watched),
      ...checkLeftovers(this.#watched),
    ];
    this.violations.push(...found);
    return this.violations;
  }

  /** I1 is about the moment in which Auto Scaling takes the result, whoever sent it on our behalf. */
  #watchCompletions(): void {
    const { world } = this.#watched;
    const complete = world.autoScaling.complete.bind(world.autoScaling);
    world.autoScaling.complete = (name, result, by) => {
      const instance = name.instance ?? this.#instanceOf(name.token);
      const open = world.autoScaling
        .activeActions(instance ?? "")
        .find((action) => action.hook.name === this.#watched.policy.hookName);
      if (open !== undefined && (by === "drain" || by === "hook")) {
        this.#checkCompletion(open.instance, open.token, result, by);
      }
      complete(name, result, by);
    };
  }

  #instanceOf(token: string | undefined): string | undefined {
    return this.#watched.world.autoScaling
      .getHistory()
      .find((record) => record.kind === "opened" && record.token === token)?.instance;
  }

  #checkCompletion(instance: string, token: string, result: string, by: string): void {
    const { world } = this.#watched;
    if (result !== "CONTINUE" || this.#isDue(instance, token)) return;
    const held = [...volumesHeld(world, instance), ...podsRunning(world, instance)];
    if (held.length === 0) return;
    this.violations.push({
      invariant: "I1",
      at: world.clock.now(),
      text: `CONTINUE by ${by} for ${instance} while it holds ${held.join(", ")}`,
    });
  }

  /** The deadline, or what counts as one: a kubelet silent for longer than its grace (D13). */
  #isDue(instance: string, token: string): boolean {
    const { world, policy, executions } = this.#watched;
    const now = world.clock.now();
    // The sweep's own work has no token; it inherits the deadline of the work before it.
    const deadlines = executions()
      .filter(({ task }) => task.kind === "lifecycle" && task.instance === instance)
      .filter(({ task }) => task.kind !== "lifecycle" || task.token === undefined || task.token === token)
      .map(({ task }) => ownDeadline(task, policy));
    if (now >= Math.min(...deadlines) - SECOND) return true;
    const node = world.cluster.nodes().find((each) => each.providerId?.endsWith(`/${instance}`));
    return node?.ready.status === "Unknown" && now - node.ready.since > policy.kubeletGrace * SECOND;
  }
}

/** One line per violation, with its time. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations.map(({ invariant, at, text }) => `${isoOf(at)} ${invariant}: ${text}`).join("\n");
}
