/** I2, I6, I8, I10, I12: how actions, executions and nodes were left. */
import { GONE_LIMIT, ownDeadline } from "../drain/deadline.ts";
import { outOfServiceValue } from "../drain/node-patch.ts";
import { machineOf } from "../drain/task.ts";
import { MINUTE, SECOND, isoOf } from "../drain/time.ts";
import { readWork } from "../drain/work-order.ts";
import type { RunExecution, Violation, Watched } from "./invariants.ts";

/** I2: an action of ours ends by a result, not by its timeout. I10: beats in between, none afterwards. */
export function checkActions(watched: Watched): readonly Violation[] {
  const { world, policy, groups } = watched;
  const history = world.autoScaling
    .getHistory()
    .filter((record) => record.hook === policy.hookName && groups.includes(record.group));
  const expired = history.flatMap((record): readonly Violation[] =>
    record.kind === "expired" && wasInReach(record, watched)
      ? [
          {
            invariant: "I2",
            at: record.at,
            text: `the action of ${record.instance} ran into its default result`,
          },
        ]
      : [],
  );
  return [
    ...expired,
    ...checkOwners(watched),
    ...watched.executions().flatMap((execution) => checkBeats(execution, watched)),
  ];
}

/** I9, D1, D2: no result for another hook's action, no work for another team's group. */
function checkOwners({ world, policy, groups, executions }: Watched): readonly Violation[] {
  const results = world.autoScaling.getHistory().flatMap((record): readonly Violation[] =>
    record.kind === "complete" && record.by === "drain" && record.hook !== policy.hookName
      ? [
          {
            invariant: "I9",
            at: record.at,
            text: `completes the hook ${record.hook} of ${record.instance}`,
          },
        ]
      : [],
  );
  const works = executions().flatMap(({ task, startedAt, name }): readonly Violation[] =>
    groups.includes(task.group)
      ? []
      : [{ invariant: "I9", at: startedAt, text: `${name} is about the group ${task.group}` }],
  );
  return [...results, ...works];
}

/** The sweep finds a machine whose event was lost within two minutes and a failed sweep. */
const SWEEP_FINDS = 3 * MINUTE;

/** From the start of an execution to its first beat, with a request that waits out its answer. */
const STARTS_IN = 10 * SECOND;

/** Our code could run: an execution was at it, or there was time enough for the sweep to find it. */
function wasInReach(
  expired: { readonly at: number; readonly instance: string | undefined; readonly token: string | undefined },
  { world, executions }: Watched,
): boolean {
  const opened = world.autoScaling
    .getHistory()
    .find((record) => record.kind === "opened" && record.token === expired.token);
  const atWork = executions().some(
    ({ task, startedAt }) =>
      task.kind === "lifecycle" && task.instance === expired.instance && startedAt < expired.at - STARTS_IN,
  );
  return atWork || expired.at - (opened?.at ?? expired.at) > SWEEP_FINDS;
}

/** What a failed beat's retries may add: two looks, a time-out each. */
const BEAT_SLACK = 25 * SECOND;

function checkBeats(execution: RunExecution, { world, policy, executions }: Watched): readonly Violation[] {
  const { task } = execution;
  if (task.kind !== "lifecycle" || task.token === undefined) return [];
  const beats = world.autoScaling
    .getHistory()
    .filter((record) => record.kind === "heartbeat" && record.token === task.token);
  const end = execution.endedAt ?? world.clock.now();
  const accepted = beats.flatMap((beat) =>
    beat.kind === "heartbeat" && beat.outcome === "accepted" ? [beat.at] : [],
  );
  const most = 0.75 * policy.heartbeatTimeout * SECOND + BEAT_SLACK;
  const times = [execution.startedAt, ...accepted];
  const gaps = accepted.flatMap((at, index): readonly Violation[] => {
    const gap = at - (times[index] ?? at);
    return gap <= most
      ? []
      : [{ invariant: "I10", at, text: `${gap / SECOND} s between beats of ${execution.name}` }];
  });
  const late = beats.filter((beat) => beat.at > end + SECOND);
  return [
    ...gaps,
    ...late
      .filter((beat) => !isAtWork(task.instance, beat.at, executions()))
      .map((beat) => ({
        invariant: "I10",
        at: beat.at,
        text: `a beat after the end of ${execution.name}`,
      })),
  ];
}

/** Whether some execution of the instance runs at that time: the sweep may have taken the work up again. */
function isAtWork(instance: string, at: number, executions: readonly RunExecution[]): boolean {
  return executions.some(
    (each) => each.task.instance === instance && each.startedAt <= at && at <= (each.endedAt ?? at) + SECOND,
  );
}

/** One interval of the slowest pace, a look that waits out its answers, and a crash or two. */
const END_SLACK = 3 * MINUTE;
const MOST_LOOKS = 1_000;

/** I6. */
export function checkExecutions({ world, policy, executions }: Watched): readonly Violation[] {
  return executions().flatMap((execution): readonly Violation[] => {
    const { task, name, turns, error } = execution;
    const at = execution.endedAt ?? world.clock.now();
    const limit = (task.kind === "gone" ? task.at + GONE_LIMIT : ownDeadline(task, policy)) + END_SLACK;
    const begun = Math.max(limit, execution.startedAt + END_SLACK);
    const found: Violation[] = [];
    if (error !== undefined) found.push({ invariant: "I6", at, text: `${name} failed: ${messageOf(error)}` });
    if (at > begun) found.push({ invariant: "I6", at, text: `${name} did not end by ${isoOf(begun)}` });
    if (turns > MOST_LOOKS) found.push({ invariant: "I6", at, text: `${name} took ${turns} looks` });
    return found;
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}

/** I8: on a node in service nothing of ours is left, once no work on it is open. */
export function checkLeftovers({ world, executions }: Watched): readonly Violation[] {
  const at = world.clock.now();
  return world.cluster.nodes().flatMap((node): readonly Violation[] => {
    const instance = node.providerId?.split("/").at(-1) ?? "";
    const isInService = world.autoScaling.member(instance)?.lifecycleState === "InService";
    const isRunning = world.ec2.instance(instance)?.state === "running";
    const isOpen = executions().some((each) => each.task.instance === instance && each.endedAt === undefined);
    if (!isInService || !isRunning || isOpen) return [];
    const taint = outOfServiceValue(node);
    const work = readWork(node);
    const left = [
      ...(work.kind === "none" ? [] : [`${work.kind} work`]),
      ...(taint !== undefined && machineOf(taint) !== undefined ? ["our taint"] : []),
      // Nobody else cordons in these worlds.
      ...(node.unschedulable ? ["the cordon"] : []),
    ];
    return left.map((what) => ({ invariant: "I8", at, text: `${what} is left on ${node.name}` }));
  });
}
