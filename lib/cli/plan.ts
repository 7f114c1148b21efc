/** `ebs-drain plan`: the decision that would be made now, with nothing changed (D18). */
import type { Decision } from "../drain/decision.ts";
import { initialMemory } from "../drain/memory.ts";
import type { Observation } from "../drain/observation.ts";
import { planSweep } from "../drain/sweep-plan.ts";
import type { Task } from "../drain/task.ts";
import { look } from "../engine/look.ts";
import type { Output } from "./connection-options.ts";
import { decisionText } from "./decision-text.ts";
import type { Operator } from "./operator.ts";
import { portsOf } from "./operator-ports.ts";
import { DONE, type ExitCode } from "./running.ts";
import type { Terminal } from "./simulate.ts";
import { structured } from "./structured.ts";
import { type Target, findTarget, manualTask, unverified } from "./target.ts";

export interface Plan {
  readonly task: Task;
  readonly observation: Observation;
  readonly decision: Decision;
}

export async function plan(
  name: string,
  { output }: { readonly output: Output },
  operator: Operator,
  terminal: Terminal,
): Promise<ExitCode> {
  const target = await findTarget(name, operator);
  const made = await planFor(target, operator);
  const caveat = unverified(target, operator);
  const text = await structured(caveat === undefined ? made : { ...made, caveat }, output);
  if (text !== undefined) {
    terminal.print(text);
    return DONE;
  }
  terminal.print(`${target.node.name} (${target.instance}): ${whyText(made.task)}`);
  for (const line of decisionText(made.decision, output)) terminal.print(line);
  if (caveat !== undefined) terminal.complain(caveat);
  return DONE;
}

/** One look, changing nothing. */
export async function planFor(target: Target, operator: Operator): Promise<Plan> {
  const { policy } = operator;
  const task = await taskOf(target, operator);
  const made = await look(task, initialMemory(task.at), policy, portsOf(operator), { dryRun: true });
  return { task, observation: made.observation, decision: made.decision };
}

function whyText(task: Task): string {
  switch (task.kind) {
    case "lifecycle":
      return "it waits in a lifecycle hook, and the drain would decide";
    case "gone":
      return `EC2 says ${task.state}, and the drain would decide`;
    case "spot":
      return "EC2 takes it back, and the drain would decide";
    case "manual":
      return "it is in service; `ebs-drain drain` would decide";
    default:
      return task satisfies never;
  }
}

/** What the sweep would start for this machine, were nobody at work on it; else a drain by hand. */
async function taskOf(target: Target, operator: Operator): Promise<Task> {
  const byHand = manualTask(target, operator, operator.policy.maxDuration);
  const { aws, clusterName, policy } = operator;
  const { node, instance, view } = target;
  if (aws.kind === "none" || view === undefined) return byHand;
  const member = await aws.autoScaling.describeMember(instance);
  const groups = [member?.group, view.group].flatMap((group) => group ?? []);
  const steps = planSweep(
    {
      at: operator.now(),
      clusters: [{ name: clusterName, groups, nodes: { kind: "read", value: [node] } }],
      running: [],
      members: { kind: "read", value: member === undefined ? [] : [member] },
      instances: { kind: "read", value: [view] },
    },
    policy,
  );
  return steps.flatMap((step) => (step.kind === "start" ? [step.task] : []))[0] ?? byHand;
}
